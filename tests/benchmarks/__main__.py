import sys

from tests.benchmarks import harness

sys.exit(harness.main(sys.argv[1:]))
