"""The reader that repeats a refused fetch: what it takes, and that it reads as the local one does."""

from __future__ import annotations

import httpx
import pytest
import trio

from providers._contract import Blocked, Evidence, Reached, Target
from providers._registry import lookup
from providers._workers import inline_workers
from providers.impersonate import Impersonate

URL = "http://site.example/notes.txt"


def target(status: int | None, reached: Reached = "answered", wall: str | None = None) -> Target:
    return Target(URL, Evidence(URL, reached, status, wall=wall))


def test_the_type_is_registered_under_its_name() -> None:
    assert lookup("impersonate") is Impersonate


@pytest.mark.parametrize("status", [401, 403, 429, 451, 503])
def test_it_repeats_a_refusal(status: int) -> None:
    assert Impersonate().accepts(target(status))


def test_it_repeats_what_met_a_wall_whatever_its_status() -> None:
    assert Impersonate().accepts(target(200, wall="anubis"))
    assert Impersonate().accepts(target(202, wall="aws"))


@pytest.mark.parametrize("status", [200, 400, 402, 404, 405, 410, 500, 502, 504])
def test_it_repeats_nothing_else_that_was_answered(status: int) -> None:
    assert not Impersonate().accepts(target(status))


@pytest.mark.parametrize("reached", ["nothing", "connected"])
def test_a_host_that_never_answered_is_not_asked_again(reached: Reached) -> None:
    assert not Impersonate().accepts(target(None, reached))
    assert not Impersonate().accepts(target(403, reached))


def test_nobody_is_asked_by_it_first() -> None:
    assert not Impersonate().accepts(Target(URL))


async def test_the_page_comes_with_the_evidence_of_the_second_fetch(autojump_clock: trio.testing.MockClock) -> None:
    def site(request: httpx.Request) -> httpx.Response:
        assert request.extensions["from_caller"] is True
        return httpx.Response(200, text="Some words.", headers={"content-type": "text/plain"})

    with inline_workers(), trio.fail_after(30):
        async with httpx.AsyncClient(transport=httpx.MockTransport(site)) as client:
            page = await Impersonate().read(target(403), client)

    assert page.markdown == "Some words."
    assert page.evidence == Evidence(URL, "answered", 200, "text/plain", body=b"Some words.")


async def test_a_second_refusal_is_a_refusal(autojump_clock: trio.testing.MockClock) -> None:
    with trio.fail_after(30):
        async with httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(403))) as client:
            with pytest.raises(Blocked) as caught:
                await Impersonate().read(target(403), client)

    assert caught.value.evidence is not None
    assert caught.value.evidence.status == 403
