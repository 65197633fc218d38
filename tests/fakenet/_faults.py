"""What can go wrong at a remote, one function each. `FAULTS` names them, so that another process can ask for one.

A fault gets the connection, the request and the answer the remote would have given, and does as it likes with them.
The list is that of security/FACTS.md, parts C1 and D1.
"""

from __future__ import annotations

import gzip
import inspect
import io
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import Any

import trio

from tests.fakenet._http import Answer, Request, Wire

Fault = Callable[[Wire, Request, Answer], Awaitable[None]]
Replace = Callable[[Request, Answer], Answer]


def instead(replace: Replace) -> Fault:
    """A fault that sends another answer, in the ordinary way."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await wire.answer(replace(request, answer))

    return play


# --- the connection ---------------------------------------------------------------------------------------------------


def reset_before_answer() -> Fault:
    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await wire.reset()

    return play


def closed_before_answer() -> Fault:
    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await wire.close()

    return play


def reset_in_body() -> Fault:
    """Half of the body, then a RST."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await wire.send(answer.head() + answer.body[: len(answer.body) // 2])
        await trio.sleep(0.02)  # a RST overtakes bytes the client has not read yet
        await wire.reset()

    return play


def short_body(missing: int = 5) -> Fault:
    """The declared length is `missing` bytes more than what comes before the connection ends."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await wire.send(answer.head(("content-length", str(len(answer.body) + missing))) + answer.body)
        await wire.close()

    return play


def two_lengths() -> Fault:
    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        size = len(answer.body)
        await wire.send(answer.head(("content-length", str(size)), ("content-length", str(size + 1))) + answer.body)
        await wire.close()

    return play


def negative_length() -> Fault:
    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await wire.send(answer.head(("content-length", "-5")) + answer.body)
        await wire.close()

    return play


def no_http() -> Fault:
    """Bytes that are no HTTP answer at all."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await wire.send(b"220 mail.example ESMTP\r\n\r\n")
        await wire.close()

    return play


# --- time -------------------------------------------------------------------------------------------------------------


def latency(seconds: float) -> Fault:
    """The right answer, `seconds` later."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await trio.sleep(seconds)
        await wire.answer(answer)

    return play


def silent() -> Fault:
    """The request is read and never answered."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await trio.sleep_forever()

    return play


def slow_body() -> Fault:
    """Head and half of the body at once, and then nothing."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await wire.send(answer.head() + answer.body[: len(answer.body) // 2])
        await trio.sleep_forever()

    return play


def dribble(interval: float = 0.05, head_too: bool = False) -> Fault:
    """One byte of the body (or of the whole answer) every `interval` seconds, again and again."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        head, data = (b"", answer.raw()) if head_too else (answer.head(("content-length", "1000000")), answer.body)
        await wire.send(head)
        while True:
            for index in range(len(data)):
                await wire.send(data[index : index + 1])
                await trio.sleep(interval)
            data = data or b"x"

    return play


def early_hints() -> Fault:
    """Informational answers without end."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        while True:
            await wire.send(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 100)
            await trio.sleep(0.01)

    return play


def endless(size: int = 16384) -> Fault:
    """Chunks of `size` bytes without end."""

    async def play(wire: Wire, request: Request, answer: Answer) -> None:
        await wire.send(answer.head(("transfer-encoding", "chunked")))
        chunk = b"%x\r\n" % size + b"z" * size + b"\r\n"
        while True:
            await wire.send(chunk)

    return play


# --- statuses ---------------------------------------------------------------------------------------------------------


def status(code: int, body: str = "", content_type: str = "text/plain", **headers: str) -> Fault:
    """Another status; header names are written with `_` for `-`."""
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return instead(lambda request, answer: Answer(code, body.encode(), content_type, pairs))


def retry_after(value: str, code: int = 429) -> Fault:
    """`code` with `Retry-After: value`, whatever that is."""
    return status(code, "slow down", retry_after=value)


def retry_after_date(seconds: float, code: int = 429, skew: float = 0.0) -> Fault:
    """`Retry-After` as a date `seconds` ahead of the remote's own `Date`, whose clock is `skew` seconds off."""

    def replace(request: Request, answer: Answer) -> Answer:
        now = time.time() + skew
        dates = (("date", formatdate(now, usegmt=True)), ("retry-after", formatdate(now + seconds, usegmt=True)))
        return Answer(code, b"slow down", "text/plain", dates)

    return instead(replace)


def challenge(code: int = 403) -> Fault:
    """A bot wall's page, with the markers vendors/bot-walls.md lists for Cloudflare."""
    body = (
        "<!doctype html><html><head><title>Just a moment...</title></head><body>"
        '<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script>'
        "<noscript>Enable JavaScript and cookies to continue</noscript></body></html>"
    )
    return status(code, body, "text/html; charset=UTF-8", server="cloudflare", cf_mitigated="challenge")


def redirect(location: str, code: int = 302) -> Fault:
    return status(code, "", location=location)


def redirect_loop(code: int = 302) -> Fault:
    """Every answer points at the address that was asked."""
    return instead(lambda request, answer: Answer(code, b"", "text/plain", (("location", request.target),)))


# --- bodies -----------------------------------------------------------------------------------------------------------


def body(text: str, content_type: str = "application/json") -> Fault:
    return instead(lambda request, answer: Answer(200, text.encode("utf-8", "surrogatepass"), content_type))


def payload(data: bytes, content_type: str) -> Fault:
    """`data` as a good answer."""
    return instead(lambda request, answer: Answer(200, data, content_type))


def truncated_body() -> Fault:
    """Half of the body, declared as if that were all."""
    return instead(
        lambda request, answer: Answer(
            answer.status, answer.body[: len(answer.body) // 2], answer.content_type, answer.headers
        )
    )


def html_page() -> Fault:
    """A web page nobody asked for, with 200."""
    page = "<!doctype html><html><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>"
    return body(page, "text/html; charset=utf-8")


def large_json(megabytes: int = 11) -> Fault:
    return instead(lambda request, answer: Answer(200, b'["' + b"x" * (megabytes << 20) + b'"]', "application/json"))


def large(megabytes: int = 20, content_type: str = "text/html") -> Fault:
    return instead(lambda request, answer: Answer(200, b"<p>large</p>" * (megabytes * 87382), content_type))


def deep_json(depth: int = 100_000) -> Fault:
    return body("[" * depth + "]" * depth)


def gzipped() -> Fault:
    """The right answer, compressed."""
    return _encoded(lambda answer: gzip.compress(answer.body), "gzip")


def truncated_gzip() -> Fault:
    """Compressed, cut in half, and declared as if that were all."""

    def cut(answer: Answer) -> bytes:
        whole = gzip.compress(answer.body)
        return whole[: len(whole) // 2]

    return _encoded(cut, "gzip")


def gzip_bomb(megabytes: int = 64, layers: int = 1) -> Fault:
    """Zeros that unpack to `megabytes`, packed `layers` times."""
    data = bomb(megabytes)
    for _ in range(layers - 1):
        data = gzip.compress(data)
    return _encoded(lambda answer: data, ", ".join(["gzip"] * layers))


def unknown_encoding(name: str = "br") -> Fault:
    """A body said to be in an encoding nobody offered."""
    return _encoded(lambda answer: answer.body, name)


def bomb(megabytes: int) -> bytes:
    """`megabytes` of zeros as one gzip member."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(megabytes):
            file.write(bytes(1 << 20))
    return packed.getvalue()


def _encoded(pack: Callable[[Answer], bytes], encoding: str) -> Fault:
    def replace(request: Request, answer: Answer) -> Answer:
        headers = (*answer.headers, ("content-encoding", encoding))
        return Answer(answer.status, pack(answer), answer.content_type, headers)

    return instead(replace)


def cookies(count: int = 2000) -> Fault:
    """The right answer with `count` cookies."""

    def replace(request: Request, answer: Answer) -> Answer:
        return answer.with_headers(*(("set-cookie", f"c{index}=v; Path=/") for index in range(count)))

    return instead(replace)


FAULTS: dict[str, Callable[..., Fault]] = {
    function.__name__: function
    for function in (
        reset_before_answer, closed_before_answer, reset_in_body, short_body, two_lengths, negative_length, no_http,
        latency, silent, slow_body, dribble, early_hints, endless, status, retry_after, retry_after_date, challenge,
        redirect, redirect_loop, body, truncated_body, html_page, large_json, large, deep_json, gzipped, truncated_gzip,
        gzip_bomb, unknown_encoding, cookies,
    )
}  # fmt: skip


def by_name(name: str, arguments: dict[str, Any]) -> Fault:
    """The fault `name` with `arguments`. Raises KeyError or TypeError when there is no such thing."""
    function = FAULTS[name]
    inspect.signature(function).bind(**arguments)
    return function(**arguments)
