"""Every example in the README and in docs/, run as far as it can be, and else held to what it talks about."""

from __future__ import annotations

import base64
import configparser
import json
import re
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml
from mcp import Client, StdioServerParameters

from actors.statistics import absent
from providers._contract import Role
from service import cli
from service.instances import build
from service.settings import ROUTES, Settings, load_settings
from tests.docs._blocks import ROOT, Block, all_blocks, blocks, documents
from tests.e2e._stage import bare_environment

EXAMPLE = set(re.findall(r"^# ([A-Z][A-Z0-9_]*)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
SOURCES = "\n".join(
    file.read_text() for folder in ("service", "actors", "providers") for file in ROOT.glob(f"{folder}/*.py")
)
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
HTTP_URL = "http://127.0.0.1:8000/mcp"


def settings(**variables: str) -> Settings:
    """Settings of these variables alone, whatever `.env` there is."""
    return load_settings(variables, ROOT / ".env.example")


def test_every_block_is_of_a_kind_that_is_checked_here() -> None:
    assert {block.language for block in all_blocks()} <= {"sh", "json", "env", "ini", "promql", "python", ""}


@pytest.mark.parametrize("file", documents())
def test_every_link_between_documents_leads_somewhere(file: str) -> None:
    text = (ROOT / file).read_text()
    for target in re.findall(r"\]\((?!https?://)([^)]+)\)", text):
        path, _, anchor = target.partition("#")
        place = (ROOT / file).parent / path if path else ROOT / file
        assert place.exists(), target
        headings = re.findall(r"^#+ (.+)$", place.read_text(), re.MULTILINE) if anchor else []
        assert not anchor or anchor in [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in headings]


@pytest.mark.parametrize("file", documents())
def test_every_file_that_is_named_is_there(file: str) -> None:
    named = re.findall(r"`((?:service|actors|providers|tests|deploy|docs)/[\w/.-]+)`", (ROOT / file).read_text())
    made_by_readers = re.compile(r".*(NAME|acme)|deploy/traefik/users$")

    assert [name for name in named if not made_by_readers.match(name) and not (ROOT / name).exists()] == []


# --- shell ------------------------------------------------------------------------------------------------------------


def commands(block: Block) -> Iterator[list[str]]:
    """The simple commands of a block, as words; loops and the like are left to `bash -n`."""
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        if words and (words[0] in ("make", "docker", "curl", "claude", "cp") or words[0].endswith("research-mcp")):
            yield words


@pytest.mark.parametrize("block", all_blocks("sh"), ids=str)
def test_a_shell_understands_it_and_what_it_calls_is_there(block: Block) -> None:
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
    for words in commands(block):
        match words:
            case ["make", target, *_]:
                assert target in TARGETS
            case ["docker", "compose", *rest]:
                check_compose(rest)
            case ["curl", *_, url]:
                assert url.removeprefix("http://127.0.0.1:8000") in ROUTES
            case ["claude", "mcp", "add", *rest]:
                check_claude(rest)
            case ["cp", source, _]:
                assert (ROOT / source).exists()
            case [program, *rest] if program.endswith("research-mcp"):
                check_command_line(rest)


def check_compose(words: list[str]) -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    profiles = {name for service in services.values() for name in service.get("profiles", ())}
    for option, value in pairwise(words):
        assert option != "-f" or (ROOT / value).is_file()
        assert option != "--profile" or value in profiles


def check_claude(words: list[str]) -> None:
    if "--" in words:
        check_command_line(words[words.index("--") + 2 :])
    else:
        assert any(word.endswith("/mcp") for word in words)


def check_command_line(words: list[str]) -> None:
    """Ends the test where the command line would complain."""
    cli._parser().parse_args(cli._with_command(words))


def test_the_backup_that_deploying_names_is_whole(tmp_path: Path) -> None:
    (line,) = [
        line for block in blocks("docs/deploying.md", "sh") for line in block.text.splitlines() if "sqlite3" in line
    ]
    (tmp_path / "data").mkdir()
    with sqlite3.connect(tmp_path / "data/quota.sqlite3") as store:
        store.execute("CREATE TABLE used (units)")
        store.execute("INSERT INTO used VALUES (7)")
    store.close()

    program = shlex.split(line)
    subprocess.run([sys.executable, *program[1:]], cwd=tmp_path, check=True)

    copy = sqlite3.connect(tmp_path / "quota-copy.sqlite3")
    assert copy.execute("SELECT units FROM used").fetchall() == [(7,)]
    copy.close()


@pytest.mark.system("openssl")
def test_the_line_for_a_user_is_one_that_traefik_reads(tmp_path: Path) -> None:
    (line,) = [
        line for block in blocks("docs/deploying.md", "sh") for line in block.text.splitlines() if "printf" in line
    ]
    (tmp_path / "deploy/traefik").mkdir(parents=True)

    subprocess.run(["bash", "-c", line.replace("-apr1", "-apr1 secret")], cwd=tmp_path, check=True)

    assert re.fullmatch(r"research:\$apr1\$[^:$]+\$[^:$]+\n", (tmp_path / "deploy/traefik/users").read_text())


def test_the_header_that_deploying_shows_is_that_user_and_password() -> None:
    text = (ROOT / "docs/deploying.md").read_text()

    assert f"Basic {base64.b64encode(b'research:secret').decode()}" in text


# --- settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", all_blocks("env"), ids=str)
def test_the_variables_exist_and_their_values_are_valid(block: Block) -> None:
    variables = dict(line.split("=", 1) for line in block.text.splitlines())

    assert set(variables) <= EXAMPLE
    build(settings(**variables))


def test_the_unit_of_systemd_starts_the_command_with_variables_that_exist() -> None:
    (block,) = all_blocks("ini")
    unit = configparser.ConfigParser(delimiters="=", interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(block.text)
    _, *words = unit["Service"]["ExecStart"].split()
    variables = dict(pair.split("=", 1) for pair in unit["Service"]["Environment"].split())

    check_command_line(words)
    assert set(variables) <= EXAMPLE
    assert settings(**variables).ledger_url == "sqlite:quota.sqlite3"
    assert int(unit["Service"]["TimeoutStopSec"]) > 25


# --- clients ----------------------------------------------------------------------------------------------------------


def client_configs() -> list[dict[str, Any]]:
    """The servers of all client configurations in the README."""
    found = []
    for block in blocks("README.md", "json"):
        value = json.loads(block.text)
        for servers in (value.get("mcpServers"), value.get("servers")):
            found += list((servers or {}).values())
    return found


def test_configurations_over_http_lead_to_where_the_server_listens_by_default() -> None:
    urls = [config["url"] for config in client_configs() if "url" in config]
    default = settings()

    assert len(urls) == 2
    assert set(urls) == {HTTP_URL} == {f"http://{default.mcp_host}:{default.mcp_port}{default.mcp_path}"}


@pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning")
async def test_the_configuration_of_a_desktop_client_starts_a_server_that_answers(tmp_path: Path) -> None:
    (config,) = [config for config in client_configs() if "command" in config]
    (tmp_path / ".env").write_text("HELP_LANGUAGE=ru\nEXTRACT_WORKERS=1\n")
    (tmp_path / "data").mkdir()

    def placed(text: str) -> str:
        return text.replace("/path/to/research-mcp", str(tmp_path))

    assert config["command"].endswith("/.venv/bin/research-mcp")
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "service", *map(placed, config["args"])],
        env=bare_environment(tmp_path) | {name: placed(value) for name, value in config["env"].items()},
        cwd=tmp_path,
    )
    with trio.fail_after(30):
        async with Client(parameters) as client:
            tools = (await client.list_tools()).tools

    assert "Поиск" in (tools[0].description or "")
    assert {file.name for file in (tmp_path / "data").iterdir()} >= {"research-mcp.log", "quota.sqlite3"}


# --- operating --------------------------------------------------------------------------------------------------------


def test_the_example_of_stats_has_the_fields_of_stats() -> None:
    (block,) = blocks("docs/operating.md", "json")
    shown = json.loads(block.text)
    real = asdict(absent("brave", "brave", [Role.SEARCH, Role.IMAGES], "running"))
    calls = shown["calls"]

    assert list(shown) == list(real)
    for name, value in real.items():
        assert not isinstance(value, dict) or list(shown[name]) == list(value), name
    outcomes = [calls["ok"], calls["empty"], calls["late"], *calls["failed"].values(), *calls["skipped"].values()]
    assert calls["total"] == sum(outcomes)
    assert shown["quota"]["limit"] - shown["quota"]["used"] == shown["quota"]["remaining"]
    assert shown["mailbox"]["capacity"] == 2 * shown["workers"]


def test_every_event_worth_an_alert_is_one_that_is_logged() -> None:
    text = (ROOT / "docs/operating.md").read_text().split("| event | meaning |", 1)[1].split("\n\n", 1)[0]
    events = re.findall(r"`(\w+)`", text)

    assert len(events) > 5
    assert all(f'"{event}"' in SOURCES for event in events)


@pytest.mark.parametrize("block", all_blocks("promql"), ids=str)
def test_every_metric_that_is_asked_for_is_exported(block: Block) -> None:
    names = [name.removesuffix("_total") for name in re.findall(r"research_mcp_(\w+)", block.text)]

    assert names
    assert all(f'"{name}"' in (ROOT / "service/metrics.py").read_text() for name in names)
