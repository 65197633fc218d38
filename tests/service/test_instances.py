"""The table, and what becomes of it under given settings."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from actors.options import Order
from actors.row import Limit, Rate, SideRemote
from providers import _registry
from providers._contract import Role
from service.instances import Configured, Tables, build, log_states, secrets_of, variable_names
from service.settings import Settings, load_settings
from service.table import IMAGES, READ, SEARCH, TABLE, Address, Instance, Upgrade, Value
from service.values import SettingsError

SPEC_SEARCH = (
    "searxng duckduckgo brave tavily-1 tavily-2 tavily-3 firecrawl jina xmlriver parallel octen linkup youcom serper "
    "exa openalex semantic-scholar"
).split()
SPEC_READ = (
    "youtube supadata instagram instagram-profile scholarly trafilatura impersonate jina crawl4ai "
    "tavily-1 tavily-2 tavily-3 firecrawl brightdata"
).split()
PROXY = {
    "PROXY_SCHEME": "http",
    "PROXY_HOST": "proxy.example.com",
    "PROXY_PORT": "8000",
    "PROXY_LOGIN": "me",
    "PROXY_PASSWORD": "p@ss",
}


@dataclass(frozen=True)
class Everything:
    """A provider with every kind of field."""

    key: str | None = None
    user: str | None = None
    max_body_bytes: int = 1
    url: str = "https://api.example.com/v1/search?flavour=plain"
    reader_url: str = "https://read.example.com/"


SEARCHER = Instance("floor", "everything", frozenset({Role.SEARCH}))
READER = Instance("local", "everything", frozenset({Role.READ}), base_field=None, reach="direct", has_breaker=False)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(_registry._types, "everything", Everything)
    monkeypatch.chdir(tmp_path)


def tables(*instances: Instance, search: Order = (), read: Order = ()) -> Tables:
    return Tables((*instances, SEARCHER, READER), search=(*search, "floor"), images=(), read=("local", *read))


def row_of(configured: Configured, name: str) -> Any:
    return next(row for row in configured.rows if row.name == name)


def settings(**variables: str) -> Settings:
    return load_settings(variables)


# --- the table --------------------------------------------------------------------------------------------------------


def test_every_provider_file_has_a_row_and_every_row_a_provider_file() -> None:
    assert {instance.type for instance in TABLE} == set(_registry.type_names())


def test_the_names_of_the_table_are_unique_and_each_stands_in_the_order_of_its_roles() -> None:
    names = [instance.name for instance in TABLE]

    assert len(names) == len(set(names))
    for role, order in ((Role.SEARCH, SEARCH), (Role.IMAGES, IMAGES), (Role.READ, READ)):
        can = {each.name for each in TABLE if role in each.roles or (each.upgrade and role in each.upgrade.roles)}
        assert can == set(flat(order))


def flat(order: Order) -> list[str]:
    return [name for entry in order for name in ((entry,) if isinstance(entry, str) else entry)]


def test_the_orders_are_those_of_the_contract_as_far_as_their_instances_exist() -> None:
    assert flat(SEARCH) == [name for name in SPEC_SEARCH if name in flat(SEARCH)]
    assert flat(READ) == [name for name in SPEC_READ if name in flat(READ)]


def test_every_variable_of_an_instance_stands_in_the_example_file() -> None:
    example = (Path(__file__).parents[2] / ".env.example").read_text()
    listed = set(re.findall(r"^# ([A-Z][A-Z0-9_]*)=", example, re.MULTILINE))

    for instance in TABLE:
        assert set(variable_names(instance)) <= listed


# --- the floor --------------------------------------------------------------------------------------------------------


def test_an_empty_environment_searches_with_duckduckgo_and_reads_locally() -> None:
    configured = build(settings())

    assert (configured.orders.search, configured.orders.read) == (
        ("duckduckgo",),
        ("youtube", "instagram-profile", "scholarly", "trafilatura", "impersonate", "jina"),
    )
    assert configured.orders.images == ("bing-images",)
    assert configured.orders.rerank is None
    assert configured.unconfigured["searxng"] == ("SEARXNG_URL",)
    row = row_of(configured, "duckduckgo")
    assert (row.rate, row.limit, row.retries, row.timeout, row.patience) == (Rate(1, 45.0), None, 0, 25.0, 0.0)
    assert row_of(configured, "trafilatura").provider.max_body_bytes == 15_000_000


def test_duckduckgo_steps_aside_for_searxng_and_comes_back_when_that_is_switched_off() -> None:
    url = "http://searx.example.com:8080/base/"

    configured = build(settings(SEARXNG_URL=url))

    assert configured.orders.search == ("searxng",)
    assert configured.disabled == ("duckduckgo",)
    row = row_of(configured, "searxng")
    assert row.provider.url == url
    assert row.exempt == {("searx.example.com", 8080)}
    assert build(settings(SEARXNG_URL=url, SEARXNG_ENABLED="no")).orders.search == ("duckduckgo",)


def test_a_base_url_replaces_the_origin_of_duckduckgo_and_keeps_its_path() -> None:
    configured = build(settings(DUCKDUCKGO_BASE_URL="http://127.0.0.1:9100/double"))

    row = row_of(configured, "duckduckgo")
    assert row.provider.url == "http://127.0.0.1:9100/double/html/"
    assert row.exempt == {("127.0.0.1", 9100)}


@pytest.mark.parametrize(
    ("order", "what", "hint"), [(SEARCH, "search", "configure one; searxng needs SEARXNG_URL"), (READ, "read", "one$")]
)
def test_without_any_search_or_read_instance_the_server_does_not_start(order: Order, what: str, hint: str) -> None:
    names = [name for name in flat(order) if name != "searxng"]
    off = {f"{name.upper().replace('-', '_')}_ENABLED": "false" for name in names}

    with pytest.raises(SettingsError, match=f"^no {what} instance is enabled: .*{hint}"):
        build(load_settings(off))


def test_the_sentence_has_no_hint_where_nothing_lacks_a_variable() -> None:
    only = Tables((READER,), search=(), images=(), read=("local",))

    with pytest.raises(SettingsError, match="configure one$"):
        build(settings(), only)


# --- one instance -----------------------------------------------------------------------------------------------------


def test_the_seven_variables_of_an_instance_change_its_row() -> None:
    two = Instance("acme-2", "everything", frozenset({Role.SEARCH}), rate=Rate(1, 45.0))

    configured = build(
        settings(
            ACME_2_ENABLED="true",
            ACME_2_BASE_URL="https://gateway.example.com/acme/",
            ACME_2_PROXY="socks5h://user:hunter2@proxy.example.com",
            ACME_2_RATE="60/m",
            ACME_2_QUOTA="100/day",
            ACME_2_TIMEOUT="7.5",
            ACME_2_WORKERS="3",
            RETRIES="2",
        ),
        tables(two, search=("acme-2",)),
    )

    row = row_of(configured, "acme-2")
    assert row.provider.url == "https://gateway.example.com/acme/v1/search?flavour=plain"
    assert row.exempt == {("gateway.example.com", 443)}
    assert row.proxy == "socks5h://user:hunter2@proxy.example.com"
    assert (row.rate, row.limit) == (Rate(60, 60.0), Limit(100, "day"))
    assert (row.timeout, row.workers, row.retries) == (7.5, 3, 2)
    assert "hunter2" in row.secrets
    assert "hunter2" not in repr(row)


@pytest.mark.parametrize("suffix", ["ENABLED", "BASE_URL", "PROXY", "RATE", "QUOTA", "TIMEOUT", "WORKERS"])
def test_a_malformed_variable_of_an_instance_stops_and_is_named_even_where_it_is_disabled(suffix: str) -> None:
    variable = f"DUCKDUCKGO_{suffix}"

    with pytest.raises(SettingsError, match=f"^{variable} must be "):
        build(load_settings({"DUCKDUCKGO_ENABLED": "false"} | {variable: "seven!"}))


def test_none_takes_the_rate_away() -> None:
    assert row_of(build(settings(DUCKDUCKGO_RATE="none")), "duckduckgo").rate is None


def test_an_instance_is_unconfigured_until_all_that_it_needs_is_set() -> None:
    river = Instance(
        "river",
        "everything",
        frozenset({Role.SEARCH}),
        needs=(Value("RIVER_USER_ID", "user"), Value("RIVER_API_KEY", "key")),
        paid=True,
    )
    table = tables(river, search=("river",))

    half = build(settings(RIVER_USER_ID="77"), table)
    whole = build(settings(RIVER_USER_ID="77", RIVER_API_KEY="canary"), table)

    assert dict(half.unconfigured) == {"river": ("RIVER_API_KEY",)}
    assert half.orders.search == ("floor",)
    assert whole.orders.search == ("river", "floor")
    assert row_of(whole, "river").provider.key == "canary"
    assert row_of(whole, "river").paid
    assert whole.secrets == ("77", "canary")


def test_a_disabled_instance_is_not_called_unconfigured() -> None:
    configured = build(settings(SEARXNG_ENABLED="false"))

    assert configured.disabled == ("searxng",)
    assert "searxng" not in configured.unconfigured


def test_a_failover_group_shrinks_to_its_configured_members() -> None:
    accounts = [
        Instance(f"acme-{n}", "everything", frozenset({Role.SEARCH}), needs=(Value(f"ACME_{n}_API_KEY", "key"),))
        for n in (1, 2, 3)
    ]
    table = tables(*accounts, search=(("acme-1", "acme-2", "acme-3"),))

    assert build(settings(ACME_1_API_KEY="a", ACME_3_API_KEY="c"), table).orders.search == (
        ("acme-1", "acme-3"),
        "floor",
    )
    assert build(settings(ACME_2_API_KEY="b"), table).orders.search == ("acme-2", "floor")


def test_a_key_that_is_optional_adds_roles_lifts_the_rate_and_makes_it_paid() -> None:
    gem = Instance(
        "gem",
        "everything",
        frozenset({Role.READ}),
        options=(Value("GEM_API_KEY", "key"),),
        addresses=(Address("reader_url", "GEM_READER_URL"), Address("url", "GEM_SEARCH_URL")),
        base_field=None,
        rate=Rate(20, 60.0),
        upgrade=Upgrade("GEM_API_KEY", frozenset({Role.SEARCH, Role.READ, Role.RERANK}), None, paid=True),
    )
    table = tables(gem, search=("gem",), read=("gem",))

    keyless = build(settings(GEM_READER_URL="http://localhost:1/r", GEM_BASE_URL="not looked at"), table)
    keyed = build(settings(GEM_API_KEY="canary"), table)
    slowed = build(settings(GEM_API_KEY="canary", GEM_RATE="5/m"), table)

    assert (keyless.orders.search, keyless.orders.read, keyless.orders.rerank) == (("floor",), ("local", "gem"), None)
    row = row_of(keyless, "gem")
    assert (row.rate, row.paid, row.exempt) == (Rate(20, 60.0), False, {("localhost", 1)})
    assert (row.provider.reader_url, row.provider.url) == ("http://localhost:1/r/", Everything.url)
    assert "GEM_BASE_URL" not in variable_names(gem)
    assert (keyed.orders.search, keyed.orders.rerank) == (("gem", "floor"), "gem")
    assert (row_of(keyed, "gem").rate, row_of(keyed, "gem").paid) == (None, True)
    assert row_of(slowed, "gem").rate == Rate(5, 60.0)


def test_a_second_remote_has_a_proxy_of_its_own() -> None:
    gram = Instance("gram", "everything", frozenset({Role.READ}), options=(Value("GROQ_PROXY", "groq", "proxy"),))
    table = tables(gram, read=("gram",))

    row = row_of(build(settings(GROQ_PROXY="http://u:hunter2@proxy.example.com"), table), "gram")

    assert row.side_remotes == (SideRemote("groq", "http://u:hunter2@proxy.example.com"),)
    assert row.proxy is None
    assert "hunter2" not in repr(row)
    assert row_of(build(settings(), table), "gram").side_remotes == (SideRemote("groq"),)
    assert "hunter2" in row.secrets
    with pytest.raises(SettingsError, match="^GROQ_PROXY must be a proxy's address"):
        build(settings(GROQ_PROXY="ftp://x"), table)


def test_the_readers_of_instagram_share_a_proxy_unless_each_has_its_own() -> None:
    ours, other = "http://ours.example.com", "socks5://other.example.com"
    shared = build(settings(GROQ_API_KEY="k", INSTAGRAM_PROXY=ours, **PROXY))
    apart = build(settings(INSTAGRAM_PROXY=ours, INSTAGRAM_PROFILE_PROXY=other))

    assert {row_of(shared, name).proxy for name in ("instagram", "instagram-profile")} == {ours}
    assert row_of(shared, "instagram").side_remotes == (SideRemote("groq"),)
    assert row_of(apart, "instagram-profile").proxy == other


def test_a_base_url_in_front_of_an_operators_own_address_replaces_its_origin() -> None:
    configured = build(settings(SEARXNG_URL="http://searx.example.com/a", SEARXNG_BASE_URL="http://127.0.0.1:7/gate"))

    row = row_of(configured, "searxng")
    assert row.provider.url == "http://127.0.0.1:7/gate/a"
    assert row.exempt == {("searx.example.com", 80), ("127.0.0.1", 7)}


def test_the_rotating_proxy_serves_the_instances_that_scrape_unless_they_have_their_own() -> None:
    configured = build(settings(**PROXY))
    own = build(settings(**PROXY, DUCKDUCKGO_PROXY="http://other.example.com"))

    assert row_of(configured, "duckduckgo").proxy == "http://me:p%40ss@proxy.example.com:8000"
    assert "p@ss" in row_of(configured, "duckduckgo").secrets
    assert row_of(configured, "trafilatura").proxy is None
    assert row_of(own, "duckduckgo").proxy == "http://other.example.com"
    rotating = {row.name for row in configured.rows if row.proxy_sessions}
    assert {"duckduckgo", "bing-images", "impersonate"} <= rotating
    assert "trafilatura" not in rotating
    assert not row_of(own, "duckduckgo").proxy_sessions


def test_the_secrets_are_keys_and_logins_of_all_instances_also_of_disabled_ones() -> None:
    found = secrets_of(
        settings(
            MCP_BEARER_TOKEN="canary-token",
            SEARXNG_URL="http://user:p%40ss@searx.example.com",
            DUCKDUCKGO_ENABLED="false",
            DUCKDUCKGO_PROXY="http://user@proxy.example.com",
            TRAFILATURA_PROXY="http://u:hunter2@proxy.example.com",
        )
    )

    basic = base64.b64encode(b"user:p@ss").decode()
    assert {"canary-token", "p%40ss", "p@ss", basic, "hunter2"} <= set(found)
    assert "user" not in found


def test_each_instance_that_does_not_run_gets_one_log_line() -> None:
    configured = build(settings(SEARXNG_URL="http://searx.example.com"))
    with structlog.testing.capture_logs() as lines:
        log_states(build(settings()))
        log_states(configured)

    told = [(line["instance"], line["state"]) for line in lines if line["instance"] in ("searxng", "duckduckgo")]
    assert told == [("searxng", "unconfigured"), ("duckduckgo", "disabled")]
    assert lines[0]["missing"] == ["SEARXNG_URL"]
