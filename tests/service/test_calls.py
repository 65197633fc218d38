"""Admission, counters, draining and progress of tool calls."""

from __future__ import annotations

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from service.calls import Calls, Draining, Full, ToolStatistics, Uptime
from service.progress import open_progress, silent
from service.texts import Texts


async def test_calls_past_the_limit_are_refused_at_once() -> None:
    calls = Calls(1, ("a", "b"))

    with calls.admit("a"), pytest.raises(Full) as caught, calls.admit("b"):
        raise AssertionError("unreachable")

    assert caught.value.limit == 1
    assert calls.statistics()["b"] == ToolStatistics(total=1, failed=1)
    with calls.admit("b"):
        assert calls.statistics()["b"] == ToolStatistics(total=2, failed=1, in_flight=1)


async def test_a_draining_service_takes_no_calls_and_keeps_those_it_has() -> None:
    calls = Calls(9, ("a",))
    with calls.admit("a") as ticket:
        calls.drain()

        assert calls.is_draining
        with pytest.raises(Draining), calls.admit("a"):
            raise AssertionError("unreachable")
        ticket.succeeded = True

    assert calls.statistics() == {"a": ToolStatistics(total=2, ok=1, failed=1)}


async def test_a_call_that_ends_by_an_exception_is_counted_as_failed() -> None:
    calls = Calls(9, ("a",))

    with pytest.raises(KeyError), calls.admit("a"):
        raise KeyError

    assert calls.statistics()["a"] == ToolStatistics(total=1, failed=1)


async def test_uptime_counts_seconds(autojump_clock: trio.testing.MockClock) -> None:
    uptime = Uptime()
    await trio.sleep(90)

    assert uptime.seconds == pytest.approx(90)


# --- progress -------------------------------------------------------------------------------------------------------


async def test_events_become_numbered_sentences() -> None:
    told: list[tuple[float, str]] = []

    async def report(number: float, sentence: str) -> None:
        told.append((number, sentence))

    async with open_progress(report, Texts()) as tell:
        tell("asking", {"count": 3})
        tell("waiting", {"instance": "duckduckgo", "seconds": 12})
        tell("trying", {"instance": "jina"})
        await wait_all_tasks_blocked()

    assert told == [
        (1.0, "asking 3 search providers"),
        (2.0, "waiting 12 s for duckduckgo's slot"),
        (3.0, "trying jina"),
    ]


async def test_a_client_that_does_not_read_holds_up_nothing() -> None:
    async def report(_number: float, _sentence: str) -> None:
        await trio.sleep_forever()

    async with open_progress(report, Texts("ru")) as tell:
        for _ in range(1000):
            tell("asking", {"count": 3})
        await wait_all_tasks_blocked()


async def test_without_a_listener_events_go_nowhere() -> None:
    async with open_progress(None, Texts()) as tell:
        tell("asking", {})

    assert tell is silent
