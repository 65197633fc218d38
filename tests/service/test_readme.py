"""The README held to the code: tools and their parameters, reasons, variables, instances."""

from __future__ import annotations

import re
from pathlib import Path

from providers._contract import Kind
from service.table import TABLE
from service.tools import research_tools

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def section(title: str) -> str:
    return README.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(title: str) -> list[list[str]]:
    """The cells of a section's first table, without its two head lines."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_tool_table_names_every_tool_with_its_parameters_and_defaults() -> None:
    written = {name.strip("`"): re.findall(r"`([^`]+)`", parameters) for name, _, parameters in rows("Tools")}
    tools = {
        tool.name: [
            parameter.name
            if parameter.default is None or parameter.default is ...
            else f"{parameter.name}={str(parameter.default).lower()}"
            for parameter in tool.parameters
        ]
        for tool in research_tools(has_images=True)
    }

    assert list(written) == list(tools)
    for name, parameters in written.items():
        assert [each.partition("=")[0] for each in parameters] == [each.partition("=")[0] for each in tools[name]]
        assert {each for each in parameters if "=" in each} == {each for each in tools[name] if "=" in each}


def test_every_reason_that_an_answer_can_give_is_explained() -> None:
    explained = {name for cells in rows("When something does not work") for name in re.findall(r"`([^`]+)`", cells[0])}

    assert explained == {kind.value for kind in Kind}


def test_every_instance_is_in_the_table_of_providers() -> None:
    assert [cells[0] for cells in rows("Providers")] == [instance.name for instance in TABLE]


def test_every_variable_that_is_named_exists() -> None:
    example = set(re.findall(r"^# ([A-Z][A-Z0-9_]*)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    named = set(re.findall(r"`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`", README))

    assert {name for name in named if not name.startswith(("NAME_", "ACME_"))} <= example
    assert len(named) > 20


def test_the_defaults_of_the_settings_table_are_those_of_the_example_file() -> None:
    example = dict(re.findall(r"^# ([A-Z][A-Z0-9_]*)=(.+)$", (ROOT / ".env.example").read_text(), re.MULTILINE))
    for variables, defaults, _ in rows("Settings"):
        names, values = re.findall(r"`([^`]+)`", variables), re.findall(r"`([^`]+)`", defaults)
        for name, value in zip(names, values, strict=False):
            assert example[name] == value
