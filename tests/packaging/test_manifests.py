"""server.json and the bundle's manifest, held to their specifications and to the code they describe.

The rules for server.json are those of its schema of 2025-12-11 and of the registry, in our own words: no package that
we can install brings that schema along. The manifest's schema comes with its own program, see test_packages.py.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from deploy import bundle
from service.instances import variable_names
from service.settings import load_settings
from service.table import TABLE
from service.tools import research_tools
from tests.packaging._dockerfile import parse

ROOT = Path(__file__).parents[2]
SERVER = json.loads((ROOT / "server.json").read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = {package["registryType"]: package for package in SERVER["packages"]}
EXAMPLE = set(re.findall(r"^# ([A-Z][A-Z0-9_]*)=", (ROOT / ".env.example").read_text(), re.MULTILINE))

_TEXT = {"type": "string"}
_INPUT = {
    "properties": {
        "value": _TEXT, "default": _TEXT, "description": _TEXT, "placeholder": _TEXT,
        "isRequired": {"type": "boolean"}, "isSecret": {"type": "boolean"},
        "format": {"enum": ["string", "number", "boolean", "filepath"]}, "choices": {"type": "array", "items": _TEXT},
        "name": _TEXT, "type": {"enum": ["named", "positional"]}, "valueHint": _TEXT,
    },
    "additionalProperties": False,
}  # fmt: skip
_ARGUMENT = {
    "allOf": [_INPUT, {"required": ["type"]}],
    "if": {"properties": {"type": {"const": "named"}}},
    "then": {"required": ["name"]},
    "else": {"anyOf": [{"required": ["value"]}, {"required": ["valueHint"]}]},
}
RULES: dict[str, Any] = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
        "name": {"type": "string", "maxLength": 200, "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$"},
        "packages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["registryType", "identifier", "transport"],
                "additionalProperties": False,
                "properties": {
                    "registryType": {"enum": ["npm", "pypi", "oci", "nuget", "mcpb"]},
                    "identifier": {"type": "string", "minLength": 1},
                    "version": {"type": "string", "minLength": 1, "not": {"const": "latest"}},
                    "runtimeHint": {"enum": ["npx", "uvx", "docker", "dnx"]},
                    "transport": {
                        "type": "object",
                        "required": ["type"],
                        "properties": {"type": {"enum": ["stdio", "streamable-http", "sse"]}, "url": _TEXT},
                        "if": {"properties": {"type": {"const": "stdio"}}},
                        "then": {"not": {"required": ["url"]}},
                        "else": {"required": ["url"]},
                        "additionalProperties": False,
                    },
                    "packageArguments": {"type": "array", "items": _ARGUMENT},
                    "runtimeArguments": {"type": "array", "items": _ARGUMENT},
                    "environmentVariables": {
                        "type": "array",
                        "items": {"allOf": [_INPUT, {"required": ["name"]}]},
                    },
                },
                "dependentRequired": {"runtimeArguments": ["runtimeHint"]},
            },
        },
    },
}


def test_server_json_keeps_the_rules_of_its_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(RULES)
    jsonschema.Draft202012Validator(RULES).validate(SERVER)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "research-mcp"},
        {"version": "^1.0"},
        {"description": "x" * 101},
        {"$schema": "other"},
        {"packages": [{}]},
    ],
    ids=str,
)
def test_the_rules_refuse_what_the_registry_refuses(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(RULES).validate(SERVER | change)


def test_its_versions_are_the_packages_own() -> None:
    assert SERVER["version"] == PROJECT["version"]
    assert PACKAGES["pypi"]["identifier"] == PROJECT["name"]
    assert PACKAGES["pypi"]["version"] == PROJECT["version"]
    assert PACKAGES["oci"]["identifier"].endswith(f":{PROJECT['version']}")
    # The registry takes an image's version from its tag, and refuses it twice.
    assert "version" not in PACKAGES["oci"]


def test_package_and_image_say_that_they_belong_to_the_name() -> None:
    readme = (ROOT / "README.md").read_text()
    labels = next(step for step in parse((ROOT / "Dockerfile").read_text())[-1].steps if step.name == "LABEL").words

    assert f"<!-- mcp-name: {SERVER['name']} -->" in readme
    assert f"io.modelcontextprotocol.server.name={SERVER['name']}" in labels


def test_the_image_serves_where_server_json_says() -> None:
    steps = parse((ROOT / "Dockerfile").read_text())[-1].steps
    url = urlsplit(PACKAGES["oci"]["transport"]["url"])
    given = {argument["name"]: argument["value"] for argument in PACKAGES["oci"]["runtimeArguments"]}

    assert given["--publish"].endswith(f":{next(step.rest for step in steps if step.name == 'EXPOSE')}")
    assert given["--volume"].endswith(f":{next(step.rest for step in steps if step.name == 'VOLUME')}")
    assert (url.port, url.path) == (8000, load_settings({}, ROOT / ".env.example").mcp_path)


@pytest.mark.parametrize("registry", PACKAGES)
def test_every_key_of_the_table_can_be_given_and_secrets_are_marked(registry: str) -> None:
    listed = {
        entry["name"]: entry.get("isSecret", False)
        for entry in PACKAGES[registry]["environmentVariables"]
        if "choices" not in entry
    }

    assert listed == {variable: is_secret for variable, _, is_secret in bundle.operator_keys()}
    assert {entry["name"] for entry in PACKAGES[registry]["environmentVariables"]} <= EXAMPLE


def test_the_defaults_and_choices_it_shows_are_those_of_the_settings() -> None:
    for entry in PACKAGES["pypi"]["environmentVariables"]:
        for value in entry.get("choices", ()):
            load_settings({entry["name"]: value}, ROOT / ".env.example")
        if "default" in entry:
            settings = load_settings({}, ROOT / ".env.example")
            assert getattr(settings, entry["name"].lower()) == entry["default"]


# --- the bundle -------------------------------------------------------------------------------------------------------


def test_the_bundles_placeholders_are_fields_that_are_empty_or_right_by_default() -> None:
    manifest = bundle.manifest()
    variables = manifest["server"]["mcp_config"]["env"]
    fields = manifest["user_config"]
    used = {name: re.fullmatch(r"\$\{user_config\.(\w+)\}", value) for name, value in variables.items()}

    assert {match[1] for match in used.values() if match} == set(fields)
    assert set(variables) <= EXAMPLE
    assert {field["default"] for field in fields.values()} == {"", "en"}
    assert {name.upper() for name, field in fields.items() if field.get("sensitive")} == {
        variable for variable, _, is_secret in bundle.operator_keys() if is_secret
    }


def test_the_bundle_needs_no_key() -> None:
    manifest = bundle.manifest()

    assert not any(field["required"] for field in manifest["user_config"].values())
    assert [tool["name"] for tool in manifest["tools"]] == [tool.name for tool in research_tools(has_images=True)]


def test_the_bundle_holds_the_sources_and_nothing_else() -> None:
    files = bundle.contents()
    folders = {name.partition("/")[0] for name in files if "/" in name}
    project = tomllib.loads(files["pyproject.toml"].decode())

    assert folders == {"service", "actors", "providers"}
    assert {"manifest.json", "icon.png", "pyproject.toml", "README.md", "LICENSE", "service/__main__.py"} <= set(files)
    assert not any("__pycache__" in name for name in files)
    assert files["icon.png"].startswith(b"\x89PNG")
    assert "dev" not in project["project"]["optional-dependencies"]
    assert any(pin.startswith("mcp==") for pin in project["tool"]["uv"]["constraint-dependencies"])


def test_keys_are_variables_of_their_instances() -> None:
    names = {instance.name: set(variable_names(instance)) for instance in TABLE}

    assert all(variable in names[instance] for variable, instance, _ in bundle.operator_keys())
