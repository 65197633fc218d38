"""The budget for bodies held at once."""

from __future__ import annotations

import gc

import trio
from trio.testing import wait_all_tasks_blocked

from actors.bodies import BodyBudget


class Owner:
    """Something that can be dropped."""


async def test_a_body_waits_while_the_budget_is_overdrawn_and_goes_on_afterwards() -> None:
    budget = BodyBudget(100)
    first, second, third = budget.open(), budget.open(), budget.open()
    await first.take(90)
    await second.take(20)
    order = []

    async def grow() -> None:
        await third.take(1)
        order.append("third grew")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(grow)
        await wait_all_tasks_blocked()
        await second.take(5)
        order.append("second finished")
        second.release()

    assert order == ["second finished", "third grew"]
    assert budget.held_bytes == 91


async def test_the_one_that_overdraws_may_go_on_growing() -> None:
    budget = BodyBudget(100)
    first = budget.open()

    with trio.fail_after(1):
        await first.take(90)
        await first.take(90)
        await first.take(90)

    assert budget.held_bytes == 270


async def test_bodies_that_need_more_than_there_is_all_finish_in_the_end() -> None:
    budget = BodyBudget(1000)
    highest = 0

    async def fetch() -> None:
        nonlocal highest
        hold = budget.open()
        for _ in range(10):
            await hold.take(50)
            highest = max(highest, budget.held_bytes)
            await trio.lowlevel.checkpoint()
        hold.release()

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(fetch)

    assert budget.held_bytes == 0
    assert highest <= 1500


async def test_a_cancelled_waiter_leaves_nothing_behind() -> None:
    budget = BodyBudget(10)
    first, second = budget.open(), budget.open()
    await first.take(11)

    with trio.move_on_after(0):
        await second.take(1)
    first.release()
    first.release()

    assert budget.held_bytes == 0


async def test_a_followed_body_counts_until_its_owner_is_dropped() -> None:
    budget = BodyBudget(100)
    owner = Owner()

    budget.follow(owner, 70)
    assert budget.held_bytes == 70
    del owner
    gc.collect()
    await wait_all_tasks_blocked()

    assert budget.held_bytes == 0


def test_an_owner_may_outlive_the_run() -> None:
    budget = BodyBudget(100)
    owners = [Owner()]

    async def main() -> None:
        budget.follow(owners[0], 70)

    trio.run(main)
    owners.clear()

    assert budget.held_bytes == 70
