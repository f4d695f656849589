"""What a small batch asks of AWS: calls to the Glue catalog and to S3, counted at a proxy before the local AWS."""

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tests.benchmarks.data_path import ROOT, measured, say
from tests.benchmarks.harness import Measure

BATCHES, ROWS = 4, 100


def measures() -> Iterator[Measure]:
    yield from measured("tests.benchmarks.catalog_calls")


def main(folder: str) -> None:
    from local.aws.emulator import Emulator
    from local.setup.jars import locked
    from spark_jobs.session import CatalogSettings, spark_session
    from tests.aws.proxy import Proxy
    from tests.conftest import spark_settings
    from tests.spark_jobs.lakehouse import ENVIRONMENT, Topic
    from tests.traffic import load_scenario, messages

    state = Path(tempfile.mkdtemp(prefix="aws-", dir=folder))
    with Emulator(state) as emulator, Proxy(emulator.endpoint) as proxy:
        os.environ.update(emulator.variables | {"AWS_REGION": emulator.region})
        location = {"LocationConstraint": emulator.region}
        emulator.client("s3").create_bucket(Bucket=ENVIRONMENT.lake_bucket, CreateBucketConfiguration=location)
        settings = spark_settings(Path(folder)) | {"spark.jars": ",".join(str(jar.path) for jar in locked())}
        catalog = CatalogSettings(ENVIRONMENT.warehouse, region=emulator.region, endpoint=proxy.url)
        spark = spark_session(catalog, "calls", settings)
        spark.sparkContext.setLogLevel("ERROR")
        topic = Topic.new(spark, "events")
        stream = messages(load_scenario("clean").resized(topic="events", messages=BATCHES * ROWS, batches=BATCHES), 3)
        for _, group in groupby(stream, key=lambda message: message.batch):
            topic.land(group)
            proxy.calls.clear()
            topic.run()
        kinds = Counter("Glue" if call.startswith("AWSGlue") or "Glue" in call else "S3" for call in proxy.calls)
        operations = Counter(call.split("/")[0].strip() for call in proxy.calls)
        spark.stop()
    for kind, count in sorted(kinds.items()):
        say(f"calls to {kind}, a batch of {ROWS} rows", count, "calls")
    for operation, count in operations.most_common(8):
        say(f"of these {operation}", count, "calls")
    shutil.rmtree(state, ignore_errors=True)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "plugins")]
    main(*sys.argv[1:])
