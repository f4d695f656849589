"""The list of a GCP project's topics, by Pub/Sub's REST API with a service account."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

import httpx
from google.auth import exceptions, transport
from google.oauth2 import service_account

from leanops.core.errors import LeanOpsError, shown

URL: Final = "https://pubsub.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/pubsub"
PAGE_SIZE: Final = 1_000
MOST_PAGES: Final = 1_000
TIMEOUT: Final = httpx.Timeout(10.0, connect=3.0)
ATTEMPTS: Final = 4
FIRST_PAUSE: Final = 0.5
PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})


class NoListing(LeanOpsError):
    """Nothing is registered from half a list: the run ends, and the next one asks again."""

    def __init__(self, reason: str, subject: str, remedy: str) -> None:
        super().__init__("list Pub/Sub topics", reason, subject, remedy)


class _Answer(transport.Response):  # type: ignore[misc, unused-ignore]
    def __init__(self, answer: httpx.Response) -> None:
        self._answer = answer

    @property
    def status(self) -> int:
        return self._answer.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        return self._answer.headers

    @property
    def data(self) -> bytes:
        return self._answer.content


class Transport(transport.Request):  # type: ignore[misc, unused-ignore]
    """google-auth over the same HTTP client as the list, so that the package needs one only."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> _Answer:
        try:
            return _Answer(
                self._client.request(method, url, content=body, headers=dict(headers or {}), timeout=timeout or TIMEOUT)
            )
        except httpx.HTTPError as error:
            raise exceptions.TransportError(error) from error  # type: ignore[no-untyped-call]


def topics(
    secret: str, project: str | None, url: str = URL, pause: Callable[[float], None] = time.sleep
) -> tuple[str, list[str]]:
    """The project, and the full names (`projects/<project>/topics/<id>`) of its topics."""
    credentials = _credentials(secret)
    project = project or credentials.project_id
    if not project:
        raise NoListing("neither the setting nor the key names one", "GCP project", "Set LEANOPS_GCP_PROJECT.")
    with httpx.Client(timeout=TIMEOUT) as client:
        try:
            credentials.refresh(Transport(client))
        except exceptions.GoogleAuthError as error:
            raise NoListing(
                "Google gave no token", shown(str(error)), "Look whether the service account's key is valid."
            ) from error
        return project, _pages(client, credentials.token, project, url, pause)


def _credentials(secret: str) -> Any:
    try:
        key = json.loads(secret)
        return service_account.Credentials.from_service_account_info(key, scopes=[SCOPE])  # type: ignore[no-untyped-call]
    except (ValueError, TypeError, AttributeError, exceptions.GoogleAuthError) as error:
        # The secret itself must not get into a log.
        raise NoListing(
            "the secret is not a service account's key",
            type(error).__name__,
            "Store the JSON file that GCP gave for the service account.",
        ) from None


def _pages(client: httpx.Client, token: str, project: str, url: str, pause: Callable[[float], None]) -> list[str]:
    names: list[str] = []
    parameters: dict[str, str | int] = {"pageSize": PAGE_SIZE}
    for _ in range(MOST_PAGES):
        page = _page(client, token, httpx.URL(f"{url}/v1/projects/{quote(project)}/topics", params=parameters), pause)
        for each in page.get("topics", []):
            if not isinstance(each, dict) or not isinstance(each.get("name"), str):
                raise NoListing("an entry has no name", shown(str(each)), "Compare with the API's documentation.")
            names.append(each["name"])
        following = page.get("nextPageToken")
        if not following:
            return names
        if following == parameters.get("pageToken"):
            break
        parameters["pageToken"] = following
    raise NoListing("its pages do not end", project, "Try again later.")


def _page(client: httpx.Client, token: str, url: httpx.URL, pause: Callable[[float], None]) -> dict[str, Any]:
    reason = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            pause(FIRST_PAUSE * 2**attempt)
        try:
            answer = client.get(url, headers={"Authorization": f"Bearer {token}"})
        except httpx.HTTPError as error:
            reason = f"there was no answer ({type(error).__name__})"
            continue
        if answer.status_code in PASSING:
            reason = f"the answer was {answer.status_code}"
            continue
        return _document(answer)
    raise NoListing(f"{reason}, {ATTEMPTS} times", url.path, "The next scheduled run asks again.")


def _document(answer: httpx.Response) -> dict[str, Any]:
    path = answer.request.url.path
    if answer.status_code != 200:
        raise NoListing(
            f"the answer was {answer.status_code}",
            f"{path}: {shown(answer.text)}",
            "Give the service account the role roles/pubsub.viewer in that project.",
        )
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("topics", []), list):
        raise NoListing("the answer is not a list of topics", path, "Look at LEANOPS_PUBSUB_URL.")
    return found
