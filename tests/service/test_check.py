"""`research-mcp check`: each instance asked once, and the table of what came of it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from actors.messages import Answer, Failure, Outcome
from actors.options import Orders
from providers._contract import Found, Hit, Image, Job, Kind, Page, Role, Target
from service import cli
from service.check import PAGE, Finding, check, failed, table
from service.instances import Configured


class FakeRef:
    """Answers with one outcome, and keeps what it was asked."""

    def __init__(
        self, name: str, roles: set[Role], outcome: Outcome, accepts: Callable[[Target], bool] = lambda _: True
    ) -> None:
        self.name = name
        self.row: Any = SimpleNamespace(roles=frozenset(roles))
        self.outcome = outcome
        self.accepts = accepts
        self.asked: list[Job] = []

    def next_slot_at(self, now: float) -> float | None:
        return now

    async def ask(self, job: Job, *, patience: float | None = None) -> Outcome:
        self.asked.append(job)
        return self.outcome


HIT, IMAGE = Hit("https://a.example/", "A"), Image("https://a.example/a.png")


async def findings_of(*refs: FakeRef, configured: Configured | None = None, names: tuple[str, ...] = ()) -> Any:
    configured = configured or Configured((), Orders())
    return await check({ref.name: ref for ref in refs}, configured, names or [ref.name for ref in refs])


@pytest.mark.parametrize(
    ("role", "value", "detail"),
    [
        (Role.SEARCH, Found((HIT,)), "1 found"),
        (Role.IMAGES, Found((IMAGE,)), "1 found"),
        (Role.READ, Page(PAGE, "Some text."), "10 characters"),
        (Role.RERANK, (0, 1), "answered"),
    ],
)
async def test_each_role_is_asked_in_its_own_way(role: Role, value: Any, detail: str) -> None:
    [finding] = await findings_of(FakeRef("acme", {role}, Answer(value, "acme", took=0.2, billed=1)))

    assert finding == Finding("acme", role.value, True, detail, 0.2, 1)


async def test_an_instance_of_many_roles_is_asked_once() -> None:
    ref = FakeRef("jina", {Role.READ, Role.SEARCH, Role.RERANK}, Answer(Found((HIT,)), "jina"))

    await findings_of(ref)

    assert len(ref.asked) == 1


@pytest.mark.parametrize(
    ("outcome", "detail"),
    [
        (Failure(Kind.DENIED, "acme", "status 401"), "denied: status 401"),
        (Failure(Kind.TIMEOUT, "acme"), "timeout"),
        (Answer(Found(()), "acme"), "0 found"),
    ],
)
async def test_what_does_not_work_says_why(outcome: Outcome, detail: str) -> None:
    findings = await findings_of(FakeRef("acme", {Role.SEARCH}, outcome))

    assert [(one.works, one.detail) for one in findings] == [(False, detail)]
    assert failed(findings)


async def test_a_reader_after_refusals_is_offered_one() -> None:
    ref = FakeRef("second", {Role.READ}, Answer(Page(PAGE, "x"), "second"), lambda target: target.evidence is not None)

    [finding] = await findings_of(ref)

    assert finding.works


async def test_a_reader_of_special_addresses_is_not_asked() -> None:
    findings = await findings_of(FakeRef("special", {Role.READ}, Answer(None, "special"), lambda _: False))

    assert [(one.works, one.asked) for one in findings] == [(None, "read")]
    assert not failed(findings)


async def test_instances_that_do_not_run_are_listed_with_what_they_need() -> None:
    configured = Configured((), Orders(), {"brave": ("BRAVE_API_KEY",)}, ("duckduckgo",))

    findings = await findings_of(configured=configured, names=("brave", "duckduckgo"))

    assert [one.detail for one in findings] == ["not configured: set BRAVE_API_KEY", "switched off"]


def test_the_table_has_a_line_for_each_instance() -> None:
    text = table([Finding("acme", "search", True, "8 found", 0.25, 1), Finding("brave", "", None, "switched off")])

    assert text.splitlines() == [
        "instance  asked for  result  ms   billed  why",
        "acme      search     ok      250  1       8 found",
        "brave                -                    switched off",
    ]


def test_the_command_says_what_works_and_ends_with_1_where_something_does_not(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    nobody = "http://127.0.0.1:9"  # the discard port
    monkeypatch.setenv("SEARXNG_URL", nobody)
    monkeypatch.setenv("TRAFILATURA_PROXY", nobody)  # so that no page is fetched, internet or not

    code = cli.run(["check"])

    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert code == 1
    assert "FAILED" in lines["searxng"]
    assert "unavailable" in lines["searxng"]
    assert "FAILED" in lines["trafilatura"]
    assert "switched off" in lines["duckduckgo"]
