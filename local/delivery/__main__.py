"""`python -m local.delivery --folder F`: the delivery stream of the deployment that the variables LEANOPS_* name.

Local only. It needs AWS_ENDPOINT_URL for the emulator; functions reach it by AWS_ENDPOINT_URL_FIREHOSE.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
import threading
from pathlib import Path

from lambdas.firehose_transform.handler import handler
from leanops.aws import settings
from local.delivery.catalog import catalog
from local.delivery.faults import Faults
from local.delivery.lake import Lake
from local.delivery.server import Server
from local.delivery.stream import Buffering, Stream
from local.delivery.transform import Transform, arn
from local.delivery.undelivered import Undelivered


def main() -> int:
    options = _options()
    logging.basicConfig(level=options.log_level, format="%(asctime)s %(levelname)s %(message)s")
    environment = settings.environment()
    stream = Stream(
        options.folder / "spool",
        Transform(handler, environment),
        Lake(catalog(environment)),
        Undelivered(settings.client("s3"), environment),
        Buffering(options.flush_bytes, options.flush_seconds),
        Faults().changed(options.faults),
        options.seed,
    )
    server = Server(options.port, stream, environment.delivery_stream, arn(environment))
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    signal.signal(signal.SIGINT, lambda *_: stopped.set())
    if options.end_with_stdin:
        threading.Thread(target=_stop_at_end, args=(stopped,), daemon=True).start()
    threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
    stream.start()
    print(server.endpoint, flush=True)
    stopped.wait()
    server.shutdown()
    server.server_close()
    stream.stop()
    return 0


def _stop_at_end(stopped: threading.Event) -> None:
    sys.stdin.buffer.read()
    stopped.set()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local.delivery", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where accepted records wait on disk")
    parser.add_argument("--port", type=int, default=0, help="on loopback; 0 chooses a free one")
    parser.add_argument("--flush-bytes", type=int, default=Buffering.size, help="deliver when this much has come")
    parser.add_argument("--flush-seconds", type=float, default=Buffering.seconds, help="or after this time")
    parser.add_argument("--faults", type=json.loads, default={}, help="as a JSON object; local.delivery.faults")
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--log-level", default="INFO")
    parser.add_argument("--end-with-stdin", action="store_true", help="stop when the starter closes the pipe")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
