"""Fixtures of every room, and the rule for tests that need a program which is not Python.

`@pytest.mark.system("redis-server")` names the programs a test needs. Where one is missing the test is skipped, and the
end of the run says how many were; with REQUIRE_SYSTEM=1, as in CI, such a skip is a failure.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Generator

import pytest

from providers._workers import open_workers


@pytest.fixture
async def workers() -> AsyncIterator[None]:
    """Two real worker processes; not for tests on a virtual clock, see `_workers.inline_workers`."""
    async with open_workers(2):
        yield


# --- programs that are not Python -------------------------------------------------------------------------------------

_SKIPPED = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SKIPPED] = []


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("system"):
        missing = [program for program in mark.args if shutil.which(program) is None]
        if missing:
            pytest.skip(f"needs {', '.join(missing)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.get_closest_marker("system") is not None:
        item.config.stash[_SKIPPED].append(item.nodeid)
        if os.environ.get("REQUIRE_SYSTEM") == "1":
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            report.outcome = "failed"
            report.longrepr = f"{why}, and REQUIRE_SYSTEM=1 does not allow that"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    terminalreporter.write_line(f"system tests skipped: {len(config.stash[_SKIPPED])}")
