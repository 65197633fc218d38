"""A proxy of the tests, HTTP and SOCKS 5, on real sockets."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

import trio

from tests.actors.netlab import read_head


@dataclass
class ProxyLab:
    """A proxy that leads every connection to one server, whatever it is asked for, and remembers the asking."""

    site: int
    login: tuple[str, str] | None = None
    refuses: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def knows(self, login: tuple[str, str] | None) -> bool:
        """Whether it lets somebody in who logs in so, or not at all."""
        return login == self.login

    async def http(self, stream: trio.abc.Stream) -> None:
        lines = (await read_head(stream)).decode().split("\r\n")
        method, target, _ = lines[0].split()
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        assert method == "CONNECT"
        assert headers["host"] == target.lower()
        self.asked.append(target)
        if not self.knows(login_of(lines)):
            await stream.send_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
        elif target in self.refuses:
            await stream.send_all(b"HTTP/1.1 %d No\r\n\r\n" % self.refuses[target])
        else:
            for piece in (b"HTTP/1.0 200 Conn", b"ection established\r\nVia: lab\r\n", b"\r\n"):
                await stream.send_all(piece)
                await trio.lowlevel.checkpoint()
            await self.lead(stream)

    async def socks(self, stream: trio.abc.Stream) -> None:
        _, count = await exactly(stream, 2)
        methods = await exactly(stream, count)
        method = 2 if self.login else 0
        assert method in methods
        await self.drip(stream, bytes([5, method]))
        if self.login:
            user = await exactly(stream, (await exactly(stream, 2))[1])
            password = await exactly(stream, (await exactly(stream, 1))[0])
            fits = self.knows((user.decode(), password.decode()))
            await self.drip(stream, bytes([1, 0 if fits else 1]))
            if not fits:
                return
        _, _, _, kind = await exactly(stream, 4)
        size = {1: 4, 4: 16}.get(kind) or (await exactly(stream, 1))[0]
        host = await exactly(stream, size)
        target = host.decode() if kind == 3 else host.hex()
        self.asked.append(f"{target}:{int.from_bytes(await exactly(stream, 2), 'big')}")
        reply = self.refuses.get(self.asked[-1], 0)
        bound = {0: b"\x01\0\0\0\0\0\0", 1: b"\x04" + bytes(18), 2: b"\x03\x03abc\0\0"}[len(self.asked) % 3]
        await self.drip(stream, bytes([5, reply, 0]) + bound)
        if reply == 0:
            await self.lead(stream)

    async def drip(self, stream: trio.abc.Stream, data: bytes) -> None:
        for byte in data:
            await stream.send_all(bytes([byte]))
            await trio.lowlevel.checkpoint()

    async def lead(self, stream: trio.abc.Stream) -> None:
        far = await trio.open_tcp_stream("127.0.0.1", self.site)
        async with far, trio.open_nursery() as nursery:
            nursery.start_soon(pump, stream, far, nursery.cancel_scope)
            nursery.start_soon(pump, far, stream, nursery.cancel_scope)


def login_of(lines: list[str]) -> tuple[str, str] | None:
    for line in lines:
        name, _, value = line.partition(": ")
        if name.lower() == "proxy-authorization" and value.startswith("Basic "):
            user, _, password = base64.b64decode(value.removeprefix("Basic ")).decode().partition(":")
            return user, password
    return None


async def exactly(stream: trio.abc.Stream, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += await stream.receive_some(count - len(data))
    return data


async def pump(source: trio.abc.Stream, sink: trio.abc.Stream, scope: trio.CancelScope) -> None:
    try:
        async for chunk in source:
            await sink.send_all(chunk)
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass
    scope.cancel()
