"""The compose files and what they mount: valid by the specification's schema, and each reference leads somewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import trio
import yaml

from tests.service.serverlab import serving

ROOT = Path(__file__).parents[2]
FILES = ("docker-compose.yml", "docker-compose.replicas.yml")
VARIABLE = re.compile(r"\$\{([A-Z][A-Z0-9_]*)[^}]*\}")


def load(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


def services() -> dict[str, dict[str, Any]]:
    """Both files' services, each as one mapping; the second file's entries come over the first's."""
    merged: dict[str, dict[str, Any]] = {}
    for name in FILES:
        for service, fields in load(name)["services"].items():
            base = merged.get(fields.get("extends", {}).get("service", service), {})
            merged[service] = base | {key: _joined(base.get(key), value) for key, value in fields.items()}
    return merged


def _joined(base: Any, value: Any) -> Any:
    if isinstance(base, dict) and isinstance(value, dict):
        return base | value
    return base + value if isinstance(base, list) and isinstance(value, list) else value


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_valid_by_the_compose_specifications_schema(name: str) -> None:
    schema = json.loads(files("check_jsonschema").joinpath("builtin_schemas/vendor/compose-spec.json").read_text())

    jsonschema.validate(load(name), schema)


@pytest.mark.parametrize("kind", ["networks", "volumes", "secrets"])
def test_every_network_volume_and_secret_is_declared_and_used(kind: str) -> None:
    declared = {name for file in FILES for name in load(file).get(kind, {})}
    used = set()
    for service in services().values():
        names = [entry.partition(":")[0] for entry in service.get(kind, ())]
        used |= {name for name in names if not name.startswith((".", "/"))}

    assert used == declared


def test_every_file_that_is_mounted_is_there_unless_the_operator_makes_it() -> None:
    mounted = {entry.partition(":")[0] for service in services().values() for entry in service.get("volumes", ())}
    paths = {entry for entry in mounted if entry.startswith(".")}
    ignored = (ROOT / ".gitignore").read_text().splitlines()

    assert len(paths) == 3
    assert all((ROOT / path).is_file() for path in paths)
    assert load("docker-compose.yml")["secrets"]["users"]["file"].removeprefix("./") in ignored


def test_whoever_is_waited_for_exists_and_has_a_health_check() -> None:
    merged = services()
    for service in merged.values():
        for other, condition in service.get("depends_on", {}).items():
            assert condition == {"condition": "service_healthy"}
            assert merged[other]["healthcheck"]["test"][0] == "CMD"


def test_every_service_has_a_health_check_a_bounded_log_and_comes_back() -> None:
    for name, service in services().items():
        assert service["healthcheck"]["test"][0] == "CMD", name
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}, name
        assert service["restart"] == "unless-stopped", name


def test_every_variable_is_explained_in_the_example_file() -> None:
    example = set(re.findall(r"^# ([A-Z][A-Z0-9_]*)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    merged = services()
    used = set(VARIABLE.findall("".join((ROOT / name).read_text() for name in FILES)))
    given = set(merged["research-mcp"]["environment"]) | set(merged["research-mcp-2"]["environment"])

    assert used == {"ACME_EMAIL", "PUBLIC_HOST", "CRAWL4AI_TOKEN"}
    assert used | given <= example


def test_only_traefik_has_ports_and_each_helper_shares_a_network_with_the_service_alone() -> None:
    merged = services()
    members: dict[str, set[str]] = {}
    for name, service in merged.items():
        for network in service["networks"]:
            members.setdefault(network, set()).add(name)
    replicas = {"research-mcp", "research-mcp-2"}

    assert [name for name, service in merged.items() if "ports" in service] == ["traefik"]
    assert members == {
        "edge": replicas | {"traefik"},
        "searxng": replicas | {"searxng"},
        "crawl4ai": replicas | {"crawl4ai"},
        "ledger": replicas | {"redis"},
    }
    assert {name for name, service in merged.items() if "profiles" in service} == {"searxng", "crawl4ai"}


def test_replicas_share_the_ledger_and_nothing_that_has_one_writer() -> None:
    one, two = (services()[name]["environment"] for name in ("research-mcp", "research-mcp-2"))

    assert one["LEDGER_URL"] == two["LEDGER_URL"] == "redis://redis:6379/0"
    assert one.get("LOG_FILE") != two["LOG_FILE"]


@pytest.mark.parametrize(("name", "servers"), [("dynamic.yml", 1), ("replicas.yml", 2)])
def test_traefik_routes_the_public_host_through_the_password_to_services_that_exist(name: str, servers: int) -> None:
    http = load(f"deploy/traefik/{name}")["http"]
    (router,) = http["routers"].values()
    balancer = http["services"][router["service"]]["loadBalancer"]
    traefik = services()["traefik"]
    hosts = [re.fullmatch(r"http://([\w-]+):8000", server["url"]) for server in balancer["servers"]]

    assert set(router["middlewares"]) <= set(http["middlewares"])
    assert http["middlewares"][router["middlewares"][0]]["basicAuth"]["usersFile"] == "/run/secrets/users"
    assert traefik["secrets"] == ["users"]
    assert set(re.findall(r'env "(\w+)"', router["rule"])) <= set(traefik["environment"])
    assert f"--entrypoints.{router['entryPoints'][0]}.address=:443" in traefik["command"]
    assert f"--certificatesresolvers.{router['tls']['certResolver']}.acme.tlschallenge=true" in traefik["command"]
    assert [match[1] for match in hosts if match] == ["research-mcp", "research-mcp-2"][:servers]
    assert balancer["serversTransport"] in http["serversTransports"]


def test_a_replica_that_drains_is_left_out_before_it_stops_listening() -> None:
    check = load("deploy/traefik/replicas.yml")["http"]["services"]["research-mcp"]["loadBalancer"]["healthCheck"]
    interval, timeout = (int(check[name].removesuffix("ms")) for name in ("interval", "timeout"))

    assert check["path"] == "/healthz"
    # SPEC section 6: 503 for a second. Traefik wants a timeout below the interval.
    assert timeout < interval < 1000


@pytest.mark.parametrize("more", [(), ("docker-compose.replicas.yml",)], ids=["one", "replicas"])
def test_compose_itself_takes_the_files(more: tuple[str, ...]) -> None:
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode
    ):
        pytest.skip("docker has no compose plugin here")
    options = [word for name in ("docker-compose.yml", *more) for word in ("-f", name)]
    environment = {"PATH": os.environ["PATH"], "PUBLIC_HOST": "mcp.example.com", "ACME_EMAIL": "you@example.com"}

    done = subprocess.run(
        ["docker", "compose", *options, "--profile", "*", "config", "--quiet"],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


def test_the_service_keeps_idle_connections_longer_than_traefik() -> None:
    transport = load("deploy/traefik/dynamic.yml")["http"]["serversTransports"]["research-mcp"]
    idle = int(transport["forwardingTimeouts"]["idleConnTimeout"].removesuffix("s"))

    assert int(services()["research-mcp"]["environment"]["HTTP_KEEP_ALIVE"]) > idle


def test_searxng_answers_in_json() -> None:
    settings = load("deploy/searxng/settings.yml")

    assert "json" in settings["search"]["formats"]
    assert settings["server"]["limiter"] is False


async def test_the_health_check_succeeds_while_the_server_is_up_and_fails_when_it_is_not() -> None:
    async with serving() as site:
        up = await health(site.port)
    down = await health(site.port)

    assert (up, down) == (0, 1)


async def health(port: int) -> int:
    """The exit code of the service's own health check, for a server on another port."""
    kind, python, *arguments = services()["research-mcp"]["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")
    command = [sys.executable, *(argument.replace(":8000", f":{port}") for argument in arguments)]
    ended = await trio.run_process(command, check=False, stderr=subprocess.DEVNULL)
    return ended.returncode
