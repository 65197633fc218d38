"""Groq, the second remote of the instagram type, put through the faults that every first remote gets."""

from __future__ import annotations

import pytest
import trio

from tests.contract._checks import check_nothing_leaks, our_lines, outcome
from tests.contract._trials import GROUPS
from tests.contract.conftest import open_stand
from tests.contract.test_types import DEADLINE, is_allowed
from tests.fakenet import Answer, Case, Request, Wire, faults, payload, vendor
from tests.fakenet._faults import Fault

CASE: Case = vendor("instagram").CASES[0]


def on_the_transcription(fault: Fault) -> Fault:
    good = Answer(200, payload("instagram", "transcription.json"), "application/json")

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await fault(wire, request, good)

    return play


@pytest.mark.parametrize("group", GROUPS)
async def test_each_fault_of_groq_gives_the_kind_it_stands_for(group, ssl_context, caplog):
    caplog.set_level("DEBUG")
    wrong = {}
    async with open_stand("instagram", CASE, ssl_context) as stand:
        groq = stand.net["groq"]
        case = Case(CASE.role, "groq", CASE.job, CASE.good)
        for trial in GROUPS[group]:
            groq.heal()
            groq.play(on_the_transcription(trial.fault))
            with trio.fail_after(DEADLINE):
                error = await outcome(stand)
            if not is_allowed(error, trial, case):
                wrong[trial.name] = error
            check_nothing_leaks(error, our_lines(caplog))

    assert wrong == {}


async def test_caller_that_leaves_while_groq_listens_is_seen_there_at_once(ssl_context):
    async with open_stand("instagram", CASE, ssl_context) as stand:
        groq = stand.net["groq"]
        groq.play(faults.silent())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, stand)
            with trio.fail_after(DEADLINE):
                request = await groq.wait_for_call()
            left_at = trio.current_time()
            nursery.cancel_scope.cancel()
        with trio.fail_after(1):
            await request.disconnected.wait()

        # Ours: the way to Groq is a plain one.
        assert request.disconnected_at - left_at < 0.1


async def ask(stand):
    with trio.fail_after(DEADLINE):
        await stand.ask()


async def test_groq_is_sent_no_header_of_the_sites_and_the_site_no_key(ssl_context):
    async with open_stand("instagram", CASE, ssl_context) as stand:
        with trio.fail_after(DEADLINE):
            await stand.ask()
        site, groq = stand.net["instagram"].requests[-1], stand.net["groq"].requests[-1]

    assert site.header("authorization") is None
    assert groq.header("cookie") is None
    assert groq.header("sec-fetch-mode") is None
    assert "Mozilla" not in (groq.header("user-agent") or "")
    assert "Mozilla" in (site.header("user-agent") or "")
