"""The Inspector's command line lists and calls every tool, over both transports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance._suite import programs
from tests.e2e._stage import FakenetProcess, bare_environment, server_process

pytestmark = pytest.mark.conformance

# What the Inspector ends with where a tool is missing or answers with an error.
TOOL_FAILED = 5

Arguments = Mapping[str, Any]


def calls_of_research(web: str) -> dict[str, Arguments]:
    return {
        "web_search": {"query": "type k", "num_results": 2},
        "web_search_images": {"query": "type k"},
        "search_and_read": {"query": "type k", "num_results": 1},
        "read_page": {"url": f"{web}/article/type-k/1"},
        "read_pages": {"urls": [f"{web}/article/a/1", f"{web}/article/b/2"]},
    }


def calls_of_retrieval(web: str) -> dict[str, Arguments]:
    return {
        "web_search": {"queries": ["type k", "type n"], "max_results": 2},
        "web_search_images": {"queries": ["type k"]},
        "web_scrape": {"urls": [f"{web}/article/type-k/1"], "remove_links": True},
    }


CALLS: Mapping[str, Callable[[str], dict[str, Arguments]]] = {
    "research": calls_of_research,
    "retrieval": calls_of_retrieval,
}
"""One call of each tool of each toolset; `web` is a site of the fake internet."""


@dataclass(frozen=True)
class Inspector:
    """The command line on one server. target: its address, or the words that start it over stdio.

    eras: the eras of the protocol to speak with it; one is enough where each word takes a server of its own.
    """

    target: tuple[str, ...]
    toolset: str
    web: str
    eras: tuple[str, ...]

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        command = [str(programs() / "mcp-inspector"), "--cli", *self.target, *options, "--format", "json"]
        environment = os.environ | {"HOME": os.environ["INSPECTOR_HOME"]}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    def call(self, tool: str, arguments: Arguments) -> subprocess.CompletedProcess[str]:
        pairs = [f"{name}={each if isinstance(each, str) else json.dumps(each)}" for name, each in arguments.items()]
        return self.run("--method", "tools/call", "--tool-name", tool, "--tool-arg", *pairs)


@pytest.fixture(scope="module", params=[f"{toolset} over {way}" for toolset in CALLS for way in ("http", "stdio")])
def inspector(
    request: pytest.FixtureRequest,
    variables: dict[str, str],
    internet: FakenetProcess,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Inspector]:
    toolset, _, transport = request.param.partition(" over ")
    directory = tmp_path_factory.mktemp(transport)
    settings = variables | {"TOOLSET": toolset}
    if transport == "http":
        with server_process(settings, directory) as server:
            yield Inspector((server.mcp_url,), toolset, internet.urls["web"], ("legacy", "modern"))
        return
    yield Inspector(stdio_command(settings, directory), toolset, internet.urls["web"], ("auto",))


def stdio_command(settings: Mapping[str, str], directory: Path) -> tuple[str, ...]:
    given = [("-e", f"{name}={value}") for name, value in {**bare_environment(directory), **settings}.items()]
    command = (sys.executable, "-m", "service", "serve", "--stdio")
    return (*command, "--cwd", str(directory), *(word for pair in given for word in pair))


def result_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["result"]
    return found


def test_every_tool_is_listed_with_a_schema_that_every_client_can_use(inspector):
    for era in inspector.eras:
        done = inspector.run("--method", "tools/list", "--strict", "--protocol-era", era)

        tools = {tool["name"]: tool for tool in result_of(done)["tools"]}
        assert tools.keys() == CALLS[inspector.toolset](inspector.web).keys()
        assert all(tool["description"] and tool["outputSchema"] for tool in tools.values())


def test_every_tool_answers_a_call(inspector):
    calls = CALLS[inspector.toolset](inspector.web)
    for tool, arguments in calls.items():
        result = result_of(inspector.call(tool, arguments))

        assert not result.get("isError")
        assert result["content"][0]["text"]
        assert result["structuredContent"]

    refused = inspector.call(next(iter(calls)), {"no_such_argument": "x"})

    assert refused.returncode == TOOL_FAILED
    assert json.loads(refused.stdout)["result"]["isError"]
