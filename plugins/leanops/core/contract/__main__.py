"""For topic owners: `python -m leanops.core.contract FILE…` checks contracts; `--schema` prints their JSON Schema."""

from __future__ import annotations

import sys
from pathlib import Path

from leanops.core.contract import load
from leanops.core.contract.schema import published
from leanops.core.errors import InvalidContract


def main(arguments: list[str]) -> int:
    if arguments == ["--schema"]:
        sys.stdout.write(published())
        return 0
    if not arguments:
        sys.stderr.write("Usage: python -m leanops.core.contract FILE… | --schema\n")
        return 2
    broken = 0
    for name in arguments:
        try:
            contract = load(Path(name).read_text(encoding="utf-8"), name)
        except (InvalidContract, OSError, UnicodeDecodeError) as error:
            sys.stderr.write(f"{error}\n")
            broken += 1
        else:
            sys.stdout.write(f"{name}: {contract.topic} {contract.schema_version} is valid\n")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
