"""The fake internet itself: if it lies, everything tested with it does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import trio

from tests.fakenet import NOTHING, closed_port, faults, open_fakenet, vendor, vendor_names

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
async def net():
    async with open_fakenet() as net:
        yield net


@pytest.fixture
async def client():
    async with httpx.AsyncClient(timeout=5, trust_env=False) as client:
        yield client


async def test_requests_are_recorded_whole(net, client):
    await client.post(net.url("web", "/a%20b?x=1&y="), content=b"q=2&z=", headers={"X-Key": "k"})

    seen = net["web"].requests[-1]
    assert (seen.method, seen.path, seen.query, seen.form) == ("POST", "/a b", {"x": "1", "y": ""}, {"q": "2", "z": ""})
    assert seen.header("x-key") == "k"
    assert seen.disconnected_at is None
    assert net["web"].calls == 1


async def test_chunked_request_bodies_are_read(net, client):
    async def chunks():
        yield b"one,"
        yield b"two"

    await client.post(net.url("web", "/"), content=chunks())

    assert net["web"].requests[-1].body == b"one,two"


async def test_connection_is_kept_between_good_answers(net, client):
    for _ in range(3):
        assert (await client.get(net.url("web", "/"))).status_code == 200

    assert net["web"].open_connections == 1


async def test_client_that_leaves_is_seen_at_once(net, client):
    net["web"].play(faults.silent())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.get, net.url("web", "/"))
        request = await net["web"].wait_for_call()
        left_at = trio.current_time()
        nursery.cancel_scope.cancel()

    with trio.fail_after(1):
        await request.disconnected.wait()
    assert request.disconnected_at - left_at < 0.1


async def test_faults_can_be_limited_to_a_path_and_a_number_of_times(net, client):
    net["web"].play(faults.status(503), path="^/flaky", times=2)

    paths = ["/", "/flaky", "/flaky", "/flaky"]
    statuses = [(await client.get(net.url("web", path))).status_code for path in paths]

    assert statuses == [200, 503, 503, 404]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.reset_before_answer(), httpx.ReadError),
        (faults.closed_before_answer(), httpx.RemoteProtocolError),
        (faults.reset_in_body(), httpx.ReadError),
        (faults.short_body(), httpx.RemoteProtocolError),
        (faults.two_lengths(), httpx.RemoteProtocolError),
        (faults.negative_length(), httpx.RemoteProtocolError),
        (faults.no_http(), httpx.RemoteProtocolError),
        (faults.redirect_loop(), httpx.TooManyRedirects),
    ],
)
async def test_faults_do_to_a_plain_client_what_they_say(net, client, fault, error):
    net["web"].play(fault)

    with pytest.raises(error):
        await client.get(net.url("web", "/"), follow_redirects=True)


@pytest.mark.parametrize(
    "fault", [faults.silent(), faults.slow_body(), faults.dribble(), faults.dribble(0.05, True), faults.early_hints()]
)
async def test_slow_faults_never_end_by_themselves(net, client, fault):
    net["web"].play(fault)

    with trio.move_on_after(0.3) as scope:
        await client.get(net.url("web", "/"))
    assert scope.cancelled_caught


async def test_endless_body_goes_on_until_the_client_leaves(net, client):
    net["web"].play(faults.endless())
    received = 0
    async with await trio.open_tcp_stream("127.0.0.1", net["web"].port) as stream:
        await stream.send_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        while received < 2_000_000:
            received += len(await stream.receive_some(65536))

    with trio.fail_after(1):
        await net["web"].requests[-1].disconnected.wait()


async def test_bomb_is_small_on_the_wire_and_large_when_unpacked(net, client):
    net["web"].play(faults.gzip_bomb(8))
    response = await client.get(net.url("web", "/"))

    assert int(response.headers["content-length"]) < 10_000
    assert len(response.content) == 8 << 20


async def test_remote_that_is_down_refuses_and_comes_back_on_its_port(net, client):
    url = net.url("web", "/")
    net["web"].go_down()
    await trio.testing.wait_all_tasks_blocked()
    with pytest.raises(httpx.ConnectError):
        await client.get(url)
    await net["web"].go_up()

    assert (await client.get(url)).status_code == 200


async def test_closed_port_refuses(client):
    async with closed_port() as url:
        with pytest.raises(httpx.ConnectError):
            await client.get(url)


async def test_hits_lead_to_pages_that_exist_and_nothing_is_found_when_asked_for(net, client):
    entries = net.world.search("type k & co", start=10, count=5)

    page = await client.get(entries[0].url)
    assert page.status_code == 200
    assert "type k &amp; co: part 11" in page.text
    assert net.world.search(f"x {NOTHING}") == []


async def test_bug_of_a_fake_shows_as_a_status_nobody_expects(net, client):
    net["web"].handler = lambda request: 1 / 0

    assert (await client.get(net.url("web", "/"))).status_code == 599


async def test_searxng_refuses_what_its_sheet_says_is_refused(net, client):
    good = {"q": "x", "format": "json"}
    headers = {"accept": "text/html", "accept-language": "en", "user-agent": "Mozilla/5.0", "sec-fetch-mode": "cors"}
    url = net.url("searxng", "/search")

    async def status(changes=None, **other):
        return (await client.get(url, params=good | (changes or {}), headers=headers | other)).status_code

    assert await status() == 200
    assert await status({"language": "zh-Hans"}) == 400
    assert await status({"pageno": "0"}) == 400
    assert await status({"time_range": "hour"}) == 400
    assert await status({"q": ""}) == 400
    assert await status({"q": "!!g x"}) == 302
    assert await status(accept="application/json") == 429
    assert await status(**{"user-agent": "python-requests/2"}) == 429
    assert await status(**{"sec-fetch-mode": "no-cors"}) == 302
    net["searxng"].handler.json_enabled = False
    assert await status() == 403


async def test_duckduckgo_takes_a_later_page_without_its_token_for_a_bot(net, client):
    headers = {
        "user-agent": "Mozilla/5.0", "referer": "https://html.duckduckgo.com/", "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document", "sec-fetch-site": "same-origin", "accept": "text/html", "accept-language": "en",
    }  # fmt: skip
    url = net.url("duckduckgo", "/html/")

    async def status(**fields):
        return (await client.post(url, data={"q": "x"} | fields, headers=headers)).status_code

    assert await status(b="") == 200
    assert await status(s="10", dc="11") == 202
    assert await status(q="y" * 500) == 400
    assert await status(q="!w x") == 302
    assert (await client.post(url, data={"q": "x"})).status_code == 202


def test_every_fake_declares_what_the_contract_tests_need():
    for name in vendor_names():
        module = vendor(name)
        assert module.CASES, name
        assert all(callable(make) for make in module.REMOTES.values()), name
        assert callable(module.build), name
        assert callable(module.environment), name


def test_fakenet_runs_as_a_process_and_takes_orders():
    command = [sys.executable, "-m", "tests.fakenet", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            started = json.loads(process.stdout.readline())
            control, web = started["control"], started["urls"]["web"]
            with httpx.Client(trust_env=False, timeout=5) as client:
                order = {"remote": "web", "fault": "status", "arguments": {"code": 503}, "times": 1}
                assert client.post(control + "/play", json=order).status_code == 200
                statuses = [client.get(web + "/").status_code for _ in range(2)]
                seen = client.get(control + "/requests", params={"remote": "web"}).json()
                refused = client.post(control + "/play", json=order | {"fault": "fire"})
                calls = client.get(control + "/calls").json()
        finally:
            process.terminate()

    assert statuses == [503, 200]
    assert [request["target"] for request in seen] == ["/", "/"]
    assert refused.status_code == 400
    assert calls["web"] == 2
    assert started["environment"]["SEARXNG_URL"] == started["urls"]["searxng"]
