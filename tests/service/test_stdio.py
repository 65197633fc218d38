"""MCP over the standard streams, as a child process under the SDK's own client and as raw pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from service import stdio
from service.pipes import Pipes, prints_on_stderr, private_pipes
from service.stdio import Lines, Writer

COMMAND = ["-m", "tests.service.child", "stdio", "1"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_lists_the_tools_and_calls_them(mode: Any, tmp_path: Path) -> None:
    parameters = StdioServerParameters(command=sys.executable, args=COMMAND, env=dict(os.environ))
    with (tmp_path / "stderr").open("w+") as errors, trio.fail_after(20):
        async with Client(stdio_client(parameters, errlog=errors), mode=mode) as client:
            listed = await client.list_tools()
            plain = await client.call_tool("web_search", {"query": "q"})
            noisy = await client.call_tool("web_search", {"query": "prints"})
        errors.seek(0)
        told = errors.read()

    assert "web_search" in [tool.name for tool in listed.tools]
    assert not plain.is_error
    assert not noisy.is_error
    # What libraries, C code and child processes print lands on stderr, and the client saw nothing of it.
    assert "a library prints" in told
    assert "a C library prints" in told
    assert "a child process prints" in told
    assert "EXIT CLEAN" in told


def call(number: int, query: str) -> dict[str, Any]:
    params = {"name": "web_search", "arguments": {"query": query}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@asynccontextmanager
async def child() -> AsyncIterator[trio.Process]:
    """A server that has answered the handshake."""
    process = await trio.lowlevel.open_process(
        [sys.executable, *COMMAND],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # With it C code keeps nothing back either.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    try:
        with trio.fail_after(20):
            await say(process, HELLO)
            assert b'"research-mcp"' in await hear(process)
            yield process
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            await stream.aclose()
        await process.wait()


async def say(process: trio.Process, *messages: dict[str, Any]) -> None:
    assert process.stdin is not None
    await process.stdin.send_all(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


async def hear(process: trio.Process) -> bytes:
    assert process.stdout is not None
    return bytes(await process.stdout.receive_some(65536))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_cleanly_amid_a_call(number: signal.Signals) -> None:
    async with child() as process:
        await say(process, call(1, "forever"))
        process.send_signal(number)

        assert await process.wait() == 0
        assert process.stderr is not None
        assert b"EXIT CLEAN" in await all_of(process.stderr)


async def test_the_end_of_its_input_ends_it_cleanly_amid_a_call() -> None:
    async with child() as process:
        await say(process, call(1, "forever"))
        assert process.stdin is not None
        await process.stdin.aclose()

        assert await process.wait() == 0


async def test_every_line_it_writes_until_its_end_is_json_rpc() -> None:
    async with child() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        await process.stdin.send_all(b"not json\n\n[]\n")
        await say(process, call(1, "prints"), call(2, "q"))
        received = b""
        while not {1, 2} <= {message.get("id") for message in messages(received)}:
            received += await hear(process)
        await process.stdin.aclose()
        received += await all_of(process.stdout)
        told = await all_of(process.stderr)

    found = messages(received)
    assert received.endswith(b"\n")
    assert {message["jsonrpc"] for message in found} == {"2.0"}
    assert [message["result"]["isError"] for message in found if message.get("id") in (1, 2)] == [False, False]
    assert b"a C library prints late" in told


def messages(received: bytes) -> list[dict[str, Any]]:
    """The whole lines among these bytes."""
    return [json.loads(line) for line in received.split(b"\n")[:-1]]


async def test_it_ends_when_its_client_is_killed() -> None:
    client = (
        "import subprocess, sys; server = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1); "
        "print(server.pid, flush=True); server.wait()"
    )
    with trio.fail_after(20):
        process = await trio.lowlevel.open_process(
            [sys.executable, "-c", client, sys.executable, *COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        assert await hear(process)
        process.kill()
        # The server tells of its end through what it has inherited.
        told = await all_of(process.stderr)
        await process.wait()
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        await stream.aclose()

    assert b"EXIT CLEAN" in told


async def test_a_client_that_stops_reading_and_leaves_does_not_hold_it() -> None:
    async with child() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        await process.stdout.aclose()
        await say(process, call(1, "q"))
        await process.stdin.aclose()

        assert await process.wait() == 0


async def all_of(stream: trio.abc.ReceiveStream) -> bytes:
    return b"".join([bytes(chunk) async for chunk in stream])


# --- lines ----------------------------------------------------------------------------------------------------------


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """The ends of a pipe; whoever uses one closes it."""
    yield os.pipe()


async def lines_of(*chunks: bytes) -> list[str]:
    """What comes out as lines when these chunks go in one after the other."""
    found: list[str] = []
    with pipe() as (source, sink):

        async def write() -> None:
            async with trio.lowlevel.FdStream(sink) as stream:
                for chunk in chunks:
                    await stream.send_all(chunk)
                    await trio.testing.wait_all_tasks_blocked()

        async with Lines(source) as lines, trio.open_nursery() as nursery:
            nursery.start_soon(write)
            found += [line async for line in lines]
    return found


async def test_lines_come_whole_however_they_were_cut() -> None:
    assert await lines_of(b"one\ntw", b"o\nthree", b"\n", b"\nlast") == ["one", "two", "three", "", "last"]
    assert await lines_of(b"one\n", b"  \n ") == ["one", "  "]
    assert await lines_of("é\n".encode()[:1], "é\n".encode()[1:]) == ["é"]
    assert await lines_of(b"\xff\n") == ["\ufffd"]


async def test_a_line_without_end_is_given_up_and_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_LINE_BYTES", 10)

    assert await lines_of(b"x" * 20, b"x" * 20, b"y\n", b"next\n") == ["?" + "y", "next"]


async def test_a_writer_outlives_its_reader() -> None:
    source, sink = os.pipe()
    async with Writer(sink) as writer:
        await writer.write("é\ud800\n")
        assert os.read(source, 100) == "é?\n".encode()
        os.close(source)

        await writer.write("nobody reads this")
        await writer.flush()


def test_the_standard_streams_are_put_back(capfd: pytest.CaptureFixture[str]) -> None:
    with private_pipes() as pipes:
        os.write(1, b"stray\n")
        assert os.read(0, 10) == b""
        os.write(pipes.sink, b"ours\n")
        os.close(pipes.source)
        os.close(pipes.sink)
    os.write(1, b"afterwards\n")

    told = capfd.readouterr()

    assert told.out == "ours\nafterwards\n"
    assert told.err == "stray\n"


def test_prints_from_before_the_settings_are_read_land_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with prints_on_stderr():
        os.write(1, b"a library is imported\n")
    os.write(1, b"afterwards\n")

    told = capfd.readouterr()

    assert (told.out, told.err) == ("afterwards\n", "a library is imported\n")


def test_a_program_without_streams_starts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def dup(_descriptor: int) -> int:
        raise OSError("bad file descriptor")

    monkeypatch.setattr(os, "dup", dup)

    with prints_on_stderr():
        started = True

    assert started


# --- in this process, for what a child hides ------------------------------------------------------------------------


@pytest.mark.parametrize("by_signal", [True, False])
async def test_it_serves_in_this_process_too(monkeypatch: pytest.MonkeyPatch, by_signal: bool) -> None:
    from tests.service.desk import Bench

    incoming, outgoing = os.pipe(), os.pipe()
    monkeypatch.setattr(stdio, "settle_garbage_collector", lambda: None)
    monkeypatch.setattr("service.server.start_watchdog", lambda _: None)
    os.write(incoming[1], json.dumps(HELLO).encode() + b"\n")

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stdio.serve_stdio, Bench().server, Pipes(incoming[0], outgoing[1]))
            async with trio.lowlevel.FdStream(outgoing[0]) as answers:
                assert b'"research-mcp"' in bytes(await answers.receive_some(65536))
                if by_signal:
                    signal.raise_signal(signal.SIGTERM)
                else:
                    os.close(incoming[1])
    if by_signal:
        os.close(incoming[1])
