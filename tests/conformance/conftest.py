"""Servers for the official programs, on a fake internet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e._stage import FakenetProcess, fakenet_process


@pytest.fixture(scope="module")
def internet() -> Iterator[FakenetProcess]:
    with fakenet_process() as net:
        yield net


@pytest.fixture(scope="module")
def variables(internet: FakenetProcess) -> dict[str, str]:
    """Settings of a server that has a fake for every kind of call."""
    names = ("SEARXNG_URL", "BING_IMAGES_BASE_URL", "DUCKDUCKGO_BASE_URL", "ALLOW_PRIVATE_NETWORK")
    rates = dict.fromkeys(("SEARXNG_RATE", "BING_IMAGES_RATE"), "none")
    return rates | {name: internet.environment[name] for name in names}
