"""The script that a job names: a path of this machine, or an object of the emulator's S3."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from leanops.core.errors import LeanOpsError, shown
from local.aws.emulator import ROOT

SCHEMES: Final = ("s3://", "s3a://", "s3n://")


class UnreadableScript(LeanOpsError):
    def __init__(self, script: str, reason: str) -> None:
        self.script = script
        super().__init__("start job", reason, shown(script), "Look at the job's script location.")


def fetched(script: str, folder: Path, variables: Mapping[str, str]) -> Path:
    scheme = next((each for each in SCHEMES if script.startswith(each)), None)
    if scheme is None:
        path = ROOT / script.removeprefix("file://")
        if not path.is_file():
            raise UnreadableScript(script, "there is no such file")
        return path
    bucket, _, key = script.removeprefix(scheme).partition("/")
    path = folder / (Path(key).name or "script.py")
    client = _s3(variables)
    try:
        client.download_file(bucket, key, str(path))
    except Exception as error:
        raise UnreadableScript(script, f"S3 does not give it ({error})") from error
    finally:
        client.close()
    return path


def _s3(variables: Mapping[str, str]) -> Any:
    import boto3.session
    from botocore.config import Config

    limits = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})
    return boto3.session.Session().client(
        "s3",
        endpoint_url=variables["AWS_ENDPOINT_URL"],
        region_name=variables["AWS_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        config=limits,
    )
