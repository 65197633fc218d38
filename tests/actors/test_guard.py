"""The guard: what it looks up, what it refuses, and what may go to which reader."""

from __future__ import annotations

import socket
from typing import Any

import pytest
import trio

from actors import guard as guard_module
from actors.guard import DNS_TIMEOUT, Guard
from providers._contract import Kind, Refused, Unavailable
from tests.actors.netlab import PUBLIC, Names


async def test_addresses_of_a_name_come_checked_and_once_each() -> None:
    guard = Guard(resolve=Names(default=(PUBLIC, PUBLIC, "1.1.1.1")))

    assert await guard.addresses("a.example.com", 443) == (PUBLIC, "1.1.1.1")


@pytest.mark.parametrize("answers", [("10.0.0.1",), (PUBLIC, "::1"), (PUBLIC, "fe80::1%eth0"), ("garbage",)])
async def test_one_bad_address_refuses_the_name(answers: tuple[str, ...]) -> None:
    guard = Guard(resolve=Names(default=answers))

    with pytest.raises(Refused, match=r"^address not allowed$"):
        await guard.addresses("a.example.com", 443)


async def test_a_forbidden_port_is_refused_without_a_look_up() -> None:
    names = Names()

    with pytest.raises(Refused):
        await Guard(resolve=names).addresses("a.example.com", 6379)

    assert names.asked == []


@pytest.mark.parametrize(
    ("host", "port", "refused"),
    [
        ("a.example.com", 443, True),
        ("a.example.com", 80, False),
        ("A.EXAMPLE.COM.", 443, True),
        ("b.example.com", 8000, True),
        ("b.example.com", 8001, False),
    ],
)
async def test_this_service_is_not_read_through_itself(host: str, port: int, refused: bool) -> None:
    own = frozenset({("a.example.com", 443), (PUBLIC, 8000)})
    guard = Guard(resolve=Names(), own=own)

    if refused:
        with pytest.raises(Refused):
            await guard.addresses(host.lower(), port)
    else:
        assert await guard.addresses(host.lower(), port) == (PUBLIC,)


async def test_an_own_address_is_known_in_every_spelling() -> None:
    guard = Guard(allow_private=True, resolve=Names(default=("FD00:0:0::0005",)), own=frozenset({("fd00::5", 8000)}))

    with pytest.raises(Refused):
        await guard.addresses("me.example.com", 8000)


async def test_a_name_without_an_address_is_unavailable_and_not_tried_again() -> None:
    with pytest.raises(Unavailable, match=r"^dns: name has no address$") as caught:
        await Guard(resolve=Names(default=())).addresses("a.example.com", 443)

    assert caught.value.retry is False


@pytest.mark.parametrize("error", [socket.gaierror(-2, "no such name"), UnicodeError("label too long")])
async def test_a_failed_look_up_is_unavailable_and_not_tried_again(error: Exception) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise error

    with pytest.raises(Unavailable, match=r"^dns: name not found$") as caught:
        await Guard(resolve=resolve).addresses("a.example.com", 443)

    assert caught.value.retry is False


async def test_a_look_up_that_stalls_ends_after_five_seconds(autojump_clock: trio.testing.MockClock) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        await trio.sleep_forever()
        raise AssertionError

    start = trio.current_time()
    with pytest.raises(Unavailable, match=r"^dns: no answer within 5 s$"):
        await Guard(resolve=resolve).addresses("a.example.com", 443)

    assert trio.current_time() - start == DNS_TIMEOUT


async def test_the_system_resolver_works_in_threads_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def getaddrinfo(host: str, port: int, **options: Any) -> list[tuple[Any, ...]]:
        asked.append((host, port))
        return [(2, 1, 6, "", (PUBLIC, port)), (10, 1, 6, "", ("2606:4700::1", port, 0, 0))]

    monkeypatch.setattr(guard_module.socket, "getaddrinfo", getaddrinfo)
    limiter = trio.to_thread.current_default_thread_limiter()
    taken = [await limiter.acquire_on_behalf_of(number) for number in range(int(limiter.total_tokens))]
    with trio.fail_after(5):
        found = await Guard().addresses("a.example.com", 443)
    for number in range(len(taken)):
        limiter.release_on_behalf_of(number)

    assert found == (PUBLIC, "2606:4700::1")
    assert asked == [("a.example.com", 443)]


@pytest.mark.parametrize(
    ("url", "reach", "allow_private", "answers", "verdict"),
    [
        ("https://a.example.com/", "third_party", False, (PUBLIC,), None),
        ("https://a.example.com/", "self_hosted", False, (PUBLIC,), None),
        ("https://a.example.com/", "third_party", False, ("10.0.0.1",), Kind.REFUSED),
        ("https://a.example.com/", "self_hosted", False, ("10.0.0.1",), Kind.REFUSED),
        ("https://a.example.com/", "third_party", True, ("10.0.0.1",), Kind.NOT_SENT),
        ("https://a.example.com/", "self_hosted", True, ("10.0.0.1",), None),
        ("https://a.example.com/", "third_party", True, ("169.254.169.254",), Kind.REFUSED),
        ("https://a.example.com/", "third_party", False, (), Kind.NOT_SENT),
        ("https://a.example.com/?token=1", "third_party", False, (PUBLIC,), Kind.NOT_SENT),
        ("https://a.example.com/?token=1", "self_hosted", False, (PUBLIC,), None),
        ("http://wiki/", "third_party", True, (PUBLIC,), Kind.NOT_SENT),
        ("http://wiki/", "self_hosted", True, ("172.18.0.3",), None),
        ("http://wiki/", "self_hosted", False, ("172.18.0.3",), Kind.REFUSED),
        ("ftp://a.example.com/", "third_party", False, (PUBLIC,), Kind.REFUSED),
        ("http://127.0.0.1/", "direct", False, (), Kind.REFUSED),
    ],
)
async def test_what_may_be_handed_to_a_reader(
    url: str, reach: Any, allow_private: bool, answers: tuple[str, ...], verdict: Kind | None
) -> None:
    guard = Guard(allow_private=allow_private, resolve=Names(default=answers))

    assert await guard.check(url, reach=reach) is verdict


async def test_a_fetch_from_here_is_not_looked_up_beforehand() -> None:
    names = Names(default=("10.0.0.1",))

    assert await Guard(resolve=names).check("https://a.example.com/", reach="direct") is None
    assert names.asked == []


@pytest.mark.parametrize(
    ("address", "port", "is_home"),
    [("127.0.0.1", 8000, True), ("::1", 8000, True), ("127.0.0.1", 8001, False), ("255.255.255.255", 8000, False)],
)
def test_an_address_of_this_machine_is_home_on_a_port_of_ours(address: str, port: int, is_home: bool) -> None:
    guard = Guard(own=frozenset({("research.example.com", 8000)}))

    assert guard.is_home(address, port) is is_home
