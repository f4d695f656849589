"""`python -m local.jobs --emulator URL --folder F`: Glue's and EMR Serverless's job runs on this machine. Local only.

Clients find it by AWS_ENDPOINT_URL_GLUE and AWS_ENDPOINT_URL_EMR_SERVERLESS. Its URL is printed when it is ready.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from pathlib import Path

from leanops.core.errors import LeanOpsError
from local.aws.emulator import LOOPBACK
from local.jobs import definitions
from local.jobs.command import Plain, SparkSubmit
from local.jobs.scheduler import Limits
from local.jobs.service import APPLICATION, Service


def main() -> int:
    options = _options()
    logging.basicConfig(level=options.log_level, format="%(asctime)s %(levelname)s %(message)s")
    try:
        service = Service(
            options.folder,
            options.emulator,
            definitions=definitions.read(options.jobs) if options.jobs else definitions.standard(options.prefix),
            applications=options.application or [APPLICATION],
            command=Plain(options.plain) if options.plain else SparkSubmit(options.master, options.memory),
            limits=Limits(options.places),
            host=options.host,
            port=options.port,
        )
        service.start()
    except (LeanOpsError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    signal.signal(signal.SIGINT, lambda *_: stopped.set())
    if options.end_with_stdin:
        threading.Thread(target=_stop_at_end, args=(stopped,), daemon=True).start()
    print(service.endpoint, flush=True)
    stopped.wait()
    service.stop(end_jobs=not options.keep_jobs)
    return 0


def _stop_at_end(stopped: threading.Event) -> None:
    sys.stdin.buffer.read()
    stopped.set()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local.jobs", description=__doc__)
    emulator = os.environ.get("AWS_ENDPOINT_URL")
    parser.add_argument("--emulator", default=emulator, required=not emulator, help="its URL; else AWS_ENDPOINT_URL")
    parser.add_argument("--folder", type=Path, required=True, help="where runs and their logs are kept")
    parser.add_argument("--host", default=LOOPBACK, help="address to listen on")
    parser.add_argument("--port", type=int, default=0, help="0 chooses a free one")
    parser.add_argument("--prefix", default="", help="of the jobs' names, as in leanops-dev")
    parser.add_argument("--jobs", type=Path, help="file {name: {script, arguments, most_runs, timeout_seconds}}")
    parser.add_argument("--application", action="append", help=f"of EMR Serverless, any number; else {APPLICATION}")
    parser.add_argument("--places", type=int, default=Limits.places, help="jobs at a time; others wait")
    parser.add_argument("--master", default=SparkSubmit.master, help="Spark's")
    parser.add_argument("--memory", default=SparkSubmit.memory, help="of each driver")
    parser.add_argument("--plain", metavar="PROGRAM", help="run scripts by this program in place of spark-submit")
    parser.add_argument("--keep-jobs", action="store_true", help="leave jobs running when the service is stopped")
    parser.add_argument("--end-with-stdin", action="store_true", help="stop when the starter closes the pipe")
    parser.add_argument("--log-level", default="INFO")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
