"""`python3 -m local.setup`: brings the environments, Java and the jars up to date."""

import sys

if sys.version_info < (3, 10):  # noqa: UP036  (the one place that an older Python reaches)
    sys.exit("Cannot set up, python3 is too old: install Python 3.10 or newer")

from local.setup import steps

sys.exit(steps.main())
