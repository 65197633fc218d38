"""What holds of everything that a provider gives back, value or error."""

from __future__ import annotations

import dataclasses
import json
import traceback
from typing import Any
from urllib.parse import urlsplit

import pytest

from providers._contract import Found, Hit, Image, Job, Page, ProviderError, Role
from tests.contract._trials import BODY_CANARY
from tests.contract.conftest import KEY_CANARY, Stand


async def outcome(stand: Stand, job: Job | None = None) -> ProviderError | None:
    """What came of asking: the typed error, or None for a value of the contract. Anything else fails the test."""
    try:
        value = await stand.ask(job)
    except ProviderError as error:
        return error
    check_value(value, stand.case.role)
    return None


def check_value(value: Any, role: Role) -> None:
    """Of the right class, its addresses absolute, and fit to be sent on as UTF-8."""
    json.dumps(dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value, default=repr).encode()
    match role:
        case Role.SEARCH:
            assert isinstance(value, Found)
            for hit in value.items:
                check_hit(hit)
        case Role.IMAGES:
            assert isinstance(value, Found)
            for image in value.items:
                check_image(image)
        case Role.READ:
            assert isinstance(value, Page)
            assert value.markdown.strip()
            assert is_absolute(value.url)
            assert is_absolute(value.final_url or value.url)
            assert all(is_absolute(url) for url in value.images)
        case Role.ROBOTS:
            assert isinstance(value, bool)
        case Role.RERANK:
            assert all(isinstance(index, int) for index in value)


def check_hit(hit: Hit) -> None:
    assert isinstance(hit, Hit)
    assert is_absolute(hit.url)
    assert isinstance(hit.title, str)
    assert isinstance(hit.snippet, str)
    assert len(hit.title) <= 200
    assert len(hit.snippet) <= 500
    assert hit.published is None or len(hit.published) >= 10
    hit.url.encode(), hit.title.encode(), hit.snippet.encode()


def check_image(image: Image) -> None:
    assert isinstance(image, Image)
    assert is_absolute(image.image_url)
    assert image.page_url == "" or is_absolute(image.page_url)
    assert image.thumbnail_url is None or is_absolute(image.thumbnail_url)
    assert isinstance(image.title, str)
    assert all(size is None or isinstance(size, int) for size in (image.width, image.height))
    image.image_url.encode(), image.title.encode()


def is_absolute(url: Any) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def our_lines(caplog: pytest.LogCaptureFixture) -> str:
    """What our own loggers said. Those of httpx and httpcore tell whole URLs and headers; `service/logs.py` silences
    them, and the tests of that file see to it.
    """
    foreign = ("httpx", "httpcore", "h11")
    return "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith(foreign))


def check_nothing_leaks(error: BaseException | None, log: str) -> None:
    """Neither the key nor what the remote wrote shows in an error, its causes, or a log line."""
    texts = [log] if error is None else [log, str(error), repr(error), "".join(traceback.format_exception(error))]
    for text in texts:
        assert KEY_CANARY not in text
        assert BODY_CANARY not in text
