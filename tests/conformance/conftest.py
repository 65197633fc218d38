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
    return {"SEARXNG_URL": internet.urls["searxng"], "SEARXNG_RATE": "none", "ALLOW_PRIVATE_NETWORK": "true"}
