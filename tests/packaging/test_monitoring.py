"""The alert rules and the dashboard: what they name stands in a real scrape, and there is a rule for each trouble."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from service.loop_lag import LoopLag
from service.metrics import Sources, metrics_page
from service.runtime import open_runtime
from service.settings import load_settings
from service.stats import Desk

DEPLOY = Path(__file__).parents[2] / "deploy"
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
# What Prometheus adds to each series of a target, and the buckets of a histogram.
ADDED = {"job", "instance", "le"}
# Labels of series that come with their first failure.
LATER = {f"research_mcp_provider_{name}_total": {"provider", "kind"} for name in ("failures", "skips")}
# Told, but neither drawn nor watched.
LEFT_OUT = {"research_mcp_draining", "research_mcp_mailbox_capacity"}


async def scraped(folder: Path) -> dict[str, set[str]]:
    """The series of a server that was just started, by name, with the labels they have."""
    variables = {"LEDGER_URL": f"sqlite:{folder / 'quota.sqlite3'}", "BRAVE_API_KEY": "a-key", "BRAVE_QUOTA": "9/month"}
    settings = load_settings(variables)
    async with open_runtime(settings) as runtime:
        desk = Desk(runtime.identity, "research", runtime.calls, runtime.uptime, runtime.statistics, str)
        text = metrics_page(Sources(desk, runtime.durations, LoopLag()))().body.decode()
    return {name: labels for family in text_string_to_metric_families(text) for name, labels in series_of(family)}


def series_of(family: Metric) -> Iterator[tuple[str, set[str]]]:
    labels = {label for sample in family.samples for label in sample.labels}
    for suffix in SUFFIXES[family.type]:
        name = family.name + suffix
        yield name, labels | LATER.get(name, set())


def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load((DEPLOY / "alert-rules.yml").read_text())["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    return found


def expressions() -> list[str]:
    panels = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    variables = [each["definition"] for each in dashboard()["templating"]["list"] if "definition" in each]
    documented = re.findall(r"```promql\n(.*?)\n```", (DEPLOY.parent / "docs/operating.md").read_text(), re.DOTALL)
    return [rule["expr"] for rule in rules()] + panels + variables + documented


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:research_mcp|process)_[a-z_]+", expression))


def labels_in(expression: str) -> set[str]:
    matched = re.findall(r"[{,]\s*([a-z_]+)\s*(?:=~|!=|!~|=)", expression)
    grouped = [name.strip() for names in re.findall(r"by \(([^)]*)\)", expression) for name in names.split(",")]
    return {*matched, *grouped}


async def test_what_they_name_is_in_a_real_scrape_and_what_is_in_a_scrape_they_name(tmp_path: Path) -> None:
    known, used = await scraped(tmp_path), set()

    assert len(expressions()) > 40
    for expression in expressions():
        names = names_in(expression)
        used |= names
        assert names <= set(known), expression
        assert labels_in(expression) <= {label for name in names for label in known[name]} | ADDED, expression
    ours = {name for name in known if name.startswith("research_mcp_") and not name.endswith(("_sum", "_count"))}
    assert ours - used == LEFT_OUT


@pytest.mark.parametrize(
    "trouble",
    [
        "0.8 * research_mcp_quota_limit_units",
        'research_mcp_breaker_state{state="open"} == 1',
        'research_mcp_ready_providers{role="search"} == 0',
        'research_mcp_ready_providers{role="read"} == 0',
        "research_mcp_event_loop_lag_max_seconds > ",
        "increase(research_mcp_restarts_total",
        'research_mcp_tool_calls_total{outcome="failed"}',
        "research_mcp_ledger_up == 0",
    ],
)
def test_there_is_a_rule_for_each_trouble(trouble: str) -> None:
    assert [rule["alert"] for rule in rules() if trouble in rule["expr"]] != []


def test_every_rule_says_how_bad_it_is_and_what_it_means() -> None:
    for rule in rules():
        assert re.fullmatch(r"ResearchMcp[A-Za-z]+", rule["alert"])
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}
    assert len({rule["alert"] for rule in rules()}) == len(rules())


def test_prometheus_scrapes_the_job_that_the_rules_are_for() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())

    assert [job["job_name"] for job in config["scrape_configs"]] == ["research-mcp"]
    assert all((DEPLOY / name).exists() for name in config["rule_files"])
    assert rules()[0]["expr"] == 'up{job="research-mcp"} == 0'


def test_the_panels_have_titles_and_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        rows, columns = range(place["y"], place["y"] + place["h"]), range(place["x"], place["x"] + place["w"])
        cells = {(row, column) for row in rows for column in columns}
        assert panel["title"]
        assert columns.stop <= 24
        assert not taken & cells
        taken |= cells


def test_the_dashboard_names_no_data_source_of_ours() -> None:
    sources = {str(panel["datasource"]["uid"]) for panel in dashboard()["panels"]}

    assert sources == {"${datasource}"}
