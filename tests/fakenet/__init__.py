"""A fake internet on loopback: remotes that play vendors, web pages, and everything that can go wrong.

    async with open_fakenet() as net:
        net["searxng"].play(faults.status(503), times=1)
        ...ask something at net.url("searxng")...
        assert net["searxng"].calls == 2

Every remote has its own port, real sockets and the real clock. `python -m tests.fakenet` runs it as a process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from tests.fakenet import _faults as faults
from tests.fakenet._http import Answer, Request, Wire, as_html, as_json, as_text
from tests.fakenet._remote import Remote
from tests.fakenet._vendor import Case, impersonates, payload, vendor, vendor_names
from tests.fakenet._web import Site
from tests.fakenet._world import NOTHING, World

__all__ = [
    "NOTHING", "Answer", "Case", "Fakenet", "Remote", "Request", "Site", "Wire", "World", "as_html", "as_json",
    "as_text", "closed_port", "faults", "impersonates", "open_fakenet", "payload", "vendor", "vendor_names",
]  # fmt: skip


@dataclass(eq=False, slots=True)
class Fakenet:
    """All remotes by name; `web` is the site that hits lead to, and `net.site.put(...)` adds pages to it."""

    world: World
    site: Site
    remotes: dict[str, Remote] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Remote:
        return self.remotes[name]

    @property
    def urls(self) -> dict[str, str]:
        """Base URLs by remote, without trailing slashes."""
        return {name: remote.url for name, remote in self.remotes.items()}

    def url(self, name: str, path: str = "") -> str:
        return self.remotes[name].url + path

    def environment(self, *names: str, key: str = "test-key") -> dict[str, str]:
        """The variables that point a server at the fakes of the types `names` (at all of them when none is named)."""
        merged = {"ALLOW_PRIVATE_NETWORK": "true"}
        for name in names or vendor_names():
            merged |= vendor(name).environment(self.urls, key)
        return merged

    def forget(self) -> None:
        """Forget all requests and all faults."""
        for remote in self.remotes.values():
            remote.heal()
            remote.forget()


@asynccontextmanager
async def open_fakenet(types: Iterable[str] | None = None, *, port: int = 0) -> AsyncIterator[Fakenet]:
    """Listen as the remotes of the provider types `types` (all that have a fake), and as the web site `web`.

    With `port`, the web site listens there and the others on the ports after it, in the order of their names.
    """
    world = World()
    net = Fakenet(world, Site(world))
    net.remotes["web"] = Remote("web", net.site, port=port)
    handlers = {name: make for each in types or vendor_names() for name, make in vendor(each).REMOTES.items()}
    for offset, (name, make) in enumerate(sorted(handlers.items()), start=1):
        net.remotes[name] = Remote(name, make(world), port=port and port + offset)
    async with trio.open_nursery() as nursery:
        for remote in net.remotes.values():
            await nursery.start(remote.listen)
        world.web = net["web"].url
        try:
            yield net
        finally:
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def closed_port() -> AsyncIterator[str]:
    """The base URL of a port on loopback where connections are refused, and nobody else can listen meanwhile."""
    with trio.socket.socket() as taken:
        await taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"
