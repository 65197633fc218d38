"""Every row of tests/security/ssrf_cases.json, through `fetch_page` over the real transport."""

from __future__ import annotations

import json
import ssl
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from actors.client import Guard, open_client
from providers._address import InvalidUrl, NotAllowed, parse_url
from providers._contract import Document, Kind, ProviderError, Unavailable
from providers._wire import fetch_page
from tests.actors.certificates import authority, trusting_context
from tests.actors.netlab import Wires, make_row, read_head

CASES = json.loads((Path(__file__).parents[1] / "security" / "ssrf_cases.json").read_text())
SECURE_PORTS = {443, 8443}


def channel(row: dict[str, Any]) -> str:
    return row.get("channel", "direct")


FETCHED = [row for row in CASES if channel(row) == "direct"]
HANDED_ON = [row for row in CASES if channel(row) != "direct"]


def label(row: dict[str, Any]) -> str:
    return ascii(row["url"])[1:60]


@lru_cache
def any_name() -> ssl.SSLContext:
    """A server's context with a certificate for every host that a row lets through."""
    urls = [row["url"] for row in CASES]
    urls += [hop["location"] for row in CASES for hop in row.get("redirects_to", ())]
    hosts = set()
    for text in urls:
        try:
            hosts.add(parse_url(text, limit=4096).raw_host.decode())
        except (InvalidUrl, NotAllowed):
            continue
    return authority().server(*sorted(hosts))


@dataclass
class World:
    """One row played: DNS that answers as the row says, and a site that redirects as it says."""

    row: dict[str, Any]
    nursery: trio.Nursery
    looked_up: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    hosts: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hops = [(self.row["url"], self.row["resolves_to"])]
        for hop in self.row.get("redirects_to", ()):
            hops.append((str(httpx.URL(hops[0][0].strip()).join(hop["location"])), hop["resolves_to"]))
        for url, addresses in hops:
            try:
                self.hosts[parse_url(url, allow_private=True, limit=5000).host] = addresses
                self.hosts[parse_url(url, allow_private=True, limit=5000).raw_host.decode()] = addresses
            except (InvalidUrl, NotAllowed):
                continue

    async def resolve(self, host: str, port: int) -> list[str]:
        self.looked_up.append(host)
        if host in self.looked_up[:-1] and "second_lookup" in self.row:
            return self.row["second_lookup"]
        return self.hosts[host]

    async def connect(self, port: int) -> trio.abc.Stream:
        near, far = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self.site, far, port in SECURE_PORTS)
        return near

    async def site(self, stream: trio.abc.Stream, secure: bool) -> None:
        if secure:
            stream = trio.SSLStream(stream, any_name(), server_side=True, https_compatible=True)
        async with stream:
            try:
                while head := await read_head(stream):
                    await stream.send_all(self.answer(head))
            except trio.BrokenResourceError:
                return

    def answer(self, head: bytes) -> bytes:
        self.requested.append(head.decode())
        hops = self.row.get("redirects_to", ())
        number = len(self.requested) - 1
        if number < len(hops):
            return f"HTTP/1.1 302 Found\r\nLocation: {hops[number]['location']}\r\nContent-Length: 0\r\n\r\n".encode()
        return b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage"


async def play(row: dict[str, Any]) -> tuple[Document | ProviderError, World, Wires]:
    async with trio.open_nursery() as nursery:
        world = World(row, nursery)
        wires = Wires(world.connect)
        allow_private = row.get("settings", {}).get("allow_private_network", False)
        guard = Guard(allow_private=allow_private, resolve=world.resolve, dial=wires)
        outcome: Document | ProviderError
        with trio.fail_after(10):
            async with open_client(make_row(), guard, trusting_context()) as client:
                try:
                    outcome = await fetch_page(client, row["url"], max_body_bytes=1000)
                except ProviderError as error:
                    outcome = error
        nursery.cancel_scope.cancel()
    return outcome, world, wires


def addresses_of(row: dict[str, Any]) -> set[str]:
    every = [*row["resolves_to"], *row.get("second_lookup", ())]
    every += [address for hop in row.get("redirects_to", ()) for address in hop["resolves_to"]]
    return set(every)


def is_refused_by_text(row: dict[str, Any], url: str) -> bool:
    try:
        parse_url(url, allow_private="settings" in row, limit=4096)
    except (InvalidUrl, NotAllowed):
        return True
    return False


@pytest.mark.parametrize("row", FETCHED, ids=label)
async def test_fetching_gives_the_verdict_of_the_row(row: dict[str, Any]) -> None:
    outcome, world, wires = await play(row)

    assert isinstance(outcome, Document) == (row["expect"] == "allow"), outcome
    assert len(world.requested) <= 6
    assert {address for address, _ in wires.dialled} <= addresses_of(row)
    if isinstance(outcome, Document):
        assert outcome.body == b"page"
        assert wires.dialled[0][0] == row.get("must_connect_to", wires.dialled[0][0])
    elif row["resolves_to"] or "redirects_to" in row:
        assert outcome.detail in ("address not allowed", "invalid url", "redirect loop", "too many redirects")
    else:
        assert outcome.detail in ("address not allowed", "invalid url") or isinstance(outcome, Unavailable)


@pytest.mark.parametrize("row", FETCHED, ids=label)
async def test_fetching_looks_up_once_per_connection_and_never_for_bad_text(row: dict[str, Any]) -> None:
    _, world, wires = await play(row)

    if is_refused_by_text(row, row["url"]):
        assert world.looked_up == []
        assert wires.dialled == []
    if row["expect"] == "allow":
        by_name = [head for head in world.hosts if not _is_literal(head)]
        connections = [address for address, _ in wires.dialled]
        assert len(world.looked_up) == (len(connections) if by_name else 0)
    assert len(world.looked_up) <= len(wires.dialled) + 1


@pytest.mark.parametrize("row", [row for row in FETCHED if row["expect"] == "deny"], ids=label)
async def test_no_refusal_tells_an_address(row: dict[str, Any]) -> None:
    outcome, *_ = await play(row)

    told = f"{outcome} {outcome!r} {getattr(outcome, 'detail', '')}"
    assert not [address for address in addresses_of(row) if address in told]


@pytest.mark.parametrize("row", HANDED_ON, ids=label)
async def test_handing_on_to_a_reader_gives_the_verdict_of_the_row(row: dict[str, Any]) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return row["resolves_to"]

    guard = Guard(allow_private=row.get("settings", {}).get("allow_private_network", False), resolve=resolve)
    reach = "third_party" if channel(row) == "remote_reader" else "self_hosted"
    with trio.fail_after(5):
        verdict = await guard.check(row["url"], reach=reach)

    assert (verdict is None) == (row["expect"] == "allow")
    assert verdict in (None, Kind.REFUSED, Kind.NOT_SENT)


def test_the_table_is_complete() -> None:
    assert len(CASES) == 212
    assert len(FETCHED) + len(HANDED_ON) == 212


def _is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
