"""Iceberg's files through boto3: PyIceberg's own ways need PyArrow or s3fs, though making a table writes only JSON.

Files are read and written whole: this is for metadata and for tables of a few rows. Spark reads and writes the rest.
"""

from __future__ import annotations

from io import BytesIO
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

from leanops.aws import settings


class S3File(InputFile, OutputFile):
    def __init__(self, location: str, s3: Any) -> None:
        super().__init__(location)
        self._s3 = s3
        parts = urlsplit(location, allow_fragments=False)
        self._place = {"Bucket": parts.netloc, "Key": parts.path.removeprefix("/")}

    def __len__(self) -> int:
        found = self._head()
        if found is None:
            raise FileNotFoundError(self.location)
        return int(found["ContentLength"])

    def exists(self) -> bool:
        return self._head() is not None

    def open(self, seekable: bool = True) -> InputStream:
        try:
            with self._s3.get_object(**self._place)["Body"] as stream:
                return BytesIO(stream.read())
        except self._s3.exceptions.NoSuchKey as error:
            raise FileNotFoundError(self.location) from error

    def create(self, overwrite: bool = False) -> OutputStream:
        return _Upload(self, overwrite)

    def to_input_file(self) -> InputFile:
        return self

    def put(self, content: bytes, overwrite: bool) -> None:
        from botocore.exceptions import ClientError

        condition = {} if overwrite else {"IfNoneMatch": "*"}
        try:
            self._s3.put_object(**self._place, Body=content, **condition)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] == 412:
                raise FileExistsError(self.location) from error
            raise

    def delete(self) -> None:
        self._s3.delete_object(**self._place)

    def _head(self) -> dict[str, Any] | None:
        from botocore.exceptions import ClientError

        try:
            found: dict[str, Any] = self._s3.head_object(**self._place)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
                return None
            raise
        return found


class _Upload(BytesIO):
    """Becomes an object when it is closed; never after an error, for half a file is worse than none."""

    def __init__(self, file: S3File, overwrite: bool) -> None:
        super().__init__()
        self._file = file
        self._overwrite = overwrite

    def close(self) -> None:
        if not self.closed:
            content = self.getvalue()
            super().close()
            self._file.put(content, self._overwrite)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            BytesIO.close(self)
        self.close()

    def __del__(self) -> None:
        """A stream that nobody closed is not an object."""
        BytesIO.close(self)


class S3Files(FileIO):
    """What PyIceberg is told to use by the catalog's property `py-io-impl`."""

    def new_input(self, location: str) -> S3File:
        return S3File(location, settings.client("s3"))

    def new_output(self, location: str) -> S3File:
        return S3File(location, settings.client("s3"))

    def delete(self, location: str | InputFile | OutputFile) -> None:
        self.new_input(location if isinstance(location, str) else location.location).delete()
