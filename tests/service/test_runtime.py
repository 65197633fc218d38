"""The runtime: everything behind the tools, from settings."""

from __future__ import annotations

import trio

from service.calling import GRACE_SECONDS
from service.runtime import open_runtime, own_addresses, own_version, pipeline_options, tool_options
from service.settings import load_settings


def settings_for(tmp_path, **variables):
    base = {"LEDGER_URL": f"sqlite:{tmp_path / 'quota.sqlite3'}", "EXTRACT_WORKERS": "1"}
    return load_settings(base | variables)


async def test_runtime_reports_every_instance_of_the_table_in_its_order(tmp_path):
    async with open_runtime(
        settings_for(tmp_path, DUCKDUCKGO_ENABLED="false", SEARXNG_URL="http://s.example")
    ) as runtime:
        states = {one.instance: one.state for one in runtime.statistics()}

    assert states["searxng"] == "running"
    assert states["duckduckgo"] == "disabled"
    assert states["trafilatura"] == "running"


async def test_runtime_with_an_empty_environment_knows_what_is_unconfigured(tmp_path):
    async with open_runtime(settings_for(tmp_path)) as runtime:
        states = {one.instance: one.state for one in runtime.statistics()}

    assert states["searxng"] == "unconfigured"
    assert states["duckduckgo"] == "running"


async def test_shutdown_of_a_runtime_refuses_calls_and_shortens_deadlines(tmp_path):
    async with open_runtime(settings_for(tmp_path)) as runtime:
        runtime.shutdown.refuse()
        runtime.shutdown.hurry(trio.current_time() + 1)

        assert runtime.calls.is_draining
        with runtime.deadlines.until(trio.current_time() + 60) as scope:
            assert scope.deadline <= trio.current_time() + 1 + GRACE_SECONDS


def test_own_addresses_are_the_port_under_all_local_names_and_the_public_names(tmp_path):
    own = own_addresses(settings_for(tmp_path, MCP_PORT="8123", MCP_ALLOWED_HOSTS="mcp.example.com, m.example:8443"))

    assert {("127.0.0.1", 8123), ("::1", 8123), ("localhost", 8123)} <= own
    assert {("mcp.example.com", 443), ("mcp.example.com", 80), ("m.example", 8123)} <= own


def test_stdio_has_no_address_of_its_own(tmp_path):
    assert own_addresses(settings_for(tmp_path, MCP_TRANSPORT="stdio")) == frozenset()


def test_options_come_from_the_settings(tmp_path):
    settings = settings_for(tmp_path, READ_HEDGE_AFTER="3", MAX_QUERIES="4", RESPONSE_MAX_CHARS="0")

    assert pipeline_options(settings).hedge_after == 3
    assert tool_options(settings).limits.max_queries == 4
    assert tool_options(settings).response_max_chars == 0


def test_version_is_zero_where_nothing_is_installed(monkeypatch):
    def missing(_name):
        from importlib.metadata import PackageNotFoundError

        raise PackageNotFoundError

    monkeypatch.setattr("service.version.version", missing)

    assert own_version() == "0"


async def test_the_other_toolset_has_its_own_tools_and_cuts_no_page_but_by_its_own_limit(tmp_path):
    settings = settings_for(tmp_path, TOOLSET="retrieval")
    async with open_runtime(settings) as runtime:
        listed = await runtime.service.list_tools(None, None)

    assert [tool.name for tool in listed.tools] == ["web_search", "web_search_images", "web_scrape"]
    assert (tool_options(settings).read_batch_max_chars, tool_options(settings).response_max_chars) == (0, 0)
