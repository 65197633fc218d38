"""The fault campaign: at its end every call was answered once and in time, and nothing is left (issue 7)."""

from __future__ import annotations

import json
import random

import pytest
import structlog
import trio

from tests.soak.campaign import Campaign


def drop(logger, method, event):
    raise structlog.DropEvent


@pytest.fixture(autouse=True)
def _quiet():
    structlog.configure(processors=[drop])
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("minutes", [1.0, pytest.param(30.0, marks=pytest.mark.soak)])
async def test_every_call_is_answered_once_and_in_time_whatever_strikes(minutes, autojump_clock):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    before = trio.lowlevel.current_statistics().tasks_living

    found = await Campaign(seed, minutes).run()

    print(json.dumps(found))
    assert found["calls"] > 40 * minutes
    assert trio.lowlevel.current_statistics().tasks_living == before
