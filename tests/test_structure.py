"""The rules of ARCHITECTURE.md that a machine can hold: which way imports point, and what stands in one place only."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from providers import _registry

ROOT = Path(__file__).parents[1]
FOLDERS = ("service", "actors", "providers")
ALLOWED = {"service": set(FOLDERS), "actors": {"actors", "providers"}, "providers": {"providers"}}
ENVIRONMENT = "service/settings.py"
# Empties the environment of a worker process before it reads anybody's bytes.
EMPTIES_IT = "providers/_worker_process.py"

SOURCES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Full names of all modules that a syntax tree imports, relative ones resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: -node.level + 1 or None] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def environment_uses(tree: ast.AST) -> list[int]:
    """Lines that read or write the environment."""
    names = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in names)
    froms = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "os")
    taken = (node for node in froms if names & {alias.name for alias in node.names})
    return [node.lineno for node in (*attributes, *taken)]


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("file", SOURCES, ids=relative)
def test_imports_point_from_service_to_actors_to_providers(file: Path) -> None:
    folder = file.relative_to(ROOT).parts[0]
    package = ".".join(file.relative_to(ROOT).parent.parts)
    names = {name.partition(".")[0] for name in imported(ast.parse(file.read_text()), package)}

    assert names & {*FOLDERS, "tests"} <= ALLOWED[folder]


@pytest.mark.parametrize("file", SOURCES, ids=relative)
def test_asyncio_is_imported_nowhere(file: Path) -> None:
    names = {name.partition(".")[0] for name in imported(ast.parse(file.read_text()), "")}

    assert "asyncio" not in names


def test_the_environment_is_read_in_one_file() -> None:
    users = {relative(file) for file in SOURCES if environment_uses(ast.parse(file.read_text()))}

    assert users - {EMPTIES_IT} == {ENVIRONMENT}


def test_the_checks_find_what_they_look_for() -> None:
    bad = ast.parse(
        "import asyncio.queues\nfrom .. import settings\nfrom os import getenv\nimport os\nos.environ['A']\n"
    )

    assert {"asyncio.queues", "service", "service.settings"} <= set(imported(bad, "service.inner"))
    assert environment_uses(bad) == [5, 3]


@pytest.mark.parametrize("name", _registry.type_names())
def test_every_provider_file_registers_its_own_name(name: str) -> None:
    cls = _registry.lookup(name)

    assert cls.__module__ == f"providers.{name.replace('-', '_')}"


def test_every_package_is_in_the_wheel() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {file.parent.relative_to(ROOT) for file in SOURCES}

    assert sorted(listed) == sorted(".".join(folder.parts) for folder in folders)


def test_every_dependency_of_the_package_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {_name(line) for line in lines if "==" in line}
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {_name(requirement) for requirement in wanted}

    assert names <= pinned


def _name(requirement: str) -> str:
    head = next(part for part in requirement.replace("[", " ").replace(">", " ").replace("=", " ").split())
    return head.lower().replace("_", "-")


def test_a_worker_process_needs_neither_the_service_nor_the_actors() -> None:
    program = "import providers._worker_process, sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert not {"service", "actors", "mcp", "hypercorn"} & set(ended.stdout.split())


def test_the_image_runs_as_a_user_with_a_health_check_and_a_volume() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()

    assert any(line.startswith("USER ") and line != "USER root" for line in lines)
    assert any(line.startswith("HEALTHCHECK ") for line in lines)
    assert "VOLUME /app/data" in lines
    assert any("MCP_HOST=0.0.0.0" in line for line in lines)
