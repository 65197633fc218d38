"""The rows of tests/security/ssrf_cases.json that are fetched, through the impersonating transport.

libcurl connects by itself. So a proxy of the tests stands for the network where a row has to be followed to its end;
and without a proxy the rows that are refused must not even come to a transfer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import trio

from actors.client import Guard, open_client
from actors.transfer import Transfer
from providers._address import is_literal, parse_url
from providers._contract import Document, ProviderError
from providers._wire import fetch_page
from tests.actors.browserlab import headers_of, site, trust
from tests.actors.netlab import answer, make_row, server
from tests.actors.proxylab import ProxyLab
from tests.actors.test_ssrf_cases import FETCHED, SECURE_PORTS, World, addresses_of, label

DENIED = [row for row in FETCHED if row["expect"] == "deny"]
DENIED_AT_ONCE = [row for row in DENIED if "redirects_to" not in row and "second_lookup" not in row]
ALLOWED = [row for row in FETCHED if row["expect"] == "allow"]
TEXTS = ("address not allowed", "invalid url", "redirect loop", "too many redirects")


@dataclass
class Network(ProxyLab):
    """Whatever the proxy is asked for, the world of a row answers."""

    world: World | None = None

    async def lead(self, stream: trio.abc.Stream) -> None:
        assert self.world is not None
        await self.world.site(stream, int(self.asked[-1].rpartition(":")[2]) in SECURE_PORTS)

    @property
    def addresses(self) -> set[str]:
        return {target.rpartition(":")[0].strip("[]") for target in self.asked}


def guard_of(row: dict[str, Any], world: World) -> Guard:
    return Guard(allow_private=row.get("settings", {}).get("allow_private_network", False), resolve=world.resolve)


async def fetch(row: dict[str, Any], guard: Guard, **fields: Any) -> Document | ProviderError:
    async with open_client(make_row(impersonate=True, **fields), guard, trust()) as client:
        with trio.fail_after(10):
            try:
                return await fetch_page(client, row["url"], max_body_bytes=1000)
            except ProviderError as error:
                return error


@pytest.mark.parametrize("row", FETCHED, ids=label)
async def test_fetching_gives_the_verdict_of_the_row(row: dict[str, Any]) -> None:
    async with trio.open_nursery() as nursery:
        world = World(row, nursery)
        network = Network(0, world=world)
        async with server(network.http) as port:
            outcome = await fetch(row, guard_of(row, world), proxy=f"http://127.0.0.1:{port}")
        nursery.cancel_scope.cancel()

    assert isinstance(outcome, Document) == (row["expect"] == "allow"), outcome
    assert network.addresses <= addresses_of(row)
    assert len(world.looked_up) <= len(network.asked) + 1
    if isinstance(outcome, Document):
        assert outcome.body == b"page"
    elif row["resolves_to"] or "redirects_to" in row:
        assert outcome.detail in TEXTS


@pytest.mark.parametrize("row", DENIED_AT_ONCE, ids=label)
async def test_what_is_refused_never_comes_to_a_transfer(
    row: dict[str, Any], monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery
) -> None:
    ran: list[Transfer] = []
    monkeypatch.setattr(Transfer, "run", lambda transfer, look_up: ran.append(transfer))

    outcome = await fetch(row, guard_of(row, World(row, nursery)))

    assert isinstance(outcome, ProviderError)
    assert ran == []


class Pinned(Guard):
    """Checks as any guard, and then leads to loopback."""

    async def addresses(self, host: str, port: int) -> tuple[str, ...]:
        await super().addresses(host, port)
        return ("127.0.0.1",)


def _by_name(row: dict[str, Any]) -> bool:
    if "redirects_to" in row or "settings" in row or not row["resolves_to"]:
        return False
    return not is_literal(parse_url(row["url"], limit=4096).raw_host.decode())


@pytest.mark.parametrize("row", [row for row in ALLOWED if _by_name(row)][:25], ids=label)
async def test_what_is_allowed_is_connected_to_by_its_pin_under_its_own_name(
    row: dict[str, Any], nursery: trio.Nursery
) -> None:
    page = site(answer(b"page"))
    host = parse_url(row["url"], limit=4096).raw_host.decode()
    async with server(page) as port:
        world = World(row, nursery)
        guard = Pinned(resolve=world.resolve)
        outcome = await fetch({**row, "url": f"http://{host}:{port}/"}, guard)

    assert isinstance(outcome, Document), outcome
    assert headers_of(page.heads[0])["host"] == f"{host}:{port}"
    assert len(world.looked_up) == 1
