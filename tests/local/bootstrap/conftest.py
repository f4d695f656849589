"""Only where the functions' own packages are: the edge's environment."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("aws_lambda_powertools") else ["test_*.py"]
