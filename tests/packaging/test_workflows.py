"""The workflows of both forges: valid, and what they run is there."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = (".github/workflows/ci.yml", ".gitea/workflows/ci.yml")
every_workflow = pytest.mark.parametrize("name", WORKFLOWS)


def load(name: str) -> Any:
    return yaml.load((ROOT / name).read_text(), Loader=_Loader)


class _Loader(yaml.SafeLoader):
    """YAML 1.2's booleans: `on` is a word."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))


def commands(name: str) -> list[str]:
    return [step["run"] for job in load(name)["jobs"].values() for step in job["steps"] if "run" in step]


@every_workflow
def test_the_workflow_is_valid_by_githubs_schema(name: str) -> None:
    schema = json.loads(files("check_jsonschema").joinpath("builtin_schemas/vendor/github-workflows.json").read_text())

    jsonschema.validate(load(name), schema)


@every_workflow
def test_the_image_is_built_after_the_tests_and_on_main_only(name: str) -> None:
    workflow = load(name)

    assert list(workflow["jobs"]) == ["test", "image"]
    assert workflow["jobs"]["image"]["needs"] == "test"
    assert workflow["jobs"]["image"]["if"] == "github.event_name == 'push'"
    assert workflow["on"]["push"]["branches"] == ["main"]


@every_workflow
def test_latest_and_the_commit_are_pushed_as_they_were_built(name: str) -> None:
    text = "\n".join(commands(name))
    built = set(re.findall(r'--tag "([^"]+)"', text))

    assert built == set(re.findall(r'docker push "([^"]+)"', text)) == {"$image:latest", "$image:$GITHUB_SHA"}


@every_workflow
def test_every_command_of_ours_is_there(name: str) -> None:
    text = "\n".join(commands(name))
    targets = set(re.findall(r"^make (\w+)$", text, re.MULTILINE))
    made = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert targets or "bash .ci/run" in text
    assert targets <= made
    assert (ROOT / ".ci/run").is_file()


@every_workflow
def test_every_script_is_one_that_a_shell_understands(name: str) -> None:
    for script in commands(name):
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


@every_workflow
def test_the_python_is_the_oldest_that_is_promised(name: str) -> None:
    steps = load(name)["jobs"]["test"]["steps"]
    (version,) = [step["with"]["python-version"] for step in steps if "with" in step]

    assert f'requires-python = ">={version}"' in (ROOT / "pyproject.toml").read_text()


@every_workflow
def test_secrets_reach_a_command_by_its_environment_only(name: str) -> None:
    assert not any("secrets." in script for script in commands(name))


def test_the_image_is_tried_where_it_says_that_it_listens() -> None:
    assert "EXPOSE 8000" in (ROOT / "Dockerfile").read_text().splitlines()
    assert any("http://127.0.0.1:8000/healthz" in script for script in commands(WORKFLOWS[0]))
