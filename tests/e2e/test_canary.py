"""A canary for each secret, carried through the faults of every remote at LOG_LEVEL=DEBUG, sings in no output."""

from __future__ import annotations

import html
import json
import subprocess
import sys
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

import httpx
import httpx2
import pytest
import trio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from providers._contract import Role
from service.instances import variable_names
from service.table import TABLE, Instance
from tests.e2e._stage import FakenetProcess, ServerProcess, bare_environment, server_process

# The SDK's client leaves generators half read when a stream ends; nothing of ours does.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning")

VIDEO = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
PUBLIC = "http://8.8.8.8/article"
ECHO_PATH = "/article/echo/1"
TOKEN = "MCP_BEARER_TOKEN"
LOGINS = ("authorization", "proxy-authorization")

# Runs the command line as if nobody had told it of any secret, by value or by pattern.
BLIND = """
from service import redact
redact.Redactor.known = redact.Redactor.text = lambda self, value: value
from service.__main__ import main
main()
"""


# --- the canaries -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Aviary:
    """A server's variables with a canary in each secret of the table. canaries: by variable."""

    environment: dict[str, str]
    canaries: dict[str, str]

    def spellings(self) -> dict[str, str]:
        return {spelling: name for name, canary in self.canaries.items() for spelling in spellings(canary)}

    def heard(self, text: str) -> set[str]:
        """Variables whose canary is in `text`, in any spelling."""
        return {name for spelling, name in self.spellings().items() if spelling in text}


def spellings(canary: str) -> set[str]:
    """What becomes of a secret on its way, worked out apart from service/redact.py."""
    raw = canary.encode()
    # Whatever stands before, base64 of the inner characters is one of three; the first and last depend on neighbours.
    cores = {b64encode(bytes(before) + raw).decode()[4:-4] for before in range(3)}
    quoted = {quote(canary), quote(canary, safe=""), quote_plus(canary)}
    found = {canary, html.escape(canary), raw.hex(), json.dumps(canary)[1:-1], *quoted, *cores}
    return found | {each.lower() for each in quoted} | {each.replace("+", "-").replace("/", "_") for each in cores}


def aviary(net: FakenetProcess) -> Aviary:
    """Every instance that fakenet serves, with a canary in its keys, or in its addresses' logins where it has none."""
    environment, canaries = dict(net.environment), {}
    for number, instance in enumerate(TABLE):
        secrets = [variable for variable in keys(instance) if variable in environment]
        for variable in secrets:
            canaries[variable] = environment[variable] = canary(len(canaries))
        addresses = [name for name in variable_names(instance) if is_address(environment.get(name, ""))]
        for variable in [] if secrets else addresses:
            canaries[variable] = canary(len(canaries))
            environment[variable] = with_login(environment[variable], f"user{number}", canaries[variable])
        environment[f"{instance.prefix}_RATE"] = "none"
    canaries[TOKEN] = environment[TOKEN] = canary(len(canaries))
    environment |= {"LOG_LEVEL": "DEBUG", "RETRIES": "0", "REQUEST_TIMEOUT": "3"}
    return Aviary(environment, canaries)


def aviary_behind_proxies(net: FakenetProcess, proxy: str) -> Aviary:
    """As `aviary`, and every instance has a proxy and every address a login, with a canary in each.

    No instance is there that another steps aside for: the one that steps aside has the rotating proxy.
    """
    birds = aviary(net)
    environment, canaries = birds.environment, birds.canaries
    host, _, port = proxy.partition("://")[2].partition(":")
    canaries["PROXY_PASSWORD"] = environment["PROXY_PASSWORD"] = canary(len(canaries))
    environment |= {"PROXY_SCHEME": "http", "PROXY_HOST": host, "PROXY_PORT": port, "PROXY_LOGIN": "rotating"}
    avoided = {instance.steps_aside_for for instance in TABLE}
    environment |= {f"{instance.prefix}_ENABLED": "false" for instance in TABLE if instance.name in avoided}
    for instance in TABLE:
        options = [value.variable for value in instance.options if value.kind == "proxy"]
        own = [] if instance.scrapes else [f"{instance.prefix}_PROXY"]
        environment |= dict.fromkeys(own + options, proxy)
        addresses = [name for name in variable_names(instance) if is_address(environment.get(name, ""))]
        for variable in [name for name in addresses if name not in canaries]:
            canaries[variable] = canary(len(canaries))
            environment[variable] = with_login(environment[variable], "someone", canaries[variable])
    return birds


def keys(instance: Instance) -> list[str]:
    return [value.variable for value in instance.needs + instance.options if value.kind == "secret"]


def asked(birds: Aviary, role: Role) -> list[Instance]:
    """Whom a call of this role reaches when everybody fails; a final reader's targets are not at hand here."""
    able = [each for each in TABLE if role in each.roles and not each.final]
    return [each for each in able if birds.environment.get(f"{each.prefix}_ENABLED") != "false"]


def keys_of(birds: Aviary, role: Role) -> set[str]:
    """Keys that such a call carries."""
    return {variable for each in asked(birds, role) for variable in keys(each) if variable in birds.canaries}


def proxies_of(birds: Aviary, role: Role) -> set[str]:
    """Variables with the logins of the proxies that such a call goes through."""
    return {"PROXY_PASSWORD" if each.scrapes else f"{each.prefix}_PROXY" for each in asked(birds, role)}


def canary(number: int) -> str:
    """Every spelling of it differs from the others, and none is short enough to be found by chance."""
    return f"Kn4r+{number:03}/sings&in=the<mine>{number * 7919:06}"


def is_address(value: str) -> bool:
    return urlsplit(value).scheme in ("http", "https")


def with_login(url: str, user: str, password: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{user}:{quote(password, safe='')}@{rest}"


# --- the faults -------------------------------------------------------------------------------------------------------


def echo(canaries: Iterable[str]) -> str:
    """A vendor's error that repeats what it was sent, in the usual places of an error."""
    said = " ".join(f"key {each} {quote(each, safe='')} {b64encode(each.encode()).decode()}" for each in canaries)
    parts = dict.fromkeys(("message", "detail", "description", "error_description", "title", "code", "type"), said)
    return json.dumps({**parts, "error": parts, "errors": [parts], "success": False})


def faults(echoed: str) -> list[tuple[str, dict[str, Any]]]:
    """Fewer in a row than open a breaker, and the refusal of the key last: after it nobody asks again."""
    json_type = "application/json"
    return [
        ("body", {"text": echoed}),
        ("reset_before_answer", {}),
        ("status", {"code": 500, "body": echoed, "content_type": json_type, "x_request_key": "none"}),
        ("status", {"code": 401, "body": echoed, "content_type": json_type}),
    ]


def play_everywhere(net: FakenetProcess, fault: str, arguments: Mapping[str, Any]) -> None:
    for remote in net.urls:
        net.play(remote, fault, **arguments)


def page_that_echoes(echoed: str) -> str:
    paragraphs = "".join(
        f"<p>A paragraph that tells of thermocouples, and says: {html.escape(echoed)}</p>" for _ in "ab"
    )
    return f"<!doctype html><title>Echo</title><article><h1>Echo</h1>{paragraphs}</article>"


# --- the outputs ------------------------------------------------------------------------------------------------------


async def drive(net: FakenetProcess, server: ServerProcess, birds: Aviary) -> dict[str, str]:
    """Searches and reads through every fault. Answers and progress messages, by what was done."""
    heard: dict[str, str] = {}
    echoed = echo(birds.canaries.values())
    headers = {"authorization": f"Bearer {birds.canaries[TOKEN]}"}

    async def told(progress: float, total: float | None, message: str | None) -> None:
        heard["progress"] = heard.get("progress", "") + f"{message}\n"

    async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:  # noqa: SIM117 (one needs the other)
        async with Client(streamable_http_client(server.mcp_url, http_client=http)) as client:
            await client.list_tools()

            async def call(tool: str, arguments: dict[str, Any]) -> None:
                result = await client.call_tool(tool, arguments, progress_callback=told)
                said = result.model_dump_json()
                heard[f"{tool} {len(heard)}"] = f"{said}\n{json.dumps(result.structured_content)}"

            jobs = [
                ("web_search", {"query": f"type k {birds.canaries[TOKEN]}"}),
                ("read_page", {"url": f"{net.urls['web']}/article/type-k/1"}),
                ("read_page", {"url": VIDEO}),
            ]
            echoing = page_that_echoes(echoed)
            net.play("web", "body", text=echoing, content_type="text/html; charset=utf-8")
            await call("read_page", {"url": net.urls["web"] + ECHO_PATH})
            for fault, arguments in faults(echoed):
                net.control.post("/heal").raise_for_status()
                play_everywhere(net, fault, arguments)
                async with trio.open_nursery() as nursery:
                    for job in jobs:
                        nursery.start_soon(call, *job)
            async with httpx.AsyncClient(headers=headers, trust_env=False) as plain:
                for path in ("/stats", "/metrics", "/ops", "/readyz", "/healthz", "/mcp"):
                    heard[path] = (await plain.get(server.url + path)).text
    return heard


def sent(net: FakenetProcess) -> str:
    """All that reached the remotes since they last forgot; basic logins decoded."""
    requests = [request for remote in net.urls for request in net.requests(remote)]
    basic = [value for each in requests for name, value in pairs(each["headers"]) if name.lower() in LOGINS]
    decoded = [b64decode(value[6:]).decode() for value in basic if value.lower().startswith("basic ")]
    return json.dumps(requests) + " ".join(decoded)


def pairs(headers: Any) -> list[tuple[str, str]]:
    return list(headers.items()) if isinstance(headers, dict) else [tuple(pair) for pair in headers]


def command_line(arguments: list[str], birds: Aviary, directory: Path, *, is_blind: bool = False) -> dict[str, str]:
    """One command as a process; what it wrote, by where."""
    directory.mkdir()
    program = ["-c", BLIND] if is_blind else ["-m", "service"]
    done = subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=directory, env=bare_environment(directory) | birds.environment, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    return {"stdout": done.stdout, "stderr": done.stderr, **files(directory)}


def files(directory: Path) -> dict[str, str]:
    """Everything the process left on disk, its ledger included."""
    return {file.name: file.read_bytes().decode("utf-8", "replace") for file in directory.rglob("*") if file.is_file()}


def leaks(birds: Aviary, outputs: Mapping[str, str]) -> dict[str, set[str]]:
    """Variables whose canaries are in an output, by output."""
    return {name: found for name, text in outputs.items() if (found := birds.heard(text))}


# --- the claims -------------------------------------------------------------------------------------------------------


def test_no_canary_is_in_any_output_of_a_server_in_trouble(net, tmp_path):
    birds = aviary(net)
    with server_process(birds.environment, tmp_path / "server") as server:
        outputs = trio.run(drive, net, server, birds)
        carried = birds.heard(sent(net))
        server.stop()
    outputs |= files(tmp_path / "server")

    assert carried >= keys_of(birds, Role.SEARCH)
    assert {"progress", "/stats", "stderr.log", "research-mcp.log"} <= set(outputs)
    assert "provider_failed" in outputs["research-mcp.log"]
    # The page that says all secrets, the same as in the test of a command without redaction.
    assert outputs["read_page 0"].count("[redacted]") >= len(birds.canaries)
    assert "[redacted]" in outputs["research-mcp.log"]
    assert leaks(birds, outputs) == {}


def test_no_canary_is_in_any_output_of_a_search_through_proxies_in_trouble(net, tmp_path):
    birds = aviary_behind_proxies(net, net.urls["web"])
    net.play("web", "status", code=407, body=echo(birds.canaries.values()), content_type="application/json")

    outputs = command_line(["search", "type k"], birds, tmp_path / "search")

    assert birds.heard(sent(net)) >= proxies_of(birds, Role.SEARCH)
    assert "provider_failed" in outputs["research-mcp.log"]
    assert leaks(birds, outputs) == {}


def test_no_canary_is_in_any_output_of_a_read_by_other_parties(net, tmp_path):
    birds = aviary(net)
    # Nobody who fetches pages from here, so that an address of the real internet goes to fakes only.
    birds.environment.update({f"{each.prefix}_ENABLED": "false" for each in TABLE if each.reach == "direct"})
    refusal = {"body": echo(birds.canaries.values()), "content_type": "application/json"}
    play_everywhere(net, "status", {"code": 403, **refusal})

    outputs = command_line(["read", PUBLIC], birds, tmp_path / "read")

    assert birds.heard(sent(net)) >= keys_of(birds, Role.READ)
    assert leaks(birds, outputs) == {}


def test_fault_that_echoes_the_keys_leaks_when_redaction_knows_no_secrets(net, tmp_path):
    birds = aviary(net)
    echoed = page_that_echoes(echo(birds.canaries.values()))
    net.play("web", "body", text=echoed, content_type="text/html; charset=utf-8")
    read = ["read", net.urls["web"] + ECHO_PATH]

    blind = command_line(read, birds, tmp_path / "blind", is_blind=True)

    assert leaks(birds, blind)["stdout"] == set(birds.canaries)


@pytest.mark.parametrize(
    "spelt",
    [
        lambda text: text,
        lambda text: quote(text, safe=""),
        lambda text: quote(text).lower(),
        html.escape,
        lambda text: b64encode(f"user:{text}:more".encode()).decode(),
        lambda text: urlsafe_b64encode(f"a:{text}".encode()).decode(),
        lambda text: json.dumps({"a": text}),
    ],
)
def test_scan_finds_a_planted_canary_however_it_is_spelt(spelt):
    birds = Aviary({}, {"A_KEY": canary(1), "B_KEY": canary(2)})

    assert leaks(birds, {"log": f"said {spelt(canary(2))} at noon", "stdout": "nothing"}) == {"log": {"B_KEY"}}
