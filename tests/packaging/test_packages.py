"""What people install, installed as they would and asked for an answer: the wheel, the bundle, the image.

Slow, so these stand apart from the other tests: `make packages`. Environments are made with uv, which takes seconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from mcp import Client, StdioServerParameters

from deploy import bundle
from tests.e2e._stage import FakenetProcess, fakenet_process, server_process

pytestmark = [
    pytest.mark.packaging,
    pytest.mark.filterwarnings("ignore:Async generator '(httpx2|httpcore2|mcp):ResourceWarning"),
]

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")
TOOLS = {"search_and_read", "web_search", "web_search_images", "read_page", "read_pages"}
MCPB = "@anthropic-ai/mcpb@2.1.2"


@pytest.fixture(scope="module")
def net() -> Iterator[FakenetProcess]:
    with fakenet_process() as running:
        yield running


@pytest.fixture(scope="module")
def variables(net: FakenetProcess) -> dict[str, str]:
    return {"SEARXNG_URL": net.urls["searxng"], "SEARXNG_RATE": "none", "ALLOW_PRIVATE_NETWORK": "true"}


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`research-mcp` from a fresh wheel, the only thing installed in an environment of its own."""
    directory = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", directory]
    source = copied_source(directory / "source")
    subprocess.run([*build, source], check=True, cwd=directory)
    (wheel,) = directory.glob("*.whl")
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, directory / "venv"], check=True)
    python = directory / "venv/bin/python"
    install = [UV, "pip", "install", "--quiet", "--python", python, "--constraint", ROOT / "constraints.txt", wheel]
    subprocess.run(install, check=True, cwd=directory)
    return python.with_name("research-mcp")


def copied_source(place: Path) -> Path:
    """What a wheel is made of, so that building leaves nothing in the work tree."""
    place.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, place)
    for name in bundle.PACKAGES:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def bare(directory: Path, **more: str) -> dict[str, str]:
    """An environment without anything of ours, its home in `directory`."""
    return {"PATH": os.environ["PATH"], "HOME": str(directory)} | more


async def answers_over_stdio(parameters: StdioServerParameters) -> set[str]:
    """The names of the tools of a server that a client starts, once it has answered a search."""
    with trio.fail_after(120):
        async with Client(parameters) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            result = await client.call_tool("web_search", {"query": "type k"})
    assert not result.is_error, result.content
    assert result.structured_content["results"][0]["hits"]
    return names


# --- the wheel --------------------------------------------------------------------------------------------------------


async def test_the_wheel_alone_serves_over_stdio(command: Path, variables: dict[str, str], tmp_path: Path) -> None:
    environment = bare(tmp_path, **variables)
    parameters = StdioServerParameters(command=str(command), args=["--stdio"], env=environment, cwd=tmp_path)

    assert await answers_over_stdio(parameters) == TOOLS
    assert {file.name for file in (tmp_path / "data").iterdir()} >= {"research-mcp.log", "quota.sqlite3"}


async def test_the_wheel_alone_serves_over_http(command: Path, variables: dict[str, str], tmp_path: Path) -> None:
    with served(command, variables, tmp_path) as url:
        async with Client(url) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            result = await client.call_tool("read_page", {"url": "http://nowhere.invalid/"})

    assert names == TOOLS
    assert result.is_error


def test_the_wheel_alone_serves_over_http_to_the_inspector(
    command: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    inspector = Path(os.environ["NODE_PROGRAMS"]) / "node_modules/.bin/mcp-inspector"
    with served(command, variables, tmp_path) as url:
        ask = [inspector, "--cli", url, "--format", "json", "--method"]
        home = os.environ | {"HOME": os.environ.get("INSPECTOR_HOME", str(tmp_path))}
        listed = subprocess.run([*ask, "tools/list", "--strict"], env=home, capture_output=True, text=True, timeout=60)
        call = ["tools/call", "--tool-name", "web_search", "--tool-arg", "query=type k"]
        called = subprocess.run([*ask, *call], env=home, capture_output=True, text=True, timeout=60)

    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert all(f'"{name}"' in listed.stdout for name in TOOLS)
    assert called.returncode == 0, called.stdout + called.stderr
    assert "type k: part 1" in called.stdout


@contextmanager
def served(command: Path, variables: dict[str, str], directory: Path) -> Iterator[str]:
    """The address of a server of the installed command."""
    launcher = ["env", "-u", "PYTHONPATH", "sh", "-c", f"exec {command} serve", "sh"]
    with server_process(variables, directory, launcher=launcher) as server:
        yield server.mcp_url


# --- the bundle -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bundle")
    with zipfile.ZipFile(bundle.pack(directory)) as packed:
        packed.extractall(directory / "unpacked")
    return directory / "unpacked"


def test_the_bundles_manifest_passes_the_programs_own_check(unpacked: Path) -> None:
    check = ["npx", "--yes", MCPB, "validate", unpacked / "manifest.json"]
    done = subprocess.run(check, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stdout + done.stderr


async def test_the_bundle_serves_as_a_desktop_client_starts_it(
    unpacked: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    config = filled(bundle.manifest(), unpacked, tmp_path, searxng_url=variables["SEARXNG_URL"])
    # uv's cache is ours, its view of the world is the machine's; the server gets what the manifest says.
    machine = {name: value for name, value in os.environ.items() if name not in ("HOME", "VIRTUAL_ENV", "PYTHONPATH")}
    home = {"HOME": str(tmp_path), "UV_CACHE_DIR": uv_cache(), "UV_PYTHON": sys.executable}
    environment = machine | home | config["env"] | {"ALLOW_PRIVATE_NETWORK": "true"}
    parameters = StdioServerParameters(command=str(UV), args=config["args"], env=environment, cwd=tmp_path)

    assert await answers_over_stdio(parameters) == TOOLS
    assert {file.name for file in (tmp_path / ".research-mcp").iterdir()} >= {"research-mcp.log", "quota.sqlite3"}


def filled(manifest: dict[str, Any], place: Path, home: Path, **given: str) -> dict[str, Any]:
    """`mcp_config` as the client fills it in: what the user gave, else the defaults."""
    values = {
        f"user_config.{name}": given.get(name, field["default"]) for name, field in manifest["user_config"].items()
    }
    values |= {"__dirname": str(place), "HOME": str(home)}

    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace(f"${{{name}}}", value)
        return text

    config = manifest["server"]["mcp_config"]
    return {
        "args": [fill(text) for text in config["args"]],
        "env": {name: fill(text) for name, text in config["env"].items()},
    }


def uv_cache() -> str:
    return subprocess.run([UV, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()


# --- the image --------------------------------------------------------------------------------------------------------


@pytest.mark.system("unshare", "chroot", "mount")
def test_the_dockerfiles_steps_make_a_server_that_answers(tmp_path: Path) -> None:
    if not may_layer(tmp_path):
        pytest.skip("needs root and a kernel that lets it lay one file system over another")
    done = subprocess.run(
        ["unshare", "--mount", sys.executable, "-m", "tests.packaging.image"],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert "image: ok: the server answers /healthz" in done.stdout
    assert "image: ok: log and ledger are in the volume" in done.stdout


def may_layer(directory: Path) -> bool:
    """Whether this process may do what tests/packaging/image.py needs; most containers may not."""
    for name in ("layer", "work", "root"):
        (directory / name).mkdir()
    options = f"lowerdir=/,upperdir={directory}/layer,workdir={directory}/work"
    mount = ["unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", options, directory / "root"]
    return subprocess.run(mount, capture_output=True).returncode == 0
