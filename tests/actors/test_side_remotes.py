"""A second remote of an instance: it has a way of its own, and nothing of the first one's looks or proxy."""

from __future__ import annotations

import httpx
import pytest
import trio

from actors.client import Guard, open_client
from actors.row import SideRemote
from tests.actors.browserlab import HOST, browser, headers_of, site
from tests.actors.netlab import Names, answer, make_row, plain_context, server
from tests.actors.proxylab import ProxyLab

SIDE = {"remote": "other"}


async def test_requests_to_the_second_remote_go_past_the_first_ones_proxy_and_browser() -> None:
    page, names = site(answer()), Names(default=("127.0.0.1",))
    async with server(page) as port:
        lab = ProxyLab(site=port)
        async with server(lab.http) as proxy:
            row = make_row(impersonate=True, proxy=f"http://127.0.0.1:{proxy}", side_remotes=(SideRemote("other"),))
            async with open_client(row, Guard(allow_private=True, resolve=names), plain_context()) as client:
                with trio.fail_after(10):
                    await client.get(f"http://{HOST}:{port}/", headers={"user-agent": "ours"}, extensions=SIDE)
                    await client.get(f"http://{HOST}:{port}/", headers={"user-agent": "ours"})

    agents = [headers["user-agent"] for headers in page.headers]
    assert agents[0] == "ours"
    assert agents[1].startswith("Mozilla/5.0")
    assert len(lab.asked) == 1


async def test_second_remote_has_a_proxy_of_its_own_and_none_is_gone_past() -> None:
    page = site(answer())
    async with server(page) as port:
        lab = ProxyLab(site=port)
        async with server(lab.socks) as proxy:
            dead = make_row(side_remotes=(SideRemote("other", "socks5h://127.0.0.1:1"),))
            alive = make_row(side_remotes=(SideRemote("other", f"socks5h://127.0.0.1:{proxy}"),))
            with trio.fail_after(10):
                async with open_client(alive, Guard(resolve=Names()), plain_context()) as client:
                    assert (await client.get(f"http://{HOST}:{port}/", extensions=SIDE)).text == "ok"
                async with open_client(dead, Guard(resolve=Names()), plain_context()) as client:
                    with pytest.raises(httpx.ProxyError):
                        await client.get(f"http://{HOST}:{port}/", extensions=SIDE)

    assert lab.asked == [f"{HOST}:{port}"]
    assert len(page.heads) == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_request_of_a_script_does_not_look_like_the_opening_of_a_page(scheme: str) -> None:
    page = site(answer())
    async with browser(page, scheme=scheme) as (client, url):
        for mode in ("cors", "navigate"):
            await client.post(url, headers={"sec-fetch-mode": mode}, data={"a": "b"})

    script, opening = map(headers_of, page.heads)
    assert (script["accept"], script["sec-fetch-mode"]) == ("*/*", "cors")
    assert not script.keys() & {"upgrade-insecure-requests", "sec-fetch-user"}
    assert opening["accept"] != "*/*"
    assert script["content-type"] == "application/x-www-form-urlencoded"
