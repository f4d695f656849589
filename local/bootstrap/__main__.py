"""`python -m local.bootstrap`: a deployment on the local AWS that AWS_ENDPOINT_URL names."""

from __future__ import annotations

import argparse
import json
import os
import sys

from leanops.aws import settings
from local.bootstrap.resources import SAMPLE_ENVIRONMENT, SAMPLE_TOPICS, expected


def main() -> int:
    options = _options()
    if options.names:
        print(json.dumps(expected(SAMPLE_ENVIRONMENT, SAMPLE_TOPICS), indent=2))
        return 0
    if not os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://127.0.0.1:"):
        print(
            "Cannot deploy, AWS_ENDPOINT_URL is not on this machine: the bootstrap is for the local AWS only. "
            "Set it to the emulator's endpoint; for AWS use Terraform.",
            file=sys.stderr,
        )
        return 2
    from local.bootstrap.deployment import Options, deploy
    from local.package import functions

    environment = settings.environment()
    deploy(settings.client, environment, options.topics, Options(zips=functions(), delivery=options.delivery))
    for kind, names in expected(environment, options.topics).items():
        print(f"{kind}: {', '.join(names)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local.bootstrap", description=__doc__)
    parser.add_argument("--names", action="store_true", help="print the names that Terraform is held to, and stop")
    parser.add_argument("--topics", nargs="*", default=list(SAMPLE_TOPICS))
    parser.add_argument("--delivery", help="endpoint of the local delivery service")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
