"""The command line: what each word does, and what is said and returned when it does not work."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import service.runtime
import service.serving
import service.version
from service import cli
from service.__main__ import main
from service.calling import Answer, Tool
from service.redact import Redactor
from service.server import CannotListen
from service.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("MCP_PORT", "MCP_HOST", "MCP_TRANSPORT", "SEARXNG_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings that `serve` was started with."""
    found: list[Settings] = []

    async def serve(settings: Settings, *_more: object) -> None:
        found.append(settings)

    monkeypatch.setattr(service.serving, "serve", serve)
    return found


@dataclass
class FakeService:
    """Answers each call alike and keeps what was asked."""

    answer: Answer
    calls: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def run(self, tool: Tool, given: Mapping[str, Any]) -> Answer:
        self.calls.append((tool.name, given))
        return self.answer


@dataclass
class FakeRuntime:
    service: FakeService
    redactor: Redactor


def answering(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> FakeService:
    fake = FakeService(answer)

    @asynccontextmanager
    async def open_runtime(settings: Settings) -> AsyncIterator[FakeRuntime]:
        yield FakeRuntime(fake, Redactor(settings.secrets))

    monkeypatch.setattr(service.runtime, "open_runtime", open_runtime)
    return fake


# --- serve ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["serve"]])
def test_without_a_word_it_serves_over_http(arguments: list[str], served: list[Settings]) -> None:
    assert cli.run(arguments) == 0
    assert [(each.mcp_transport, each.mcp_host, each.mcp_port) for each in served] == [("http", "127.0.0.1", 8000)]


def test_options_of_serve_come_before_the_environment_also_without_the_word(
    served: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_PORT", "9000")
    cli.run(["--stdio"])
    cli.run(["serve", "--host", "0.0.0.0", "--port", "0"])

    assert [(each.mcp_transport, each.mcp_host, each.mcp_port) for each in served] == [
        ("stdio", "127.0.0.1", 9000),
        ("http", "0.0.0.0", 0),
    ]


def test_another_settings_file_is_read_where_it_is_named(tmp_path: Path, served: list[Settings]) -> None:
    (tmp_path / "other.env").write_text("MCP_NAME=other\n")

    assert cli.run(["--env-file", "other.env"]) == 0
    assert served[0].mcp_name == "other"


def test_a_missing_settings_file_is_one_sentence_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--env-file", "no.env"]) == 2
    assert capsys.readouterr().err == (
        "research-mcp: the settings file no.env cannot be read: No such file or directory\n"
    )


def test_a_wrong_setting_is_one_sentence_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCP_PORT", "eighty")

    assert cli.run([]) == 2
    captured = capsys.readouterr()
    assert captured.err == "research-mcp: MCP_PORT must be a whole number from 1 to 65535\n"
    assert captured.out == ""


def test_a_wrong_variable_of_an_instance_is_one_sentence_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DUCKDUCKGO_RATE", "often")

    assert cli.run(["search", "x"]) == 2
    assert capsys.readouterr().err == "research-mcp: DUCKDUCKGO_RATE must be a rate such as 1/45s or 60/m, or none\n"


def test_a_sentence_about_settings_that_comes_while_starting_is_shown_as_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DUCKDUCKGO_ENABLED", "false")

    assert cli.run(["search", "x"]) == 2
    assert capsys.readouterr().err.startswith("research-mcp: no search instance is enabled")


def test_an_address_that_cannot_be_listened_on_is_one_sentence_and_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def serve(_settings: Settings, *_more: object) -> None:
        raise CannotListen("port 8000 of 127.0.0.1 is in use")

    monkeypatch.setattr(service.serving, "serve", serve)

    assert cli.run([]) == 1
    assert capsys.readouterr().err == "research-mcp: port 8000 of 127.0.0.1 is in use\n"


def test_a_crash_goes_to_the_log_without_secrets_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MCP_BEARER_TOKEN", "canary-token")

    async def serve(settings: Settings, *_more: object) -> None:
        raise RuntimeError(f"broken by {settings.mcp_bearer_token}")

    monkeypatch.setattr(service.serving, "serve", serve)

    assert cli.run([]) == 1
    logged = (tmp_path / "data/research-mcp.log").read_text()
    assert json.loads(logged)["event"] == "crashed"
    assert "broken by [redacted]" in logged
    captured = capfd.readouterr()
    assert "broken by [redacted]" in captured.err
    assert "canary-token" not in captured.err + captured.out + logged


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(_settings: Settings, *_more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(service.serving, "serve", serve)

    assert cli.run([]) == 130


@pytest.mark.parametrize(
    "arguments",
    [
        ["--port", "70000"],
        ["--port", "-1"],
        ["--port", "\u0661"],
        ["--host", "a b"],
        ["frobnicate"],
        ["search"],
        ["read"],
        ["search", "a", "b"],
        ["--stdi"],
        ["search", "--port", "1", "x"],
    ],
)
def test_wrong_usage_is_said_by_the_parser_and_ends_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.run(arguments)

    assert caught.value.code == 2
    assert "usage: research-mcp" in capsys.readouterr().err


def test_a_port_in_use_is_one_clear_sentence_of_the_real_program(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-m", "service", "serve", "--port", str(port)],
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert [line for line in lines if f"port {port} of 127.0.0.1 is in use" in line] == lines


# --- search and read --------------------------------------------------------------------------------------------------


def test_a_search_prints_the_tools_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fake = answering(monkeypatch, Answer("1. **Title**\nhttps://example.com/ ü", {"results": []}))

    assert cli.run(["search", "type k thermocouple"]) == 0
    assert fake.calls == [("web_search", {"query": "type k thermocouple"})]
    captured = capsys.readouterr()
    assert captured.out == "1. **Title**\nhttps://example.com/ ü\n"
    assert captured.err == ""


def test_a_page_is_printed_as_json_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = answering(monkeypatch, Answer("text", {"url": "https://example.com/", "title": "Ü"}))

    assert cli.run(["read", "--json", "https://example.com/"]) == 0
    assert fake.calls == [("read_page", {"url": "https://example.com/"})]
    assert json.loads(capsys.readouterr().out) == {"url": "https://example.com/", "title": "Ü"}


def test_a_failure_goes_to_stderr_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answering(monkeypatch, Answer("every query failed", None, is_error=True))

    assert cli.run(["search", "x"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "research-mcp: every query failed\n"
    assert captured.out == ""


def test_a_failure_still_prints_the_structured_answer_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answering(monkeypatch, Answer("not found", {"status": "failed"}, is_error=True))

    assert cli.run(["read", "https://example.com/", "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"status": "failed"}
    assert captured.err == "research-mcp: not found\n"


def test_a_reader_of_stdout_that_has_gone_gets_the_rest_of_it_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w", encoding="utf-8") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        cli._print("x" * 100_000)
        cli._print("more")
        monkeypatch.undo()


def test_the_program_does_not_complain_of_a_reader_that_has_gone(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-c", "from service.cli import _print; _print('x' * 100000)"],
        env={"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)

    assert (ended.returncode, ended.stderr) == (0, b"")


# --- the rest ---------------------------------------------------------------------------------------------------------


def test_the_version_is_that_of_the_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(service.version, "version", lambda name: {"research-mcp": "1.2.3"}[name])

    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == "research-mcp 1.2.3\n"


def test_a_folder_that_was_never_installed_has_version_0(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise service.version.PackageNotFoundError(name)

    monkeypatch.setattr(service.version, "version", missing)

    assert service.version.own_version() == "0"


def test_main_ends_the_process_with_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["research-mcp", "--version"])

    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 0


def test_importing_the_entry_point_imports_nothing_of_ours() -> None:
    program = (
        "import sys, service.__main__; print([name for name in sys.modules if name.startswith(('service.', 'trio'))])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )

    assert ended.stdout == "['service.__main__']\n"


def test_standard_descriptors_that_came_closed_lead_nowhere():
    claim = (
        "import os; from service.cli import fill_standard_descriptors as fill; fill(); fill();"
        "assert [os.readlink(f'/proc/self/fd/{number}') for number in (0, 2)] == [os.devnull] * 2;"
        "print(os.readlink('/proc/self/fd/1')[:5])"
    )
    closing = ["sh", "-c", 'exec "$0" "$@" <&- 2>&-']

    done = subprocess.run([*closing, sys.executable, "-c", claim], cwd=ROOT, stdout=subprocess.PIPE, text=True)

    assert (done.returncode, done.stdout) == (0, "pipe:\n")


def test_closed_descriptor_is_opened_and_open_ones_are_left_alone(monkeypatch):
    opened = []

    def fstat(number: int) -> None:
        if number == 2:
            raise OSError(9, "Bad file descriptor")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", fstat)
        patch.setattr(os, "open", lambda path, flags: opened.append(path))
        cli.fill_standard_descriptors()

    assert opened == [os.devnull]
