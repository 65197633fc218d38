"""Units of work: one for all requests of a provider's call."""

from __future__ import annotations

import re

import trio

from actors.units import Unit, current_unit, unit_of_work


def test_a_unit_is_the_same_wherever_it_is_asked_for() -> None:
    with unit_of_work() as unit:
        assert current_unit() is unit
        assert current_unit() is unit


def test_outside_of_any_unit_each_question_gets_its_own() -> None:
    assert current_unit() != current_unit()


def test_a_unit_ends_with_its_block_and_the_one_around_comes_back() -> None:
    with unit_of_work() as outer:
        with unit_of_work() as inner:
            assert inner != outer
        assert current_unit() is outer


def test_session_ids_have_eight_letters_that_any_gateway_takes() -> None:
    sessions = {Unit().session for _ in range(200)}

    assert len(sessions) == 200
    assert all(re.fullmatch("[a-z0-9]{8}", session) for session in sessions)


async def test_tasks_belong_to_the_unit_they_are_started_in() -> None:
    seen: list[Unit] = []

    async def work() -> None:
        with unit_of_work() as unit:
            async with trio.open_nursery() as nursery:
                for _ in range(2):
                    nursery.start_soon(ask)
            seen.append(unit)

    async def ask() -> None:
        await trio.lowlevel.checkpoint()
        seen.append(current_unit())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(work)
        nursery.start_soon(work)

    assert len(seen) == 6
    assert len({unit.session for unit in seen}) == 2
