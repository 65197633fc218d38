"""One Redis for all tests of this folder that need one; each finds it empty."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.redislab import RedisProcess, redis_process


@pytest.fixture(scope="session")
def redis_of_session() -> Iterator[RedisProcess]:
    with redis_process() as server:
        yield server


@pytest.fixture
def redis(redis_of_session: RedisProcess) -> RedisProcess:
    redis_of_session.ask("FLUSHALL")
    return redis_of_session
