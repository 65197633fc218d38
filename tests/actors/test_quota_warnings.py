"""One warning per instance and period at four fifths of a quota, whatever happens; and billed units for good."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import trio
from structlog.testing import capture_logs

from actors.ledger import MemoryLedger, Spend, open_ledger
from actors.messages import Failure
from actors.row import Limit
from providers import _sanitise
from tests.actors.lab import ASKED, Scripted, acting, make_row, supervised

DAY = 86_400.0
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()
TEN = Limit(10, "day")


@pytest.fixture(autouse=True)
def _untouched(monkeypatch):
    async def sanitise(value):
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)


def warnings(logs) -> list[tuple[int, str]]:
    return [(line["used"], line["resets_at"][:10]) for line in logs if line["event"] == "quota_nearly_spent"]


class Slow(MemoryLedger):
    """Takes a second to say that it has counted."""

    async def spend(self, name, limit, units, wall_now) -> Spend:
        spend = await super().spend(name, limit, units, wall_now)
        await trio.sleep(1)
        return spend


async def test_the_next_asker_warns_where_the_one_that_passed_the_mark_has_left(autojump_clock):
    with capture_logs() as logs:
        async with acting(ledger=Slow(), limit=Limit(5, "month")) as ref:
            for _ in range(3):
                await ref.ask(ASKED)
            with trio.move_on_after(0.5):
                await ref.ask(ASKED)
            assert ref.statistics().quota.is_nearly_spent
            assert warnings(logs) == []
            await ref.ask(ASKED)

    assert warnings(logs) == [(5, "2026-12-01")]


async def test_a_refused_asker_warns_where_nobody_did(autojump_clock):
    with capture_logs() as logs:
        async with acting(ledger=Slow(), limit=Limit(1, "month")) as ref:
            with trio.move_on_after(0.5):
                await ref.ask(ASKED)
            assert isinstance(await ref.ask(ASKED), Failure)

    assert warnings(logs) == [(1, "2026-12-01")]


async def test_a_new_process_warns_of_the_next_period_only_and_goes_on_counting_what_was_billed(tmp_path: Path):
    clock = [NOON]

    async def life(calls: int) -> int:
        async with open_ledger(f"sqlite:{tmp_path / 'quota.sqlite3'}") as ledger:
            row = make_row(Scripted(), limit=TEN, paid=True)
            async with supervised(row, ledger=ledger, wall=lambda: clock[0]) as supervisor:
                ref = supervisor.refs["acme"]
                for _ in range(calls):
                    await ref.ask(ASKED)
                return ref.statistics().billed.units

    with capture_logs() as logs:
        assert await life(8) == 8
        assert await life(1) == 9
        clock[0] += DAY
        assert await life(8) == 17

    assert warnings(logs) == [(8, "2026-12-01"), (8, "2026-12-02")]


async def test_a_clock_that_jumps_forth_and_back_opens_one_period_with_one_warning(autojump_clock):
    clock = [NOON]
    with capture_logs() as logs:
        async with supervised(make_row(limit=TEN, paid=True), wall=lambda: clock[0]) as supervisor:
            ref = supervisor.refs["acme"]
            for jump in (0.0, 3 * DAY, 0.0, -40 * DAY, 2 * DAY):
                clock[0] = NOON + jump
                for _ in range(9):
                    await ref.ask(ASKED)
            seen = ref.statistics()

    assert warnings(logs) == [(8, "2026-12-01"), (8, "2026-12-04")]
    assert (seen.quota.used, seen.quota.resets_at[:10], seen.billed.units) == (10, "2026-12-04", 19)
