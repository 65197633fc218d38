"""Fixtures of every room."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from providers._workers import open_workers


@pytest.fixture
async def workers() -> AsyncIterator[None]:
    """Two real worker processes; not for tests on a virtual clock, see `_workers.inline_workers`."""
    async with open_workers(2):
        yield
