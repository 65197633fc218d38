"""The pool of worker processes: what it gives back, what it kills, and what it keeps."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import trio

from providers._contract import Evidence, RateLimited, TooHeavy, TooLarge
from providers._offenders import Offenders
from providers._workers import (
    WorkerError,
    WorkerStatistics,
    inline_workers,
    open_workers,
    run,
    run_parts,
)
from tests.providers import worker_jobs as jobs

Statistics = Callable[[], WorkerStatistics]


@pytest.fixture
async def pool() -> AsyncIterator[Statistics]:
    async with open_workers(2, preload=()) as statistics:
        yield statistics


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


async def is_gone(pid: int) -> None:
    with trio.fail_after(2):
        while is_running(pid):  # another process has no event for us
            await trio.sleep(0.002)


async def test_a_job_runs_in_another_process_and_returns_its_value(pool: Statistics) -> None:
    pid, _ = await run(jobs.where)

    assert pid != os.getpid()
    assert await run(jobs.double, 21) == 42
    assert pool().idle == 1


async def test_values_of_the_contract_come_back_whole(pool: Statistics) -> None:
    assert await run(jobs.page) == jobs.page()


async def test_a_worker_has_no_environment_from_its_first_instruction(
    pool: Statistics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "canary")

    assert (await run(jobs.where))[1] == {}
    assert await run(jobs.initial_environment) == b""


async def test_the_cpu_limit_is_renewed_for_each_job(pool: Statistics) -> None:
    memory, first = await run(jobs.limits)
    with trio.move_on_after(0):
        await run(jobs.limits)
    _, second = await run(jobs.limits)

    assert memory == 1 << 30
    assert 15 <= first <= 17
    assert 15 <= second <= 17


@pytest.mark.parametrize("job", [jobs.spin, jobs.spin_in_c])
async def test_a_job_that_never_ends_is_killed_at_its_timeout(pool: Statistics, job: Callable[[], None]) -> None:
    pid, _ = await run(jobs.where)
    started = trio.current_time()

    with pytest.raises(TooHeavy, match=r"longer than 0\.3 s"):
        await run(job, timeout=0.3)

    assert trio.current_time() - started < 0.8
    await is_gone(pid)
    assert await run(jobs.double, 1) == 2
    assert pool().killed == 1


async def test_a_job_over_its_memory_is_too_heavy_and_its_worker_goes(pool: Statistics) -> None:
    pid, _ = await run(jobs.where)

    with pytest.raises(TooHeavy, match="more than 1024 MB"):
        await run(jobs.eat)

    await is_gone(pid)
    assert await run(jobs.double, 1) == 2


async def test_a_worker_that_crashes_makes_its_job_too_heavy(pool: Statistics) -> None:
    with pytest.raises(TooHeavy, match="died"):
        await run(jobs.die)

    assert await run(jobs.double, 1) == 2


async def test_a_cancelled_job_is_killed_within_a_tenth_of_a_second(pool: Statistics) -> None:
    pid, _ = await run(jobs.where)

    with trio.move_on_after(0.1) as scope:
        await run(jobs.spin)
    ended = trio.current_time()

    assert scope.cancelled_caught
    assert ended - scope.deadline < 0.1
    await is_gone(pid)
    assert trio.current_time() - scope.deadline < 0.1


async def test_typed_errors_cross_with_all_they_say(pool: Statistics) -> None:
    with pytest.raises(RateLimited, match="slow down") as caught:
        await run(jobs.complain)

    assert (caught.value.retry_after, caught.value.retry) == (7.5, False)
    assert caught.value.evidence == Evidence("http://e.example/", status=429)


async def test_a_bug_comes_back_as_worker_error_with_the_place(pool: Statistics) -> None:
    with pytest.raises(WorkerError, match="in stumble") as caught:
        await run(jobs.stumble)

    assert "ZeroDivisionError: a bug" in str(caught.value)


async def test_a_result_beyond_the_frame_limit_is_too_large(pool: Statistics) -> None:
    with pytest.raises(TooLarge):
        await run(jobs.flood)


async def test_a_worker_cannot_make_the_parent_call_anything(pool: Statistics) -> None:
    with pytest.raises(TooHeavy, match="died"):
        await run(jobs.evil)


async def test_what_a_job_prints_reaches_nobody(pool: Statistics, capfd: pytest.CaptureFixture[str]) -> None:
    assert await run(jobs.chatter) == "said"

    assert capfd.readouterr() == ("", "")


async def test_finished_parts_survive_the_kill(pool: Statistics) -> None:
    result = await run_parts(jobs.pages_then_spin, 3, timeout=0.3)

    assert result.parts == ("page 0", "page 1", "page 2")
    assert result.cut is not None


async def test_parts_of_a_job_that_ends_come_with_its_value(pool: Statistics) -> None:
    result = await run_parts(jobs.pages, 3)

    assert (len(result.parts), result.value, result.cut) == (3, 3, None)


async def test_killed_before_the_first_part_is_too_heavy(pool: Statistics) -> None:
    with pytest.raises(TooHeavy):
        await run_parts(jobs.pages_then_spin, 0, timeout=0.2)


async def test_a_fat_worker_is_replaced_after_its_job(pool: Statistics) -> None:
    pid = await run(jobs.fatten)

    await is_gone(pid)
    assert await run(jobs.double, 1) == 2


async def test_a_third_job_waits_for_a_worker_under_the_callers_deadline(pool: Statistics) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, jobs.nap, 0.4)
        nursery.start_soon(run, jobs.nap, 0.4)
        await trio.testing.wait_all_tasks_blocked(0.05)
        with trio.move_on_after(0.1) as scope:
            await run(jobs.double, 1)

        assert scope.cancelled_caught
        assert await run(jobs.double, 2) == 4
        assert pool().running <= 2


async def test_a_worker_that_died_while_idle_is_not_held_against_the_next_job(pool: Statistics) -> None:
    pid, _ = await run(jobs.where)
    os.kill(pid, 9)
    await trio.sleep(0.05)

    assert await run(jobs.double, 1) == 2
    assert pool().killed == 0


async def test_a_template_that_died_is_started_again(pool: Statistics) -> None:
    pid, _ = await run(jobs.where)
    template = parent_of(pid)
    os.kill(template, 9)
    with pytest.raises(TooHeavy):
        await run(jobs.spin, timeout=0.05)

    assert await run(jobs.double, 1) == 2


async def test_no_process_is_left_when_the_pool_closes() -> None:
    async with open_workers(2, preload=()):
        pid, _ = await run(jobs.where)
        template = parent_of(pid)

    await is_gone(template)
    await is_gone(pid)


async def test_opening_does_not_wait_for_the_imports() -> None:
    started = trio.current_time()
    async with open_workers(2, preload=()):
        assert trio.current_time() - started < 0.1


async def test_a_template_that_cannot_import_is_an_honest_failure(capfd: pytest.CaptureFixture[str]) -> None:
    from providers._contract import Unavailable

    async with open_workers(2, preload=("providers.no_such_module",)):
        with trio.fail_after(5), pytest.raises(Unavailable, match="could not be started"):
            await run(jobs.double, 1)

    assert "no_such_module" in capfd.readouterr().err


async def test_random_cancellation_leaves_the_pool_whole(pool: Statistics) -> None:
    async def some(delay: float) -> None:
        with trio.move_on_after(delay):
            await run(jobs.nap, 0.01)

    async with trio.open_nursery() as nursery:
        for number in range(60):
            nursery.start_soon(some, 0.001 * number)

    assert await run(jobs.double, 4) == 8
    after = pool()
    assert (after.running, after.waiting) == (0, 0)
    assert after.idle <= 2


async def test_without_a_pool_run_says_so() -> None:
    with pytest.raises(RuntimeError, match="no worker pool"):
        await run(jobs.double, 1)


async def test_inline_workers_run_the_job_here(autojump_clock: trio.testing.MockClock) -> None:
    with inline_workers():
        assert (await run(jobs.where))[0] == os.getpid()
        assert (await run_parts(jobs.pages, 2)).parts == ("page 0", "page 1")
        with pytest.raises(RateLimited):
            await run(jobs.complain)


async def test_a_host_that_killed_two_workers_is_refused(pool: Statistics) -> None:
    for _ in range(2):
        with pytest.raises(TooHeavy):
            await run(jobs.spin, timeout=0.1, host="bad.example")

    with pytest.raises(TooHeavy, match=r"bad\.example"):
        await run(jobs.double, 1, host="bad.example")
    assert await run(jobs.double, 1, host="good.example") == 2
    assert pool().refused_hosts == 1


def test_a_host_is_refused_for_ten_minutes_after_two_kills_within_ten() -> None:
    offenders = Offenders()
    offenders.record("h", 0)
    offenders.record("h", 601)

    assert not offenders.refuses("h", 601)
    offenders.record("h", 700)
    assert offenders.refuses("h", 1299)
    assert not offenders.refuses("h", 1300)
