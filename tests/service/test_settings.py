"""The environment and .env to Settings."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from pydantic.plugin._loader import get_plugins

from service.settings import ProxySessions, from_environment, ignore_plugins, load_settings
from service.values import SettingsError

SESSIONS = {
    "PROXY_SCHEME": "socks5",
    "PROXY_HOST": "proxy.example.com",
    "PROXY_PORT": "1080",
    "PROXY_LOGIN": "me",
    "PROXY_PASSWORD": "p@ss:word",
}
NUMBERS = (
    "MCP_PORT LOG_ROTATION LOG_RETENTION REQUEST_TIMEOUT FALLBACK_MIN_CHARS READ_PAGES_CONCURRENCY READ_HEDGE_AFTER "
    "MAX_BODY_BYTES HTTP_KEEP_ALIVE JINA_TOKEN_BUDGET MAX_CALLS_IN_FLIGHT MAX_QUERIES DEFAULT_TIMEOUT_MS "
    "MIN_TIMEOUT_MS MAX_TIMEOUT_MS EXTRACT_WORKERS"
).split()
ZERO_IS_OFF = "RETRIES READ_BATCH_MAX_CHARS RESPONSE_MAX_CHARS".split()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_empty_environment_gives_the_defaults_of_the_contract() -> None:
    settings = load_settings({})

    assert (settings.mcp_transport, settings.mcp_host, settings.mcp_port) == ("http", "127.0.0.1", 8000)
    assert (settings.mcp_path, settings.mcp_name) == ("/mcp", "research-mcp")
    assert (settings.mcp_allowed_hosts, settings.mcp_allowed_origins, settings.mcp_bearer_token) == (None, (), None)
    assert (settings.toolset, settings.help_language) == ("research", "en")
    assert (settings.log_level, settings.log_mode, settings.log_file) == (
        "INFO",
        "local",
        Path("data/research-mcp.log"),
    )
    assert (settings.log_rotation, settings.log_retention) == (20_000_000, 14 * 86_400)
    assert (settings.request_timeout, settings.retries, settings.fallback_min_chars) == (25, 1, 400)
    assert (settings.read_pages_concurrency, settings.read_batch_max_chars, settings.response_max_chars) == (
        5,
        12_000,
        80_000,
    )
    assert (settings.read_hedge_after, settings.max_body_bytes, settings.http_keep_alive) == (12, 15_000_000, 5)
    assert (settings.search_fusion, settings.search_strategy) == ("rrf", "all")
    assert settings.search_rerank_enabled
    assert settings.search_wait_for_slot
    assert not settings.allow_private_network
    assert (settings.jina_token_budget, settings.default_timeout_ms) == (None, None)
    assert (settings.max_calls_in_flight, settings.max_queries) == (64, 10)
    assert (settings.min_timeout_ms, settings.max_timeout_ms) == (1_000, 120_000)
    assert settings.ledger_url == "sqlite:data/quota.sqlite3"
    assert settings.extract_workers == os.cpu_count()
    assert settings.proxy_sessions is None
    assert settings.secrets == ()


def test_the_environment_comes_before_the_file_and_the_file_before_the_default(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MCP_PORT=9000\nMCP_HOST=0.0.0.0\n")

    settings = load_settings({"MCP_PORT": "9001"})

    assert (settings.mcp_host, settings.mcp_port) == ("0.0.0.0", 9001)


def test_an_empty_variable_of_the_environment_hides_the_one_of_the_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("BRAVE_API_KEY=abc\n")

    assert "BRAVE_API_KEY" not in load_settings({"BRAVE_API_KEY": " "}).variables


def test_the_file_may_quote_comment_and_export_and_a_dollar_sign_stands_for_itself(tmp_path: Path) -> None:
    file = tmp_path / "my.env"
    file.write_text(
        "\ufeff# comment\nexport MCP_NAME=\"my server\" # why\nA_KEY=a$b${c}\nLONELY\n\nB_KEY='x # y'\n",
        encoding="utf-8",
    )

    settings = load_settings({}, file)

    assert settings.mcp_name == "my server"
    assert (settings.variables["A_KEY"], settings.variables["B_KEY"]) == ("a$b${c}", "x # y")


def test_a_named_file_must_be_there_and_the_usual_one_need_not(tmp_path: Path) -> None:
    load_settings({})
    with pytest.raises(SettingsError, match=r"the settings file .*no\.env cannot be read: No such file"):
        load_settings({}, tmp_path / "no.env")


def test_a_file_that_is_a_directory_or_not_text_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings({})
    (tmp_path / "bad.env").write_bytes(b"A=\xff\xfe")
    with pytest.raises(SettingsError, match="is not UTF-8 text"):
        load_settings({}, tmp_path / "bad.env")


def test_a_line_that_is_no_assignment_is_named_by_its_number_and_not_by_its_text(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=1\nB=2\nC='hunter2\n")

    with pytest.raises(SettingsError, match="line 3 of the settings file .env is not NAME=value") as caught:
        load_settings({})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("variable", NUMBERS)
@pytest.mark.parametrize("value", ["abc", "-1", "0"])
def test_a_number_that_is_none_or_negative_or_zero_stops_and_names_its_variable(variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"^{variable} must be "):
        load_settings({variable: value})


@pytest.mark.parametrize("variable", ZERO_IS_OFF)
def test_zero_switches_off_retries_and_the_two_cuts_and_negative_stops(variable: str) -> None:
    assert getattr(load_settings({variable: "0"}), variable.lower()) == 0
    with pytest.raises(SettingsError, match=f"^{variable} must be "):
        load_settings({variable: "-1"})


@pytest.mark.parametrize(
    "variable",
    "MCP_TRANSPORT TOOLSET HELP_LANGUAGE LOG_LEVEL LOG_MODE SEARCH_FUSION SEARCH_STRATEGY SEARCH_RERANK_ENABLED "
    "SEARCH_WAIT_FOR_SLOT ALLOW_PRIVATE_NETWORK MCP_PATH LEDGER_URL MCP_ALLOWED_ORIGINS".split(),
)
def test_an_unknown_value_of_a_known_variable_stops_and_names_it(variable: str) -> None:
    with pytest.raises(SettingsError, match=f"^{variable} must "):
        load_settings({variable: "something else"})


@pytest.mark.parametrize("variable", ["MCP_HOST", "MCP_ALLOWED_HOSTS", "MCP_BEARER_TOKEN", "MCP_NAME", "LOG_FILE"])
def test_control_characters_stop_and_name_the_variable(variable: str) -> None:
    with pytest.raises(SettingsError, match=f"^{variable} must "):
        load_settings({variable: "a\x1b[31mb"})


def test_a_name_has_an_end() -> None:
    with pytest.raises(SettingsError, match="^MCP_NAME must have at most 64 characters$"):
        load_settings({"MCP_NAME": "x" * 65})


def test_a_ledger_without_a_path_is_a_sentence() -> None:
    with pytest.raises(SettingsError, match="^LEDGER_URL must look like sqlite:PATH or redis://"):
        load_settings({"LEDGER_URL": "sqlite:"})


@pytest.mark.parametrize("url", ["redis://", "redis://host:port", "unix://socket", "redis://me:s3cret@host/zero"])
def test_a_redis_that_is_no_address_is_a_sentence_without_the_password(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^LEDGER_URL must look like redis://\[USER:PASSWORD@\]HOST") as caught:
        load_settings({"LEDGER_URL": url})

    assert "s3cret" not in caught.value.sentence


def test_the_password_of_a_redis_is_a_secret_and_is_not_shown() -> None:
    settings = load_settings({"LEDGER_URL": "rediss://me:p%40ss@cache.example.com:6380/2"})

    assert settings.ledger_url == "rediss://me:p%40ss@cache.example.com:6380/2"
    assert settings.secrets == ("p@ss",)
    assert "p%40ss" not in repr(settings)
    assert load_settings({"LEDGER_URL": "unix:///run/redis.sock"}).secrets == ()


def test_a_redis_without_the_package_for_it_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.settings.find_spec", lambda name: None)

    with pytest.raises(SettingsError, match=r"^LEDGER_URL names a Redis, .*pip install 'research-mcp\[redis\]'$"):
        load_settings({"LEDGER_URL": "redis://host"})


def test_an_unknown_variable_is_ignored() -> None:
    load_settings({"NO_SUCH_SETTING": "\x00"})


def test_the_rotating_proxy_is_all_five_variables_or_none() -> None:
    settings = load_settings(SESSIONS)

    assert settings.proxy_sessions == ProxySessions("socks5", "proxy.example.com", 1080, "me", "p@ss:word")
    assert settings.secrets == ("p@ss:word",)
    assert "p@ss" not in repr(settings)
    for name in SESSIONS:
        with pytest.raises(SettingsError, match=f"^{name} is missing: .* all five or not at all$"):
            load_settings({other: value for other, value in SESSIONS.items() if other != name})


def test_the_token_is_a_secret_and_not_in_the_repr() -> None:
    settings = load_settings({"MCP_BEARER_TOKEN": "canary-token"})

    assert settings.secrets == ("canary-token",)
    assert "canary-token" not in repr(settings)


def test_the_most_wins_over_the_least_and_the_chosen_default_is_clamped() -> None:
    settings = load_settings({"MIN_TIMEOUT_MS": "5000", "MAX_TIMEOUT_MS": "3000", "DEFAULT_TIMEOUT_MS": "9000"})

    assert (settings.min_timeout_ms, settings.default_timeout_ms, settings.max_timeout_ms) == (3000, 3000, 3000)


def test_under_the_retrieval_toolset_its_own_defaults_stand() -> None:
    settings = load_settings({"TOOLSET": "retrieval"})

    assert (settings.default_timeout_ms, settings.min_timeout_ms, settings.max_timeout_ms) == (5_000, 1_000, 10_000)
    assert settings.max_queries == 10
    limits = settings.retrieval
    assert (limits.default_results, limits.max_results) == (5, 20)
    assert (limits.default_images, limits.max_images) == (5, 10)
    assert (limits.default_document_chars, limits.max_document_chars) == (20_000, 20_000)
    assert (limits.max_search_in_flight, limits.max_images_in_flight) == (2, 2)


def test_under_the_retrieval_toolset_zero_and_negative_mean_the_default_then_the_range_holds() -> None:
    settings = load_settings(
        {
            "TOOLSET": "retrieval",
            "MAX_QUERIES": "-4",
            "DEFAULT_TIMEOUT_MS": "0",
            "MIN_TIMEOUT_MS": "90000",
            "DEFAULT_RESULTS": "99",
            "MAX_RESULTS": "7",
            "MAX_IMAGES": "0",
            "MAX_SEARCH_IN_FLIGHT": "0",
            "MAX_IMAGES_IN_FLIGHT": "-1",
        }
    )

    assert settings.max_queries == 10
    assert (settings.default_timeout_ms, settings.min_timeout_ms, settings.max_timeout_ms) == (10_000, 10_000, 10_000)
    assert (settings.retrieval.default_results, settings.retrieval.max_results) == (7, 7)
    assert settings.retrieval.max_images == 10
    assert (settings.retrieval.max_search_in_flight, settings.retrieval.max_images_in_flight) == (0, 2)
    with pytest.raises(SettingsError, match="^MAX_RESULTS must be a whole number$"):
        load_settings({"TOOLSET": "retrieval", "MAX_RESULTS": "many"})


def test_under_the_research_toolset_the_retrieval_limits_are_held_to_the_strict_rules() -> None:
    for variable in ("MAX_RESULTS", "DEFAULT_DOCUMENT_CHARS"):
        with pytest.raises(SettingsError, match=f"^{variable} must be "):
            load_settings({variable: "0"})
    assert load_settings({"MAX_SEARCH_IN_FLIGHT": "0"}).retrieval.max_search_in_flight == 0


def test_server_port_is_read_by_the_retrieval_toolset_where_mcp_port_is_unset() -> None:
    assert load_settings({"TOOLSET": "retrieval", "SERVER_PORT": "8123"}).mcp_port == 8123
    assert load_settings({"TOOLSET": "retrieval", "SERVER_PORT": "8123", "MCP_PORT": "9"}).mcp_port == 9
    assert load_settings({"SERVER_PORT": "8123"}).mcp_port == 8000


def test_the_environment_of_the_process_is_what_from_environment_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_NAME", "from the environment")

    assert from_environment().mcp_name == "from the environment"


def test_plugins_of_other_packages_stay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr("pydantic.plugin._loader._plugins", {"foreign": object()})
    assert list(get_plugins()) != []

    ignore_plugins()

    assert list(get_plugins()) == []


def test_every_variable_that_is_read_stands_in_the_example_file() -> None:
    root = Path(__file__).parents[2]
    source = (root / "service" / "settings.py").read_text()
    read = set(re.findall(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)"', source)) - {
        "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", "T", "PYDANTIC_DISABLE_PLUGINS",
    }  # fmt: skip
    example = set(re.findall(r"^# ([A-Z][A-Z0-9_]*)=", (root / ".env.example").read_text(), re.MULTILINE))

    assert {"MCP_PORT", "SERVER_PORT", "MAX_IMAGES_IN_FLIGHT", "TOOLSET"} <= read
    assert read <= example


def test_the_example_file_with_every_line_that_has_a_value_switched_on_is_valid(tmp_path: Path) -> None:
    example = (Path(__file__).parents[2] / ".env.example").read_text()
    lines = [line.removeprefix("# ") for line in example.splitlines() if re.match(r"# [A-Z][A-Z0-9_]*=.", line)]
    (tmp_path / ".env").write_text("\n".join(line for line in lines if not line.startswith("PROXY_")))

    settings = load_settings({})

    assert settings.mcp_port == 8000
    assert settings.variables["SEARXNG_URL"] == "http://localhost:8080"
