"""`make lock`: writes the locks again from what the .in files ask for."""

import os
import sys

from local.setup import uv
from local.setup.errors import SetupError
from local.setup.places import HERE

LOCKS = (
    ("3.12", "airflow.in", "airflow.lock"),
    ("3.11", "spark.in", "spark.lock"),
    ("3.12", "edge.in", "edge.lock"),
    ("3.12", "emulator.in", "emulator.lock"),
    ("3.12", "tools.in", "tools.lock"),
    ("3.12", "scan.in", "scan.lock"),
    ("3.10", "uv.in", "uv.lock.txt"),
)
OPTIONS = ("--quiet", "--universal", "--upgrade", "--generate-hashes", "--no-emit-index-url")


def main() -> int:
    # uv writes the paths into the locks as they are given: keep them short and the same everywhere.
    os.chdir(HERE)
    try:
        for python, wanted, lock in LOCKS:
            print(f"{lock} …", flush=True)
            uv.run(
                "pip", "compile", *OPTIONS, "--custom-compile-command", "make lock",
                "--python-version", python, wanted, "--output-file", lock,
            )  # fmt: skip
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
