"""One fake internet and one server for all tests of this folder; each test finds the fakes healed and forgetful."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e._stage import FakenetProcess, ServerProcess, fakenet_process, server_process


@pytest.fixture(scope="session")
def fakenet_of_session() -> Iterator[FakenetProcess]:
    with fakenet_process() as net:
        yield net


@pytest.fixture
def net(fakenet_of_session: FakenetProcess) -> FakenetProcess:
    fakenet_of_session.reset()
    return fakenet_of_session


@pytest.fixture(scope="session")
def server_of_session(
    fakenet_of_session: FakenetProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    environment = {
        "SEARXNG_URL": fakenet_of_session.urls["searxng"],
        "SEARXNG_RATE": "none",
        "ALLOW_PRIVATE_NETWORK": "true",
    }
    with server_process(environment, tmp_path_factory.mktemp("server"), spawn=True) as server:
        yield server


@pytest.fixture
def server(server_of_session: ServerProcess, net: FakenetProcess) -> ServerProcess:
    """A server that searches with the fake SearXNG, as often as it is asked."""
    return server_of_session


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "server"
