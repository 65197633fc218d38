"""The longest stall of the event loop under the load of issue 3: `python -m tests.soak.stalls [SIZE]`.

A server in a process of its own (see `ticking`); here the fake internet and the clients. While ordinary pages are read
at once, a long PDF and a page of very many attributes are extracted, one read has 1,000,000 characters, one vendor
answer has 5 MB, and searches go on at their own pace. Prints one line of JSON, times in milliseconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import trio

from tests.bench._load import Call, Figures, burst, load
from tests.bombs import HTML, pages, text_page
from tests.e2e._stage import ROOT, bare_environment, free_port
from tests.fakenet import Answer, Fakenet, Request, open_fakenet

PAGE_CHARS = 1_000_000
ANSWER_BYTES = 5_000_000 - 10_000


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is of everything. `arrival_seconds`: over how long the reads come in; 0 is all in one instant."""

    reads: int = 200
    pdf_pages: int = 300
    attributes: int = 50_000
    usual_seconds: float = 3.0
    arrival_seconds: float = 0.0


def furnish(net: Fakenet, size: Size) -> None:
    """Put the large things into the fake internet."""
    sentence = "A careful reader will find that most of the disagreement is about words. "
    lines = [sentence] * 40
    net.site.put("/long.pdf", pages([text_page(*lines) for _ in range(size.pdf_pages)]), "application/pdf")
    net.site.put("/attributes", HTML["attributes"](size.attributes) + sentence * 40)
    net.site.put("/million.txt", (sentence * (PAGE_CHARS // len(sentence) + 1))[:PAGE_CHARS], "text/plain")
    usual, large = net["searxng"].handler, large_answer()
    net["searxng"].handler = lambda request: large if is_large(request) else usual(request)


def is_large(request: Request) -> bool:
    return request.query.get("q") == "large"


def large_answer() -> Answer:
    """A SearXNG answer of ANSWER_BYTES at most, all of it hits."""
    hit = {"title": "A hit", "url": "https://site.example/x", "content": "words " * 100, "publishedDate": None}
    count = ANSWER_BYTES // (len(json.dumps(hit)) + 2) - 1
    reply = {"query": "large", "results": [hit] * count, "unresponsive_engines": []}
    return Answer(200, json.dumps(reply).encode(), "application/json")


async def measure(size: Size) -> dict[str, Any]:
    async with open_fakenet(["searxng"]) as net:
        furnish(net, size)
        with tempfile.TemporaryDirectory() as folder:
            port = free_port()
            variables = bare_environment(Path(folder)) | net.environment("searxng")
            variables |= {"MCP_PORT": str(port), "MAX_CALLS_IN_FLIGHT": "400", "SEARXNG_RATE": "none"}
            process = await trio.lowlevel.open_process(
                [sys.executable, "-m", "tests.soak.ticking"], env=variables, cwd=ROOT, stdout=subprocess.PIPE
            )
            try:
                return await under_load(process, net, port, size)
            finally:
                process.kill()


async def under_load(process: trio.Process, net: Fakenet, port: int, size: Size) -> dict[str, Any]:
    """Warm up, load, end the server, and put the figures of both sides together."""
    await answering(port)
    web = net.url("web")
    # Each reader has its own worker process, client and code path; none of their first times is the matter here.
    await burst(port, Call("read_page", {"url": f"{web}/article/warm/1"}), 8)
    search = partial(load, port, Call("web_search", {"query": "usual"}), connections=2, rate=20)
    usual = await search(seconds=size.usual_seconds)
    began = time.time()
    found = await everything(port, web, size, search)
    ended = time.time()
    process.terminate()
    assert process.stdout is not None
    ticks = json.loads(b"".join([chunk async for chunk in process.stdout]).splitlines()[-1])
    await process.wait()
    return report(usual, found, ticks, began, ended)


async def answering(port: int) -> None:
    """Wait until the server takes connections."""
    with trio.fail_after(30):
        while True:
            try:
                await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
            except OSError:
                await trio.sleep(0.05)
            else:
                return


async def everything(port: int, web: str, size: Size, search: Any) -> dict[str, Figures]:
    """The whole load at once; the figures by its kinds. The searches go on until the rest is done."""
    found: dict[str, Figures] = {"reads": Figures(), "searches": Figures()}

    async def once(kind: str, tool: str, arguments: Mapping[str, Any]) -> None:
        figures = await burst(port, Call(tool, arguments), 1)
        if kind in found:
            found[kind].latencies += figures.latencies
            found[kind].errors += figures.errors
            found[kind].sample = figures.sample or found[kind].sample
        else:
            found[kind] = figures

    async def read(number: int) -> None:
        await trio.sleep(size.arrival_seconds * number / size.reads)
        await once("reads", "read_page", {"url": f"{web}/article/page/{number}"})

    async def keep_searching() -> None:
        while True:
            figures = await search(seconds=0.2)
            found["searches"].latencies += figures.latencies
            found["searches"].errors += figures.errors

    async with trio.open_nursery() as searching:
        searching.start_soon(keep_searching)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(once, "pdf", "read_page", {"url": f"{web}/long.pdf", "max_chars": 0})
            nursery.start_soon(once, "attributes", "read_page", {"url": f"{web}/attributes"})
            nursery.start_soon(once, "million", "read_page", {"url": f"{web}/million.txt", "max_chars": PAGE_CHARS})
            nursery.start_soon(once, "large answer", "web_search", {"query": "large"})
            for number in range(size.reads):
                nursery.start_soon(read, number)
        searching.cancel_scope.cancel()
    return found


def report(
    usual: Figures, found: Mapping[str, Figures], ticks: Mapping[str, Any], began: float, ended: float
) -> dict[str, Any]:
    late = sorted(((wall, cpu, at - began) for at, wall, cpu in ticks["late"] if began <= at <= ended), reverse=True)
    steps = [step for step in ticks["steps"] if began <= step[2] <= ended]
    return {
        "stall_ms": ms(max((wall for wall, _, _ in late), default=0.0)),
        "stall_cpu_ms": ms(max((cpu for _, cpu, _ in late), default=0.0)),
        # How late, CPU of that, and when after the load began.
        "late_ticks_ms": [(ms(wall), ms(cpu), ms(at)) for wall, cpu, at in late[:8]],
        "steps": [{"wall_ms": ms(wall), "cpu_ms": ms(cpu), "task": task} for wall, cpu, _, task in steps],
        "load_s": round(ended - began, 2),
        "search_p50_ms": {"usual": ms(usual.quantile(0.5)), "under load": ms(found["searches"].quantile(0.5))},
        "search_p95_ms": {"usual": ms(usual.quantile(0.95)), "under load": ms(found["searches"].quantile(0.95))},
        "calls": {kind: len(figures.latencies) for kind, figures in found.items()},
        "slowest_ms": {kind: ms(max(figures.latencies)) for kind, figures in found.items() if figures.latencies},
        "errors": {kind: f"{figures.errors} {figures.sample}" for kind, figures in found.items() if figures.errors},
    }


def ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


def run(size: Size) -> dict[str, Any]:
    """The figures of one run in a process of its own, whose garbage and threads are nobody else's."""
    command = [sys.executable, "-m", "tests.soak.stalls", json.dumps(asdict(size))]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    print(json.dumps(trio.run(measure, Size(**json.loads(sys.argv[1] if sys.argv[1:] else "{}"))), indent=1))
