"""What the contract tests run on: every registered type, each on the real transport against its fake."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from actors.client import Guard, make_ssl_context, open_client
from actors.row import Row, SideRemote
from actors.units import unit_of_work
from providers._contract import Job, Role
from providers._registry import type_names
from providers._workers import inline_workers
from tests.fakenet import Case, faults, impersonates, open_fakenet, payload, vendor, vendor_names

KEY_CANARY = "canary-of-the-key-8b41"
METHODS = {
    Role.SEARCH: "search",
    Role.IMAGES: "search_images",
    Role.READ: "read",
    Role.ROBOTS: "robots",
    Role.RERANK: "rerank",
}

# A type without a fake fails one test of its own, see test_types.py, and has nothing to be run through here.
PLAYED = tuple((name, case) for name in type_names() if name in vendor_names() for case in vendor(name).CASES)


def case_id(value: object) -> str | None:
    return value.role.value if isinstance(value, Case) else None


@dataclass(frozen=True, slots=True)
class Stand:
    """One type, ready to be asked for the job of one case."""

    net: Any
    case: Case
    type_name: str
    provider: Any
    client: httpx.AsyncClient

    @property
    def job(self) -> Job:
        return self.case.job(self.net.urls)

    @property
    def remote(self) -> Any:
        return self.net[self.case.remote]

    def serve(self, name: str) -> None:
        """Let the remote give a recorded answer."""
        body = payload(self.type_name, name)
        self.remote.play(faults.payload(body, self.case.content_type), path=self.case.path)

    async def ask(self, job: Job | None = None) -> Any:
        """Ask the provider as an actor does, for another job than the case's own where one is given."""
        with unit_of_work():
            return await getattr(self.provider, METHODS[self.case.role])(job or self.job, self.client)

    @property
    def grace(self) -> float:
        """Seconds within which a remote sees that its caller has left; libcurl's threads take longer to look up."""
        return 1.0 if impersonates(self.type_name) else 0.1


@pytest.fixture(scope="session")
def ssl_context() -> ssl.SSLContext:
    return make_ssl_context()


def side_remotes(type_name: str) -> tuple[SideRemote, ...]:
    """Remotes of a type that have a way of their own, as its fake declares them."""
    return tuple(map(SideRemote, getattr(vendor(type_name), "SIDE_REMOTES", ())))


@asynccontextmanager
async def open_stand(
    type_name: str, case: Case, context: ssl.SSLContext, *, proxy: str | None = None, **moved: str
) -> AsyncIterator[Stand]:
    """A type on the real transport, through a proxy where one is given.

    `moved` gives other base URLs to remotes than those that listen.
    """
    async with open_fakenet([type_name]) as net:
        provider = vendor(type_name).build(net.urls | moved, KEY_CANARY)
        urls = [urlsplit(url) for name, url in (net.urls | moved).items() if name != "web"]
        row = Row(
            name=type_name,
            type=type_name,
            provider=provider,
            roles=frozenset({case.role}),
            exempt=frozenset((url.hostname or "", url.port or 0) for url in urls),
            proxy=proxy,
            impersonate=impersonates(type_name),
            side_remotes=side_remotes(type_name),
            secrets=(KEY_CANARY,),
        )
        guard = Guard(allow_private=case.table != "vendor")
        with inline_workers():
            async with open_client(row, guard, context) as client:
                yield Stand(net, case, type_name, provider, client)
