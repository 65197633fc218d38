"""`make bench`: what our work costs beside a bare tool on the same server, and beside the extractor alone.

Prints absolute figures and the shares of FACTS.md section 7, and those of the same pipeline without actors on asyncio;
with `--write FILE` that file gets them too, as Markdown. Everything runs on loopback against remotes that answer at
once: a fake internet and the load on one core, the server on all others (and on that one, where it needs it).
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import trio

from providers._contract import Document
from providers._extract import extract
from providers._workers import open_workers
from tests.bench._load import LEGACY, Call, Figures, Stalls, burst, load, watch_stalls
from tests.e2e._stage import ROOT, FakenetProcess, ServerProcess, fakenet_process, free_port, server_process
from tests.fakenet._vendor import vendor

CONNECTIONS = (1, 16, 64)
IN_FLIGHT = 500
IN_FLIGHT_LATENCY = 4.0
LONG = "/long/type-k/1"
TEN = ("searxng", "brave", "exa", "firecrawl", "jina", "linkup", "octen", "parallel", "serper", "youcom")

_said: list[str] = []


def row(name: str, figures: Figures) -> None:
    p50, p99 = (figures.quantile(share) * 1000 for share in (0.5, 0.99))
    failed = f"   {figures.errors} ERRORS, e.g. {figures.sample}" if figures.errors else ""
    say(f"  {name:<44} {figures.rate:8.0f} /s   p50 {p50:7.2f} ms   p99 {p99:7.2f} ms{failed}")


def say(line: str) -> None:
    _said.append(line)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def share(name: str, value: float, target: str, holds: bool) -> None:
    say(f"  {name:<72} {value:8.2f}   {target:<18} {'ok' if holds else 'MISSED'}")


# --- processes --------------------------------------------------------------------------------------------------------


@contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this process on the last core: the load, but no process that is started before or after."""
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(everywhere)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, everywhere)


@contextmanager
def yardstick(module: str, *arguments: str) -> Iterator[int]:
    """A server to compare with, by the port it listens on."""
    port = free_port()
    with subprocess.Popen([sys.executable, "-m", f"tests.bench.{module}", str(port), *arguments], cwd=ROOT) as process:
        try:
            yield port
        finally:
            process.terminate()


def environment(net: FakenetProcess) -> dict[str, str]:
    """Our server without throttles, with room for all calls in flight."""
    return {
        "SEARXNG_URL": net.urls["searxng"],
        "SEARXNG_RATE": "none",
        "SEARXNG_WORKERS": "600",
        "SEARXNG_TIMEOUT": "60",
        "TRAFILATURA_WORKERS": "600",
        "MAX_CALLS_IN_FLIGHT": "600",
        "ALLOW_PRIVATE_NETWORK": "true",
        "LOG_LEVEL": "WARNING",
        "HTTP_KEEP_ALIVE": "75",
    }


def environment_of_ten(net: FakenetProcess) -> dict[str, str]:
    """A server with the ten search engines of TEN and no other, none of them held back by a rate or a quota."""
    variables = {"ALLOW_PRIVATE_NETWORK": "true", "LOG_LEVEL": "WARNING", "HTTP_KEEP_ALIVE": "75"}
    for name in TEN:
        prefix = name.upper().replace("-", "_")
        variables |= vendor(name).environment(net.urls, "test-key")
        variables |= {f"{prefix}_RATE": "none", f"{prefix}_QUOTA": "none", f"{prefix}_WORKERS": "64"}
    return variables | {"SEARCH_RERANK_ENABLED": "false"}


def resident_mb(process: subprocess.Popen[bytes]) -> float:
    """Resident memory of the process itself, by /proc."""
    return _kb(process.pid, "status", "VmRSS:") / 1024


def proportional_mb(process: subprocess.Popen[bytes]) -> float:
    """Memory of the process and its children; what they share, as forked workers do, is counted once."""
    return sum(_kb(pid, "smaps_rollup", "Pss:") for pid in (process.pid, *descendants(process.pid))) / 1024


def _kb(pid: int, file: str, field: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def descendants(pid: int) -> list[int]:
    found = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in tasks.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


# --- measurements -----------------------------------------------------------------------------------------------------


async def measure(port: int, name: str, call: Call, seconds: float) -> dict[int, Figures]:
    found = {}
    with on_one_core():
        await load(port, call, connections=16, seconds=min(1.0, seconds))
        for connections in CONNECTIONS:
            found[connections] = await load(port, call, connections=connections, seconds=seconds)
            row(f"{name}, {connections} at once", found[connections])
    return found


async def stalls_at_half_load(port: int, call: Call, most: float, seconds: float) -> Stalls:
    """How long a small request waits at worst, with half of the calls per second that the server can do.

    At full load it would wait in a queue, which says nothing of a single long step.
    """
    stalls = Stalls()
    with on_one_core():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch_stalls, port, stalls)
            await load(port, call, connections=8, seconds=seconds, rate=most / 2)
            nursery.cancel_scope.cancel()
    return stalls


async def extractor_alone(net: FakenetProcess, seconds: float) -> float:
    """Pages per second of the long article through the worker processes, without a server or a network."""
    url = net.urls["web"] + LONG
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(url)
    document = Document(url, url, answer.content, answer.headers["content-type"])
    done = 0
    processes = os.cpu_count() or 2

    async def work(end: float) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await extract(document)
            done += 1

    async with open_workers(processes):
        for warm in (True, False):
            done, started = 0, time.perf_counter()
            async with trio.open_nursery() as nursery:
                for _ in range(processes):
                    nursery.start_soon(work, started + (1.0 if warm else seconds))
    return done / (time.perf_counter() - started)


async def in_flight(server: ServerProcess, net: FakenetProcess, call: Call, fault_at: str) -> float:
    """Main process's growth in kB per call, with IN_FLIGHT of them waiting for a slow remote."""
    port = int(server.url.rpartition(":")[2])
    idle = resident_mb(server.process)
    net.play(fault_at, "latency", seconds=IN_FLIGHT_LATENCY)
    figures = Figures()
    peak = idle

    async def run() -> None:
        nonlocal figures
        figures = await burst(port, call, IN_FLIGHT)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        for _ in range(int(IN_FLIGHT_LATENCY / 0.1)):
            await trio.sleep(0.1)
            peak = max(peak, resident_mb(server.process))
    net.reset()
    row(f"{call.tool}, {IN_FLIGHT} in flight at {IN_FLIGHT_LATENCY:g} s each", figures)
    say(f"  {'':<44} {idle:8.0f} MB idle   {peak:.0f} MB at the peak   {resident_mb(server.process):.0f} MB after")
    return (peak - idle) * 1024 / IN_FLIGHT


def bare_rounds(url: str, seconds: float) -> float:
    """Rounds a second of ten bare requests at once, sixteen rounds going on at a time."""
    command = [sys.executable, "-m", "tests.bench.bare_requests", url, str(len(TEN)), "16", str(seconds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return float(done.stdout)


async def ends_under_load(server: ServerProcess, net: FakenetProcess, call: Call) -> tuple[int, float, Figures]:
    """SIGTERM with 64 searches in flight: exit code, seconds until then, and what the calls got."""
    figures = Figures()
    code, took = -1, 0.0

    async def run() -> None:
        nonlocal figures
        figures = await burst(int(server.url.rpartition(":")[2]), call, 64)

    async def end() -> None:
        nonlocal code, took
        while net.calls().get("searxng", 0) < 64:
            await trio.sleep(0.05)
        began = time.perf_counter()
        code = await trio.to_thread.run_sync(server.stop)
        took = time.perf_counter() - began

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        nursery.start_soon(end)
    return code, took, figures


async def bench(seconds: float, directory: Path) -> None:
    with fakenet_process() as net:
        os.sched_setaffinity(net.pid, {max(os.sched_getaffinity(0))})
        search = Call("web_search", {"query": "type k thermocouple"})
        older = Call(search.tool, search.arguments, LEGACY)
        read = Call("read_page", {"url": net.urls["web"] + LONG})

        say("an empty tool on the bare SDK")
        with yardstick("bare_server") as port:
            await _up(port)
            bare = await measure(port, "empty", Call("empty", {}), seconds)
            bare_old = await measure(port, "empty, older client", Call("empty", {}, LEGACY), seconds)

        say("\nthe same pipeline without actors, on asyncio and uvicorn")
        with yardstick("plain_server", net.urls["searxng"] + "/search") as port:
            await _up(port)
            plain = await measure(port, "web_search", search, seconds)
            plain_old = await measure(port, "web_search, older client", older, seconds)
            plain_pages = await measure(port, "read_page, 60 kB article", read, seconds)

        say("\nour server")
        started = time.perf_counter()
        with server_process(environment(net), directory, spawn=True) as server:
            port = int(server.url.rpartition(":")[2])
            first = await burst(port, search, 1)
            cold = time.perf_counter() - started
            idle_mb = proportional_mb(server.process)
            searched = await measure(port, "web_search", search, seconds)
            old = await measure(port, "web_search, older client", older, seconds)
            pages = await measure(port, "read_page, 60 kB article", read, seconds)
            stalls = await stalls_at_half_load(port, read, pages[16].rate, seconds)
            search_kb = await in_flight(server, net, search, "searxng")
            read_kb = await in_flight(server, net, read, "web")
            whole_mb = proportional_mb(server.process)
            net.play("searxng", "latency", seconds=4.0)
            code, ended, last = await ends_under_load(server, net, search)
            net.reset()
        alone = await extractor_alone(net, seconds)

        say("\nour server with ten search engines")
        with server_process(environment_of_ten(net), directory / "ten", spawn=True) as server:
            ten = await measure(int(server.url.rpartition(":")[2]), "web_search", search, seconds)
        rounds = bare_rounds(net.urls["searxng"] + "/search?q=type+k+thermocouple&format=json", seconds)

    say("\nshares")
    rate = searched[16].rate / bare[16].rate
    share("web_search / empty tool, calls per second, 16 at once", rate, ">= 0.45", rate >= 0.45)
    rate = old[16].rate / bare_old[16].rate
    share("the same for an older client", rate, ">= 0.45", rate >= 0.45)
    rate = ten[16].rate / rounds
    share(f"web_search over ten / ten bare requests ({rounds:.0f} rounds/s)", rate, ">= 0.80", rate >= 0.80)
    rate = pages[16].rate / alone
    share(f"read_page / extractor alone ({alone:.0f} pages/s)", rate, ">= 0.80", rate >= 0.80)
    for name, ours, theirs in (
        ("web_search", searched, plain),
        ("web_search, older client", old, plain_old),
        ("read_page", pages, plain_pages),
    ):
        rate = ours[16].rate / theirs[16].rate
        share(f"{name} / the same without actors, 16 at once", rate, "as it is", True)
    spread = searched[64].quantile(0.99) / searched[64].quantile(0.5)
    share("web_search, p99 / p50, 64 at once", spread, "< 3", spread < 3)
    stall = stalls.longest * 1000
    share(f"longest stall in ms, {stalls.asked} probes", stall, "< 50", stall < 50)
    share("kB per web_search in flight", search_kb, "< 100", search_kb < 100)
    share("kB per read_page in flight", read_kb, "< 100", read_kb < 100)
    share("s from start to the first answer", cold, "< 1.5", cold < 1.5 and not first.errors)
    share("MB idle after the first call, with its workers", idle_mb, "< 120", idle_mb < 120)
    whole = code == 0 and len(last.latencies) == 64 and not last.errors
    what = f"s to end with 64 calls in flight ({len(last.latencies)} answered, {last.errors} errors, exit {code})"
    share(what, ended, "< 25", whole and ended < 25)
    say(f"  MB at the end, with its workers {whole_mb:.0f}")


def machine() -> str:
    """What it was measured on, in one line."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.machine(),
    )
    return f"{os.cpu_count()} cores of {model}, Linux {platform.release()}, Python {platform.python_version()}"


def write(path: Path) -> None:
    """The figures as a document."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    head = f"""# Benchmarks

Written by `make bench` on {day}: {machine()}. Server, load and remotes share that machine, so
shares within one run say more than absolute figures. What each line means is said in `tests/bench/latency.py`; the
targets are those of the project's own list.
"""
    path.write_text(head + "\n```text\n" + "\n".join(_said).strip("\n") + "\n```\n")


async def _up(port: int) -> None:
    while True:
        try:
            await (await trio.open_tcp_stream("127.0.0.1", port)).aclose()
            return
        except OSError:
            await trio.sleep(0.05)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.latency", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each measurement")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the figures into this document as well")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        trio.run(bench, options.seconds, Path(directory) / "server")
    if options.write is not None:
        write(options.write)


if __name__ == "__main__":
    main()
