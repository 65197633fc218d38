"""Packs dist/research-mcp-VERSION.mcpb: a zip that a desktop client installs by a click, and starts with uv.

    python -m deploy.bundle

The bundle holds the sources and no dependencies; uv installs those on the first start, in the versions of
constraints.txt. The manifest asks for every key of the table, none of them required.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from service.table import TABLE
from service.texts import Texts
from service.tools import research_tools

ROOT = Path(__file__).parents[1]
PACKAGES = ("service", "actors", "providers")
STAMP = (2026, 1, 1, 0, 0, 0)  # of every file, so that the same sources make the same bytes

# A desktop client starts programs in a directory of its own, which is no place for what should last.
STATE = "${HOME}/.research-mcp"


def operator_keys() -> Iterator[tuple[str, str, bool]]:
    """What instances take from their operator: variable, instance, whether it is a secret."""
    for instance in TABLE:
        for value in instance.needs + instance.options:
            if value.kind in ("secret", "text"):
                yield value.variable, instance.name, value.kind == "secret"
        for address in instance.addresses:
            if address.needed:
                yield address.variable, instance.name, False


def manifest() -> dict[str, Any]:
    """manifest.json by the MCPB specification 0.4. What the user leaves empty reaches the server as unset."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts, fields = Texts(), user_config()
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": texts.say("server.title"),
        "version": project["version"],
        "description": project["description"],
        "author": {"name": "The research-mcp authors"},
        "license": project["license"],
        "icon": "icon.png",
        "server": {
            "type": "uv",
            "entry_point": "service/__main__.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "research-mcp", "--stdio"],
                "env": {
                    "LOG_FILE": f"{STATE}/research-mcp.log",
                    "LEDGER_URL": f"sqlite:{STATE}/quota.sqlite3",
                    **{name.upper(): f"${{user_config.{name}}}" for name in fields},
                },
            },
        },
        "tools": [{"name": tool.name, "description": texts.say(tool.text)} for tool in research_tools(has_images=True)],
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": project["requires-python"]}},
        "user_config": fields,
    }


def user_config() -> dict[str, dict[str, Any]]:
    """What the client asks its user for; an empty default, or the client would pass the placeholder on."""
    fields: dict[str, dict[str, Any]] = {
        "help_language": {
            "type": "string",
            "title": "HELP_LANGUAGE",
            "description": "Language of descriptions, notes and errors: en or ru",
            "default": "en",
            "required": False,
        }
    }
    for variable, instance, is_secret in operator_keys():
        fields[variable.lower()] = {
            "type": "string",
            "title": variable,
            "description": f"For {instance}; leave it empty to do without",
            "default": "",
            "sensitive": is_secret,
            "required": False,
        }
    return fields


def contents() -> dict[str, bytes]:
    """The bundle's files by their names in it."""
    files = {
        "manifest.json": json.dumps(manifest(), indent=2).encode(),
        "icon.png": (ROOT / "deploy/icon.png").read_bytes(),
        "pyproject.toml": project_file().encode(),
    }
    files |= {name: (ROOT / name).read_bytes() for name in ("README.md", "LICENSE")}
    sources = (file for package in PACKAGES for file in (ROOT / package).rglob("*"))
    wanted = (file for file in sources if file.is_file() and file.suffix != ".pyc")
    return files | {file.relative_to(ROOT).as_posix(): file.read_bytes() for file in sorted(wanted)}


def project_file() -> str:
    """pyproject.toml with our pins for uv, and without what only developers install: uv would resolve that too."""
    text = (ROOT / "pyproject.toml").read_text()
    pins = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    installed, found = re.subn(r"^dev = \[.*?^\]\n", "", text, flags=re.MULTILINE | re.DOTALL)
    if found != 1:
        raise ValueError("pyproject.toml has no list of what developers install")
    return f"{installed}\n[tool.uv]\nconstraint-dependencies = {json.dumps(pins, indent=4)}\n"


def pack(directory: Path) -> Path:
    """Write the bundle into `directory` and return its place."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    place = directory / f"{project['name']}-{project['version']}.mcpb"
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, data in contents().items():
            entry = zipfile.ZipInfo(name, STAMP)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            bundle.writestr(entry, data)
    return place


if __name__ == "__main__":
    sys.stdout.write(f"{pack(ROOT / 'dist')}\n")
