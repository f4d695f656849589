"""Which deployment a process belongs to, and its AWS clients: each made once, when first needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Lock
from typing import Any, Final

from leanops.core.errors import LeanOpsError
from leanops.core.naming import Environment

VARIABLES: Final = ("LEANOPS_ENVIRONMENT", "LEANOPS_ACCOUNT", "LEANOPS_REGION")
CONNECT_SECONDS: Final = 3.0
READ_SECONDS: Final = 10.0
ATTEMPTS: Final = 3

_lock = Lock()
_environment: Environment | None = None
_clients: dict[tuple[str, float, int], Any] = {}


class MissingSetting(LeanOpsError):
    def __init__(self, missing: list[str]) -> None:
        self.missing = tuple(missing)
        super().__init__(
            "find the deployment",
            "environment variables are missing or empty",
            ", ".join(missing),
            "Terraform and the local bootstrap set them for every function; set them likewise.",
        )


def environment() -> Environment:
    """The deployment that the environment variables name; read once."""
    global _environment  # noqa: PLW0603
    if _environment is None:
        _environment = environment_of(os.environ)
    return _environment


def environment_of(variables: Mapping[str, str]) -> Environment:
    missing = [name for name in VARIABLES if not variables.get(name)]
    if missing:
        raise MissingSetting(missing)
    return Environment(*(variables[name] for name in VARIABLES))


def client(service: str, *, read_seconds: float = READ_SECONDS, attempts: int = ATTEMPTS) -> Any:
    """A boto3 client, one per service and limits. Threads may share a client but not its making, hence the lock."""
    key = (service, read_seconds, attempts)
    found = _clients.get(key)
    if found is not None:
        return found
    with _lock:
        if key not in _clients:
            _clients[key] = _made(service, read_seconds, attempts)
        return _clients[key]


def _made(service: str, read_seconds: float, attempts: int) -> Any:
    # boto3 takes a tenth of a second and more to import: only whoever calls AWS pays.
    import boto3.session
    from botocore.config import Config

    limits = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        retries={"mode": "standard", "total_max_attempts": attempts},
    )
    region = os.environ.get("LEANOPS_REGION") or None
    return boto3.session.Session().client(service, region_name=region, config=limits)


def reset() -> None:
    """Forget the deployment and close the clients: for tests, which change both."""
    global _environment  # noqa: PLW0603
    with _lock:
        clients = list(_clients.values())
        _clients.clear()
        _environment = None
    for each in clients:
        each.close()
