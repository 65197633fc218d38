"""The official conformance suite against the server, and against its stack with the suite's own fixtures on top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.conformance._left_out import PRODUCT, PRODUCT_CHECKS, SESSION_CHECKS, SESSIONS
from tests.conformance._suite import REVISIONS, Outcome, run_suite
from tests.e2e._stage import ServerProcess, server_process

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="module")
def product(variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with server_process(variables, tmp_path_factory.mktemp("product")) as server:
        yield server


@pytest.fixture(scope="module")
def fixtures(variables: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    program = ("-m", "tests.conformance.fixtures")
    with server_process(variables, tmp_path_factory.mktemp("fixtures"), program=program) as server:
        yield server


def outcome_of(server: ServerProcess, revision: str, directory: Path) -> Outcome:
    # The suite's check of rebinding wants this name for the address.
    return run_suite(server.mcp_url.replace("127.0.0.1", "localhost"), revision, directory)


def judge(outcome: Outcome, left_out: Mapping[str, str], excused: Mapping[tuple[str, str], str]) -> None:
    """Nothing fails but what is listed, and all that is listed and ran fails."""
    faults = outcome.faults()
    unexpected = {fault: outcome.told[fault] for fault in faults if fault[0] not in left_out and fault not in excused}
    stale = {name for name in left_out.keys() & outcome.checks.keys() if not any(name == each for each, _ in faults)}
    stale_checks = excused.keys() & outcome.told.keys() - faults
    held = outcome.checks.keys() - left_out.keys()
    passed = sum(status == "SUCCESS" for name in held for _, status in outcome.checks[name])
    print(f"{len(held)} scenarios hold with {passed} checks; {len(outcome.checks) - len(held)} are left out")
    assert unexpected == {}
    assert stale == set()
    assert stale_checks == set()


@pytest.mark.parametrize("revision", REVISIONS)
def test_server_passes_every_scenario_that_applies_to_it(product, revision, tmp_path):
    outcome = outcome_of(product, revision, tmp_path)

    judge(outcome, PRODUCT, PRODUCT_CHECKS)


@pytest.mark.parametrize("revision", REVISIONS)
def test_its_stack_with_the_suites_fixtures_passes_everything_but_sessions(fixtures, revision, tmp_path):
    outcome = outcome_of(fixtures, revision, tmp_path)

    judge(outcome, SESSIONS, SESSION_CHECKS)
