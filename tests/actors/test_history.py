"""An hour by the minute: every ask in its minute, an hour later in none, and no more memory for more traffic."""

from __future__ import annotations

import sys

import pytest
import trio.testing

from actors.history import MINUTES, Ended, History
from actors.row import Rate
from providers import _sanitise
from providers._contract import Unavailable
from tests.actors.lab import ASKED, Scripted, acting, takes


def test_nothing_has_happened_yet() -> None:
    seen = History().statistics(10_000.0)

    assert seen.is_empty
    assert seen.answered == seen.failed == seen.late == seen.timed == (0,) * MINUTES
    assert seen.mean_ms == seen.longest_ms == (None,) * MINUTES


@pytest.mark.parametrize(
    ("ended", "field"), [("ok", "answered"), ("empty", "answered"), ("failed", "failed"), ("late", "late")]
)
def test_each_way_to_end_is_counted_in_its_row(ended: Ended, field: str) -> None:
    history = History()
    history.count(ended, 61.0)

    seen = history.statistics(119.0)

    assert {name: sum(getattr(seen, name)) for name in ("answered", "failed", "late")} == {
        "answered": 0,
        "failed": 0,
        "late": 0,
        field: 1,
    }
    assert not seen.is_empty


def test_what_was_skipped_is_in_no_row() -> None:
    history = History()
    history.count("skipped", 5.0)

    assert history.statistics(5.0).is_empty


def test_the_present_minute_stands_last_and_moves_to_the_front() -> None:
    history = History()
    history.count("ok", 600.0)
    history.count("ok", 659.9)
    history.count("failed", 660.0)

    assert history.statistics(660.0).answered[-2:] == (2, 0)
    assert history.statistics(660.0).failed[-2:] == (0, 1)
    assert history.statistics(600.0 + 59 * 60).answered[0] == 2
    assert sum(history.statistics(600.0 + 60 * 60).answered) == 0


def test_a_minute_of_an_hour_ago_is_not_added_to() -> None:
    history = History()
    history.count("ok", 0.0)
    history.time(9.0, 0.0)
    history.count("ok", 3600.0)

    seen = history.statistics(3600.0)

    assert (seen.answered[-1], sum(seen.answered)) == (1, 1)
    assert sum(seen.timed) == 0


def test_durations_have_a_mean_and_a_longest_in_milliseconds() -> None:
    history = History()
    for seconds in (0.1, 0.2, 0.6):
        history.time(seconds, 30.0)

    seen = history.statistics(59.0)

    assert (seen.timed[-1], seen.mean_ms[-1], seen.longest_ms[-1]) == (3, 300.0, 600.0)
    assert seen.mean_ms[-2] is None


def test_a_million_calls_take_no_more_room_than_one_a_minute() -> None:
    history = History()
    for minute in range(200):
        for _ in range(50):
            history.count("ok", 60.0 * minute)

    assert sum(history.statistics(60.0 * 199).answered) == 50 * MINUTES
    assert sys.getsizeof(history._ring) < 1_000


@pytest.fixture
def _untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sanitise(value: object) -> object:
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)


@pytest.mark.usefixtures("_untouched")
async def test_an_actor_notes_answers_failures_and_askers_that_left(
    autojump_clock: trio.testing.MockClock,
) -> None:
    provider = Scripted([takes(0.5), takes(1.5, Unavailable("status 503")), takes(9.0)])
    async with acting(provider, retries=0) as ref:
        await ref.ask(ASKED)
        await ref.ask(ASKED)
        with trio.move_on_after(1.0):
            await ref.ask(ASKED)
        await trio.testing.wait_all_tasks_blocked()

        seen = ref.history.statistics(trio.current_time())

    assert (sum(seen.answered), sum(seen.failed), sum(seen.late)) == (1, 1, 1)
    # Half a second, one and a half, and the one that the asker waited.
    assert sum(seen.timed) == 3
    assert max(filter(None, seen.mean_ms)) == pytest.approx(1000.0)


@pytest.mark.usefixtures("_untouched")
async def test_an_ask_that_finds_no_slot_is_not_in_the_hour(autojump_clock: trio.testing.MockClock) -> None:
    async with acting(Scripted(), rate=Rate(1, 45.0)) as ref:
        await ref.ask(ASKED)
        await ref.ask(ASKED)

        seen = ref.history.statistics(trio.current_time())

    assert (sum(seen.answered), sum(seen.failed), sum(seen.late), sum(seen.timed)) == (1, 0, 0, 1)
