"""The README's "Adding a provider", executed as it stands there: nothing here repeats its code."""

from __future__ import annotations

import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from actors.client import Guard, make_ssl_context, open_client
from actors.ledger import MemoryLedger
from actors.options import PipelineOptions
from actors.pipelines import Pipelines
from actors.supervisor import open_supervisor
from providers import _registry
from providers._contract import Kind, Query
from providers._workers import inline_workers
from service import table
from service.instances import Tables, build, variable_names
from service.settings import load_settings
from service.table import SEARCH, TABLE, Instance
from tests.contract import test_types as contract
from tests.contract._trials import GROUPS
from tests.docs._blocks import block_after
from tests.fakenet import Fakenet, _vendor, open_fakenet

README = "README.md"


@pytest.fixture(scope="module")
def context() -> ssl.SSLContext:
    return make_ssl_context()


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The provider, its fake and its payloads in place, for one test; gives the fake's module."""
    execute(monkeypatch, "providers.acme", block_after(README, "`providers/acme.py`"))
    monkeypatch.setitem(_registry._types, "acme", _registry._types.pop("acme"))
    payloads = tmp_path / "acme"
    payloads.mkdir()
    (payloads / "ok.json").write_text(block_after(README, "`tests/payloads/acme/ok.json`"))
    (payloads / "empty.json").write_text('{"results": []}')
    monkeypatch.setattr(_vendor, "PAYLOADS", tmp_path)
    return execute(monkeypatch, "tests.fakenet.acme", block_after(README, "`tests/fakenet/acme.py`"))


def execute(monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> ModuleType:
    """Run `code` as module `name`, which can be imported until the test ends."""
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(code, f"README.md, {name}", "exec"), module.__dict__)
    return module


def row_of_readme() -> Instance:
    """The row, read where it would stand."""
    row: Instance = eval(block_after(README, "`service/table.py`"), dict(vars(table)))
    return row


@asynccontextmanager
async def open_search(net: Fakenet, context: ssl.SSLContext) -> AsyncIterator[Pipelines]:
    """The example's row, configured by its variables as an operator would, behind a real actor and pipeline."""
    others = {f"{instance.prefix}_ENABLED": "false" for instance in TABLE if instance.name != "trafilatura"}
    settings = load_settings(others | net.environment("acme"))
    configured = build(settings, Tables(instances=(*TABLE, row_of_readme()), search=(*SEARCH, "acme")))
    guard = Guard()
    client_of = partial(open_client, guard=guard, ssl_context=context)
    with inline_workers():
        async with open_supervisor(configured.rows, ledger=MemoryLedger(), open_client=client_of) as supervisor:
            yield Pipelines(supervisor.refs, configured.orders, guard, PipelineOptions())


def untold(event: str, facts: dict[str, str | int]) -> None:
    """Nobody waits to be told of progress here."""


async def test_a_search_through_the_examples_row_and_actor_finds_hits(example: Any, context: ssl.SSLContext) -> None:
    async with open_fakenet(["acme"]) as net, open_search(net, context) as pipelines:
        result = await pipelines.search(Query("type k", limit=3, date="y"), timeout=5, tell=untold)

    assert result.status == "success"
    assert [hit.hit.title for hit in result.hits] == [f"type k: part {number}" for number in (1, 2, 3)]
    assert result.hits[0].hit.published == "2026-01-01"
    assert [(report.instance, report.detail) for report in result.reports] == [("acme", "date filter not supported")]
    assert net["acme"].requests[0].header("authorization") == "Bearer test-key"


async def test_an_account_without_credit_is_switched_off_after_one_request(
    example: Any, context: ssl.SSLContext
) -> None:
    async with open_fakenet(["acme"]) as net, open_search(net, context) as pipelines:
        net["acme"].handler.credits = 0
        results = [await pipelines.search(Query(text), timeout=5, tell=untold) for text in ("one", "two")]

    assert [result.reports[0].reason for result in results] == [Kind.QUOTA_SPENT, Kind.CIRCUIT_OPEN]
    assert results[0].reports[0].detail == "out of credits"
    assert net["acme"].calls == 1


async def test_the_example_passes_the_contract_tests(example: Any, context: ssl.SSLContext, caplog: Any) -> None:
    (case,) = example.CASES
    contract.test_type_is_a_frozen_dataclass_that_shows_no_secret("acme", case)
    await contract.test_good_payload_gives_a_value_of_the_contract("acme", case, context)
    await contract.test_fake_itself_gives_an_answer("acme", case, context)
    await contract.test_empty_payload_is_an_answer_with_nothing_in_it("acme", case, context)
    for group in GROUPS:
        await contract.test_each_fault_gives_the_kind_it_stands_for("acme", case, group, context, caplog)
    await contract.test_refused_connection_is_unavailable("acme", case, context, caplog)


def test_the_example_file_would_need_the_variables_of_the_row() -> None:
    assert variable_names(row_of_readme())[:2] == ("ACME_API_KEY", "ACME_ENABLED")
