"""The ledger over a real file and real threads: counting, and each way a file can be bad."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

import actors.ledger
from actors._store import STAMP, Corrupt, Store, Unusable
from actors.ledger import LedgerDown, MemoryLedger, SqliteLedger, open_ledger, set_aside_at
from actors.quota import Counts, Quota
from actors.row import Limit

WALL = 1_795_000_000.0  # 2026-11-18 11:06:40 UTC
DAY = 86400.0
TEN = Limit(10, "month")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "quota.sqlite3"


def opened(path: Path):
    return open_ledger(f"sqlite:{path}", rng=random.Random(1))


async def test_units_are_counted_up_to_the_limit(path):
    async with opened(path) as ledger:
        granted = [(await ledger.spend("acme", TEN, 4, WALL)).granted for _ in range(3)]

        assert granted == [True, True, False]
        assert ledger.counts("acme") == Counts("2026-11-18", 8, "2026-11", 8, 8)
        assert ledger.counts("other") == Counts()
        assert ledger.problem is None


async def test_counts_outlive_the_process(path):
    async with opened(path) as ledger:
        await ledger.spend("acme", TEN, 4, WALL)
    async with opened(path) as ledger:
        assert ledger.counts("acme").total == 4
        assert (await ledger.spend("acme", TEN, 6, WALL)).counts.total == 10
        assert not (await ledger.spend("acme", TEN, 1, WALL)).granted


async def test_more_units_than_the_limit_are_refused_even_as_the_first(path):
    async with opened(path) as ledger:
        spend = await ledger.spend("acme", TEN, 11, WALL)

    assert not spend.granted
    assert spend.counts.total == 0


@pytest.mark.parametrize("seed", range(30))
def test_the_file_counts_exactly_as_the_pure_quota_does(seed, tmp_path):
    rng = random.Random(seed)
    store = Store(tmp_path / "quota.sqlite3")
    store.open(WALL)
    limits = [None, Limit(rng.randint(1, 9), "day"), Limit(rng.randint(1, 30), "month")]
    counts, wall = Counts(), WALL
    for _ in range(60):
        wall += rng.choice([0.0, 60.0, DAY / 3, -DAY / 2, 20 * DAY, -40 * DAY])
        limit, units = rng.choice(limits), rng.randint(1, 4)
        expected = Quota(limit).spend(counts, units, wall)

        got = store.spend("acme", limit, units, wall)

        assert got == expected
        counts = expected or counts
    store.close()


async def test_the_memory_ledger_counts_the_same_way():
    ledger = MemoryLedger()

    granted = [(await ledger.spend("acme", TEN, 4, WALL)).granted for _ in range(3)]

    assert granted == [True, True, False]
    assert ledger.counts("acme").total == 8


async def test_many_askers_at_once_are_all_counted(path):
    async with opened(path) as ledger:
        async with trio.open_nursery() as nursery:
            for _ in range(200):
                nursery.start_soon(ledger.spend, "acme", Limit(150, "month"), 1, WALL)

        assert ledger.counts("acme").total == 150


async def test_a_cancelled_spend_is_counted_whole_or_not_at_all(path):
    rng = random.Random(7)
    answered = 0
    async with opened(path) as ledger:

        async def spend(patience: float) -> None:
            nonlocal answered
            with trio.move_on_after(patience):
                await ledger.spend("acme", None, 3, WALL)
                answered += 1

        async with trio.open_nursery() as nursery:
            for _ in range(300):
                nursery.start_soon(spend, rng.choice([0.0, 0.001, 0.005, 0.02]))
        await ledger.spend("acme", None, 3, WALL)

        total = ledger.counts("acme").total
        assert total % 3 == 0
        assert total >= 3 * (answered + 1)


async def test_spending_after_the_end_is_down(path):
    async with opened(path) as ledger:
        pass

    with pytest.raises(LedgerDown):
        await ledger.spend("acme", TEN, 1, WALL)


@pytest.mark.parametrize("url", ["quota.sqlite3", "postgres://x", "sqlite:", ""])
async def test_an_address_that_is_no_sqlite_path_is_refused(url):
    with pytest.raises(ValueError, match="LEDGER_URL"):
        async with open_ledger(url):
            pass


# --- bad files ------------------------------------------------------------------------------------------------------


@pytest.fixture
def soon(monkeypatch):
    """Try a bad file again at once, instead of after 30 s of real time."""
    monkeypatch.setattr(actors.ledger, "RETRY_EVERY", 0.0)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(actors._store, "BUSY_TIMEOUT", 0.05)


async def down(ledger: SqliteLedger, limit: Limit = TEN, wall: float = WALL) -> str:
    with pytest.raises(LedgerDown) as caught:
        await ledger.spend("acme", limit, 1, wall)
    return str(caught.value)


async def test_a_locked_file_puts_metered_instances_down_and_counts_the_others_later(path, soon, impatient):
    async with opened(path) as ledger:
        await ledger.spend("free", None, 1, WALL)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert await down(ledger) == "quota.sqlite3 is locked by another process"
            assert (await ledger.spend("free", None, 2, WALL)).granted
            assert ledger.counts("free").total == 3
            other.execute("ROLLBACK")

        assert (await ledger.spend("acme", TEN, 1, WALL)).granted
        assert ledger.counts("free").total == 3
        assert (await ledger.spend("free", None, 1, WALL)).counts.total == 4
    async with opened(path) as ledger:
        assert ledger.counts("free").total == 4


async def test_a_bad_file_is_left_alone_for_half_a_minute(path, impatient):
    async with opened(path) as ledger:
        with closing(sqlite3.connect(path, isolation_level=None)) as other, capture_logs() as logs:
            other.execute("BEGIN IMMEDIATE")
            await down(ledger)
            other.execute("ROLLBACK")

            assert await down(ledger) == "quota.sqlite3 is locked by another process"
        ledger._retry_at = trio.current_time()
        assert (await ledger.spend("acme", TEN, 1, WALL)).granted

    assert [line["event"] for line in logs] == ["ledger_down"]
    assert logs[0]["retry_in_s"] == 30


async def test_a_folder_that_cannot_be_made_is_a_sentence_and_the_service_starts(tmp_path, soon):
    (tmp_path / "data").write_text("a file where the folder should be")
    async with opened(tmp_path / "data" / "quota.sqlite3") as ledger:
        assert await down(ledger) == "quota.sqlite3 has no folder and none can be made: File exists"
        (tmp_path / "data").unlink()
        assert (await ledger.spend("acme", TEN, 1, WALL)).granted


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (sqlite3.SQLITE_FULL, "quota.sqlite3 cannot grow: the disk is full"),
        (sqlite3.SQLITE_READONLY | 6 << 8, "quota.sqlite3 is read-only"),
        (sqlite3.SQLITE_CANTOPEN, "quota.sqlite3 cannot be opened: its folder is missing or read-only"),
        (sqlite3.SQLITE_IOERR | 3 << 8, "quota.sqlite3 cannot be read or written: the disk fails or is full"),
    ],
)
async def test_what_sqlite_says_becomes_a_sentence(path, code, sentence, monkeypatch):
    error = sqlite3.OperationalError("x")
    error.sqlite_errorcode = code

    def fail(self):
        raise error

    async with opened(path) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(Store, "_open_connection", fail)
            assert await down(ledger) == sentence


async def test_a_file_that_may_not_grow_puts_metered_instances_down(path, soon):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with opened(path) as ledger:
        await ledger.spend("acme", TEN, 1, WALL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, hard))
        try:
            sentence = await down(ledger)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

        assert sentence.startswith("quota.sqlite3 cannot ")
        assert (await ledger.spend("acme", TEN, 1, WALL)).counts.total == 2


READ_ONLY = """
import os, sys, _strptime, trio
from actors.ledger import LedgerDown, open_ledger
from actors.row import Limit

async def main():
    async with open_ledger("sqlite:quota.sqlite3") as ledger:
        print((await ledger.spend("free", None, 1, 0.0)).granted)
        try:
            await ledger.spend("acme", Limit(9, "day"), 1, 0.0)
        except LedgerDown as error:
            print(error)

os.chdir(sys.argv[1])
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere
trio.run(main)
"""


async def test_a_read_only_folder_is_a_sentence_and_free_instances_serve(path):
    async with opened(path) as ledger:
        await ledger.spend("acme", TEN, 1, WALL)
    root = Path(tempfile.gettempdir())
    for folder in path.parent.parents:
        if root in folder.parents:
            folder.chmod(0o755)  # pytest keeps others out
    path.parent.chmod(0o555)
    try:
        child = await trio.run_process(
            [sys.executable, "-c", READ_ONLY, str(path.parent)],
            capture_stdout=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
    finally:
        path.parent.chmod(0o755)

    lines = child.stdout.decode().splitlines()
    assert [line for line in lines if "ledger_" not in line] == ["True", "quota.sqlite3 is read-only"]


async def test_another_programs_database_is_a_sentence_and_is_not_touched(path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE used (something TEXT)")
    async with opened(path) as ledger:
        assert await down(ledger) == "quota.sqlite3 is a database of something else"


async def test_an_empty_file_is_a_new_one_with_a_warning(path):
    path.parent.mkdir()
    path.touch()
    with capture_logs() as logs:
        async with opened(path) as ledger:
            assert (await ledger.spend("acme", TEN, 1, WALL)).granted

    assert [line["log_level"] for line in logs if line["event"] == "ledger_empty"] == ["warning"]


# --- corrupt files --------------------------------------------------------------------------------------------------


def now() -> float:
    return datetime.now(UTC).timestamp()


def destroy(path: Path, offset: int = 0) -> bytes:
    body = bytearray(path.read_bytes())
    body[offset : offset + 2048] = b"\xaa" * 2048
    path.write_bytes(body)
    return bytes(body)


async def fill(path: Path) -> None:
    async with opened(path) as ledger:
        for n in range(200):
            await ledger.spend(f"instance-{n:04}-{'x' * 40}", None, 1, now())


@pytest.mark.parametrize("offset", [0, 4096], ids=["header", "page"])
async def test_a_corrupt_file_is_set_aside_and_metered_instances_stay_off(path, offset):
    await fill(path)
    broken = destroy(path, offset)

    with capture_logs() as logs:
        async with opened(path) as ledger:
            sentence = await down(ledger, wall=now())
            assert (await ledger.spend("free", None, 1, now())).granted

    (aside,) = path.parent.glob("quota.sqlite3.corrupt-*")
    assert aside.read_bytes() == broken
    assert "delete that file" in sentence
    assert [line["log_level"] for line in logs if line["event"] == "ledger_corrupt"] == ["error"]
    async with opened(path) as ledger:
        assert await down(ledger, wall=now()) == sentence


async def test_deleting_the_file_set_aside_confirms(path, soon):
    await fill(path)
    destroy(path)
    async with opened(path) as ledger:
        await down(ledger, wall=now())
        for aside in path.parent.glob("quota.sqlite3.corrupt-*"):
            aside.unlink()

        assert (await ledger.spend("acme", TEN, 1, now())).granted


async def test_the_end_of_the_period_confirms_too(path):
    await fill(path)
    destroy(path)
    async with opened(path) as ledger:
        daily = Limit(5, "day")
        await down(ledger, daily, now())
        await down(ledger, daily, now() - 3 * DAY)

        assert (await ledger.spend("acme", daily, 1, now() + DAY)).granted
        assert (await ledger.spend("acme", TEN, 1, now() + 32 * DAY)).granted


async def test_a_file_that_turns_out_corrupt_in_use_is_set_aside_then(path, monkeypatch):
    real = Store.spend
    found = iter([Corrupt()])

    def spend(self, *args):
        for error in found:
            raise error
        return real(self, *args)

    async with opened(path) as ledger:
        await ledger.spend("acme", TEN, 1, now())
        monkeypatch.setattr(Store, "spend", spend)
        assert "delete that file" in await down(ledger, wall=now())
        assert "delete that file" in await down(ledger, wall=now())

    assert len(list(path.parent.glob("quota.sqlite3.corrupt-*"))) >= 1


def test_a_second_corrupt_file_never_overwrites_the_first(path):
    path.parent.mkdir()
    store = Store(path)
    for n in range(3):
        path.write_bytes(b"not a database at all %d" % n)
        store.set_aside(WALL)

    kept = {file.name: file.read_bytes()[-1:] for file in store.corrupt_files()}
    stamp = datetime.fromtimestamp(WALL, UTC).strftime(STAMP)
    assert kept == {
        f"quota.sqlite3.corrupt-{stamp}": b"0",
        f"quota.sqlite3.corrupt-{stamp}-1": b"1",
        f"quota.sqlite3.corrupt-{stamp}-2": b"2",
    }
    assert {set_aside_at(file) for file in store.corrupt_files()} == {WALL}


def test_a_name_that_tells_no_time_holds_nobody_up():
    assert set_aside_at(Path("quota.sqlite3.corrupt-yesterday")) == 0


async def test_a_corrupt_file_that_cannot_be_moved_stays_where_it_is(path, monkeypatch):
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 100)

    def refuse(self, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    async with opened(path) as ledger:
        assert await down(ledger) == "quota.sqlite3 is corrupt and cannot be moved aside: Permission denied"

    assert path.read_bytes() == b"not a database" * 100


def test_a_store_that_was_closed_opens_itself_again(path):
    store = Store(path)
    store.open(WALL)
    store.close()

    assert store.spend("acme", TEN, 3, WALL).total == 3
    store.close()


def test_an_error_of_our_own_use_is_not_translated(path):
    store = Store(path)
    store.open(WALL)

    with pytest.raises(sqlite3.Error) as caught:
        store.spend("acme", TEN, {}, WALL)

    assert not isinstance(caught.value, Unusable)


# --- crashes --------------------------------------------------------------------------------------------------------


@pytest.fixture
def falling(monkeypatch):
    """Make the ledger crash on demand, and restart after hundredths of a second."""
    monkeypatch.setattr("actors.restarts.FIRST_DELAY", 0.005)
    falls = {"left": 0}
    real = Store.spend

    def spend(self, *args):
        if falls["left"]:
            falls["left"] -= 1
            raise ZeroDivisionError
        return real(self, *args)

    monkeypatch.setattr(Store, "spend", spend)
    return falls


async def recovered(ledger: SqliteLedger) -> None:
    with trio.fail_after(5):
        while ledger.problem is not None:
            await trio.sleep(0.001)


async def test_a_crash_answers_everybody_and_the_ledger_comes_back(path, falling):
    answers = []
    async with opened(path) as ledger:
        falling["left"] = 1

        async def spend() -> None:
            try:
                answers.append(await ledger.spend("acme", TEN, 1, WALL))
            except LedgerDown as error:
                answers.append(str(error))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(spend)
        await recovered(ledger)

        assert "the quota store's keeper crashed" in answers
        assert len(answers) == 5
        assert (await ledger.spend("acme", TEN, 1, WALL)).granted


async def test_the_sixth_crash_ends_the_block(path, falling):
    async def serve() -> None:
        async with opened(path) as ledger:
            falling["left"] = 6
            while True:
                await recovered(ledger)
                await down(ledger)

    with trio.fail_after(10), pytest.raises(ExceptionGroup) as caught:
        await serve()

    assert caught.group_contains(ZeroDivisionError)


async def test_a_crash_in_the_opening_does_not_keep_the_service_from_starting(path, falling, monkeypatch):
    real, errors = Store.open, iter([ZeroDivisionError()])

    def fall_once(self, wall_now):
        for error in errors:
            raise error
        return real(self, wall_now)

    monkeypatch.setattr(Store, "open", fall_once)
    async with opened(path) as ledger:
        assert await down(ledger) == "the quota store's keeper crashed"
        assert (await ledger.spend("free", None, 2, WALL)).granted
        await recovered(ledger)

        assert (await ledger.spend("acme", TEN, 1, WALL)).granted
        assert (await ledger.spend("free", None, 1, WALL)).counts.total == 3


async def test_orders_that_wait_when_the_ledger_closes_are_still_done(path):
    ledger = SqliteLedger(path, random.Random(1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ledger.run)
        await ledger.tried.wait()
        nursery.start_soon(ledger.spend, "acme", TEN, 2, WALL)
        await trio.testing.wait_all_tasks_blocked()
        ledger.close()
        with pytest.raises(LedgerDown, match="closed"):
            await ledger.spend("acme", TEN, 2, WALL)

    assert ledger.counts("acme").total == 2


async def test_closing_does_not_wait_for_a_restart(path, falling, monkeypatch):
    monkeypatch.setattr("actors.restarts.FIRST_DELAY", 30.0)
    with trio.fail_after(5):
        async with opened(path) as ledger:
            falling["left"] = 1
            await down(ledger)
