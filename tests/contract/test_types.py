"""Every registered provider type, found by itself, put through all that can happen to it (security/FACTS.md D1)."""

from __future__ import annotations

import dataclasses
import re

import pytest
import trio

from providers._contract import Found, Kind, ProviderError
from providers._registry import lookup, type_names
from tests.contract._checks import check_nothing_leaks, check_value, our_lines, outcome
from tests.contract._trials import ANSWER, BODY_CANARY, ENDLESS, GROUPS, MANY_COOKIES, Trial
from tests.contract.conftest import KEY_CANARY, METHODS, PLAYED, Stand, case_id, open_stand
from tests.fakenet import Answer, Case, Request, Wire, closed_port, faults, payload, vendor, vendor_names
from tests.fakenet._faults import Fault

DEADLINE = 10.0
"""No trial may last that long, on a machine with other things to do."""
PATIENCE = 0.05
ATTEMPTS = 3

every_case = pytest.mark.parametrize(("name", "case"), PLAYED, ids=case_id)
VENDORS = [pair for pair in PLAYED if pair[1].table == "vendor"]


# --- what a type is ---------------------------------------------------------------------------------------------------


def test_every_registered_type_has_a_fake_for_each_of_its_roles():
    missing = {}
    for name in type_names():
        cls = lookup(name)
        roles = {role for role, method in METHODS.items() if hasattr(cls, method)}
        declared = {case.role for case in vendor(name).CASES} if name in vendor_names() else set()
        if roles != declared:
            missing[name] = roles ^ declared

    assert missing == {}


@every_case
def test_type_is_a_frozen_dataclass_that_shows_no_secret(name, case):
    urls = dict.fromkeys([*vendor(name).REMOTES, "web"], "http://127.0.0.1:1")

    provider = vendor(name).build(urls, KEY_CANARY)

    assert dataclasses.is_dataclass(provider)
    assert provider.__dataclass_params__.frozen
    assert KEY_CANARY not in repr(provider)


# --- good and empty answers -------------------------------------------------------------------------------------------


@every_case
async def test_good_payload_gives_a_value_of_the_contract(name, case, ssl_context):
    async with open_stand(name, case, ssl_context) as stand:
        stand.serve(case.good)
        with trio.fail_after(DEADLINE):
            value = await stand.ask()

        assert not isinstance(value, Found) or value.items
        check_value(value, case.role)


@every_case
async def test_fake_itself_gives_an_answer(name, case, ssl_context):
    async with open_stand(name, case, ssl_context) as stand:
        with trio.fail_after(DEADLINE):
            value = await stand.ask()

        assert not isinstance(value, Found) or value.items
        check_value(value, case.role)


@pytest.mark.parametrize(("name", "case"), [pair for pair in PLAYED if pair[1].empty], ids=case_id)
async def test_empty_payload_is_an_answer_with_nothing_in_it(name, case, ssl_context):
    async with open_stand(name, case, ssl_context) as stand:
        stand.serve(case.empty)
        with trio.fail_after(DEADLINE):
            assert (await stand.ask()).items == ()


# --- faults -----------------------------------------------------------------------------------------------------------


@every_case
@pytest.mark.parametrize("group", GROUPS)
async def test_each_fault_gives_the_kind_it_stands_for(name, case, group, ssl_context, caplog):
    caplog.set_level("DEBUG")
    wrong = {}
    async with open_stand(name, case, ssl_context) as stand:
        for trial in GROUPS[group]:
            stand.remote.heal()
            stand.remote.play(on_the_good_answer(trial, stand), path=case.path)
            with trio.fail_after(DEADLINE):
                error = await outcome(stand)
            if not is_allowed(error, trial, case):
                wrong[trial.name] = error
            check_nothing_leaks(error, our_lines(caplog))

    assert wrong == {}


@every_case
async def test_answer_without_end_ends_with_the_deadline_and_the_remote_sees_it(name, case, ssl_context):
    wrong = {}
    async with open_stand(name, case, ssl_context) as stand:
        for trial in ENDLESS:
            # A busy machine makes a good end late now and then; what is late by itself is late each time.
            for _ in range(ATTEMPTS):
                is_cut, error, late = await end_of(stand, trial)
                if late < stand.grace:
                    break
            else:
                wrong[trial.name] = f"{late:.3f} s late"
            if not is_cut and not is_allowed(error, trial, case):
                wrong[trial.name] = error

    assert wrong == {}


async def end_of(stand: Stand, trial: Trial) -> tuple[bool, ProviderError | None, float]:
    """Whether an endless trial was cut at its deadline, what came of it else, and how late, in seconds, it was told.

    Late is what ends after the deadline, and a remote that sees its caller leave long after he did.
    """
    stand.remote.heal()
    stand.remote.play(on_the_good_answer(trial, stand), path=stand.case.path)
    with trio.move_on_after(PATIENCE) as scope:
        error = await outcome(stand)
    ended_at = trio.current_time()
    # A fast machine reads a body to its limit before the deadline, and the provider may ask elsewhere then.
    request = [request for request in stand.remote.requests if re.search(stand.case.path or "", request.path)][-1]
    with trio.fail_after(2):
        await request.disconnected.wait()
    is_cut = scope.cancelled_caught
    late = max(request.disconnected_at - ended_at, ended_at - scope.deadline if is_cut else 0.0)
    return is_cut, None if is_cut else error, late


@every_case
async def test_caller_that_leaves_is_seen_at_the_remote_at_once(name, case, ssl_context):
    async with open_stand(name, case, ssl_context) as stand:
        stand.remote.play(faults.silent(), path=case.path)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask_with_deadline, stand)
            with trio.fail_after(DEADLINE):
                await stand.remote.wait_for_call()
            left_at = trio.current_time()
            nursery.cancel_scope.cancel()

        await check_remote_saw_the_end(stand, left_at)


async def ask_with_deadline(stand: Stand) -> None:
    with trio.fail_after(DEADLINE):
        await stand.ask()


@every_case
async def test_refused_connection_is_unavailable(name, case, ssl_context, caplog):
    caplog.set_level("DEBUG")
    async with closed_port() as nobody, open_stand(name, case, ssl_context, **{case.remote: nobody}) as stand:
        job = case.job(stand.net.urls | {case.remote: nobody})
        with trio.fail_after(DEADLINE):
            error = await outcome(stand, job)

        assert case.table == "any" or error.kind is Kind.UNAVAILABLE
        check_nothing_leaks(error, our_lines(caplog))


@every_case
@pytest.mark.parametrize("scheme", ["http", "socks5h"])
async def test_dead_proxy_is_unavailable_and_nobody_is_asked_past_it(name, case, scheme, ssl_context, caplog):
    caplog.set_level("DEBUG")
    async with closed_port() as nobody:
        proxy = nobody.replace("http://", f"{scheme}://user:{KEY_CANARY}@")
        async with open_stand(name, case, ssl_context, proxy=proxy) as stand:
            with trio.fail_after(DEADLINE):
                error = await outcome(stand)

            assert case.table == "any" or error.kind is Kind.UNAVAILABLE
            assert stand.remote.calls == 0
            check_nothing_leaks(error, our_lines(caplog))


@pytest.mark.parametrize(("name", "case"), VENDORS, ids=case_id)
async def test_remote_that_speaks_no_tls_is_unavailable_and_never_asked_in_plain_text(name, case, ssl_context):
    async with open_stand(name, case, ssl_context) as stand:
        plain = stand.remote.url
        urls = stand.net.urls | {case.remote: plain.replace("http://", "https://")}
        provider = vendor(name).build(urls, KEY_CANARY)
        with trio.fail_after(DEADLINE):
            error = await outcome(dataclasses.replace(stand, provider=provider))

        assert error.kind is Kind.UNAVAILABLE
        assert stand.remote.calls == 0


@pytest.mark.parametrize(("name", "case"), VENDORS, ids=case_id)
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_redirect_of_a_vendor_is_malformed_and_followed_nowhere(name, case, code, ssl_context, caplog):
    caplog.set_level("DEBUG")
    async with open_stand(name, case, ssl_context) as stand:
        stand.remote.play(faults.redirect(stand.net.url("web", "/stolen"), code), path=case.path)
        with trio.fail_after(DEADLINE):
            error = await outcome(stand)

        assert error is not None
        assert error.kind is case.expected.get(f"redirect {code}", Kind.MALFORMED)
        assert stand.net["web"].calls == 0
        check_nothing_leaks(error, our_lines(caplog))


@every_case
async def test_redirect_loop_ends_typed_after_few_requests(name, case, ssl_context):
    async with open_stand(name, case, ssl_context) as stand:
        stand.remote.play(faults.redirect_loop(), path=case.path)
        with trio.fail_after(DEADLINE):
            error = await outcome(stand)

        assert case.table == "any" or error is not None
        assert stand.remote.calls <= 6


@every_case
async def test_cookies_of_one_answer_do_not_come_back_with_the_next_request(name, case, ssl_context):
    async with open_stand(name, case, ssl_context) as stand:
        stand.serve(case.good)
        stand.remote.play(on_the_good_answer(MANY_COOKIES, stand), path=case.path)
        with trio.fail_after(DEADLINE):
            await stand.ask()
            await stand.ask()

        sent = [request.header("cookie") or "" for request in stand.remote.requests]
        assert not any("c1=" in cookie for cookie in sent)


def on_the_good_answer(trial: Trial, stand: Stand) -> Fault:
    """The trial's fault, acting on the recorded answer."""
    good = Answer(200, payload(stand.type_name, stand.case.good), stand.case.content_type)

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await trial.fault(wire, request, good)

    return play


async def check_remote_saw_the_end(stand: Stand, ended_at: float) -> None:
    # A fast machine reads a body to its limit before the deadline, and the provider may ask elsewhere then.
    request = [request for request in stand.remote.requests if re.search(stand.case.path or "", request.path)][-1]
    with trio.fail_after(1):
        await request.disconnected.wait()
    assert request.disconnected_at - ended_at < stand.grace


def is_allowed(error: ProviderError | None, trial: Trial, case: Case) -> bool:
    kind = ANSWER if error is None else error.kind
    if kind is Kind.RATE_LIMITED and trial.retry_after is not None and abs(error.retry_after - trial.retry_after) > 2:
        return False
    if case.table == "any":
        return True
    if trial.name in case.expected:
        return kind is case.expected[trial.name]
    return kind in (trial.vendor if case.table == "vendor" else trial.site)


def test_leak_of_the_key_or_the_body_would_be_found():
    for canary in (KEY_CANARY, BODY_CANARY):
        for error in (ProviderError(f"sent {canary}"), _chained(canary)):
            with pytest.raises(AssertionError):
                check_nothing_leaks(error, "")
        with pytest.raises(AssertionError):
            check_nothing_leaks(None, f"asked with {canary}")


def _chained(text: str) -> ProviderError:
    try:
        raise ProviderError("nothing to see") from ValueError(text)
    except ProviderError as error:
        return error
