"""`fetch_page` over the real transport: how far a fetch got, and how long its body counts."""

from __future__ import annotations

import pytest
import trio

from providers._contract import Malformed, Progress, ProviderError, TooLarge, Unavailable
from providers._wire import fetch_page
from tests.actors.certificates import authority, trusting_context
from tests.actors.netlab import Serve, always, answer, client_of, once, over_tls, read_head

HTTP, HTTPS = "http://a.example.com/page", "https://a.example.com/page"
GOOD = authority().server("a.example.com")
OTHER = authority().server("b.example.com")


async def hang_up(stream: trio.abc.Stream) -> None:
    await stream.receive_some(1000)
    await stream.aclose()


@pytest.mark.parametrize(
    ("url", "serve", "reached", "kind"),
    [
        (HTTP, hang_up, "connected", Unavailable),
        (HTTPS, over_tls(GOOD, hang_up), "connected", Unavailable),
        (HTTPS, over_tls(OTHER, hang_up), "nothing", Unavailable),
        (HTTPS, hang_up, "nothing", Unavailable),
        (HTTP, once(b"SSH-2.0\r\n\r\n"), "connected", Malformed),
        (HTTP, once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"), "answered", Unavailable),
        (HTTP, always(answer(bytes(2000))), "answered", TooLarge),
        (HTTP, always(answer(b"x", 200, "Content-Encoding: br")), "answered", Malformed),
    ],
)
async def test_an_error_says_how_far_the_fetch_got(url: str, serve: Serve, reached: str, kind: type) -> None:
    progress = Progress()
    async with client_of(serve, trust=trusting_context()) as client:
        with trio.fail_after(5), pytest.raises(ProviderError) as caught:
            await fetch_page(client, url, max_body_bytes=1000, progress=progress)

    assert type(caught.value) is kind
    assert caught.value.evidence is not None
    assert caught.value.evidence.reached == reached
    assert progress.reached == reached


async def test_a_connection_used_again_counts_as_connected() -> None:
    requests = 0

    async def serve(stream: trio.abc.Stream) -> None:
        nonlocal requests
        while await read_head(stream):
            requests += 1
            if requests == 2:
                break
            await stream.send_all(answer())
        await stream.aclose()

    async with client_of(serve) as client:
        with trio.fail_after(5):
            await fetch_page(client, HTTP, max_body_bytes=1000)
            with pytest.raises(Unavailable) as caught:
                await fetch_page(client, HTTP, max_body_bytes=1000)

    assert requests == 2
    assert caught.value.evidence is not None
    assert caught.value.evidence.reached == "connected"


async def test_a_watcher_sees_that_the_site_was_reached_when_it_never_answers() -> None:
    progress = Progress()

    async def serve(stream: trio.abc.Stream) -> None:
        await read_head(stream)
        await trio.sleep_forever()

    async with client_of(serve) as client:
        with trio.move_on_after(0.2):
            await fetch_page(client, HTTP, max_body_bytes=1000, progress=progress)

    assert progress.reached == "connected"


async def test_a_body_counts_for_as_long_as_its_document_lives() -> None:
    async with client_of(always(answer(bytes(700)))) as client:
        bodies = client._transport._bodies  # type: ignore[attr-defined]
        with trio.fail_after(5):
            document = await fetch_page(client, HTTP, max_body_bytes=1000)
        assert (len(document.body), bodies.held_bytes) == (700, 700)
        del document
        await trio.testing.wait_all_tasks_blocked()

        assert bodies.held_bytes == 0
