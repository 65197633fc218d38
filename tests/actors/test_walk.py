"""Reading through real actors on a virtual clock: who is asked in which order, beside whom, and what comes back."""

from __future__ import annotations

import pytest
import trio

from actors.row import Rate
from providers import _sanitise
from providers._contract import (
    Blocked,
    Denied,
    Empty,
    Evidence,
    Kind,
    Malformed,
    Note,
    NotFound,
    Page,
    QuotaSpent,
    RateLimited,
    Refused,
    RobotsQuery,
    Role,
    Signals,
    Target,
    TooHeavy,
    Unavailable,
    Unsupported,
)
from tests.actors.lab import takes
from tests.actors.pipelab import URL, Checking, good, laboratory, row, thin

FORBIDDEN = Evidence(URL, "answered", 403, wall="cloudflare")


@pytest.fixture(autouse=True)
def _unsanitised(monkeypatch):
    async def sanitise(value):
        return value

    monkeypatch.setattr(_sanitise, "sanitise", sanitise)


def local(*script, **fields):
    return row("trafilatura", *script, **fields)


def impersonate(*script, **fields):
    """Wants a finished refusal, as the real one."""

    def wants(target):
        return target.evidence is not None and target.evidence.status == 403

    return row("impersonate", *script, wants=wants, impersonate=True, **fields)


def free(*script, **fields):
    return row("jina", *script, reach="third_party", **fields)


def crawl4ai(*script, **fields):
    return row("crawl4ai", *script, reach="self_hosted", **fields)


def paid(name, *script, **fields):
    return row(name, *script, reach="third_party", paid=True, **fields)


async def read(lab, url=URL, timeout=55.0, **fields):
    return await lab.pipelines.read(Target(url), timeout=timeout, tell=lab.tell, **fields)


def steps(result):
    return [(step.instance, step.status, step.reason) for step in result.steps]


def asked(lab):
    return {name: len(provider.calls) for name, provider in lab.providers.items() if provider.calls}


# --- in order -------------------------------------------------------------------------------------------------------


async def test_the_first_good_page_wins_and_nobody_else_is_asked(autojump_clock):
    async with laboratory(local(takes(2, good())), free(good()), paid("firecrawl", good())) as lab:
        result = await read(lab)

    assert (result.status, result.provider, result.page.markdown[:4]) == ("success", "trafilatura", "good")
    assert (result.notes, result.reason, result.elapsed) == ((), None, 2)
    assert [(step.instance, step.status, step.elapsed, step.billed) for step in result.steps] == [
        ("trafilatura", "ok", 2, 0)
    ]
    assert asked(lab) == {"trafilatura": 1}
    assert lab.told == []


async def test_each_failure_hands_over_to_the_next_with_its_evidence(autojump_clock):
    rows = [
        local(takes(1, Blocked("403", evidence=FORBIDDEN))),
        impersonate(takes(1, Blocked("403 again", evidence=Evidence(URL, "connected", body=b"x")))),
        free(takes(1, RateLimited("429"))),
        paid("firecrawl", takes(1, good()), timeout=9),
    ]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert steps(result) == [
        ("trafilatura", "failed", Kind.BLOCKED),
        ("impersonate", "failed", Kind.BLOCKED),
        ("jina", "failed", Kind.RATE_LIMITED),
        ("firecrawl", "ok", None),
    ]
    assert [step.billed for step in result.steps] == [0, 0, 0, 1]
    assert result.steps[2].retry_at == 62 + 1
    assert lab.jobs("trafilatura")[0].evidence is None
    assert lab.jobs("impersonate")[0].evidence == FORBIDDEN
    assert lab.jobs("firecrawl")[0].evidence == Evidence(URL, "answered", 403, wall="cloudflare", body=b"x")
    assert lab.told == [
        (1, "trying", {"instance": "impersonate"}),
        (2, "trying", {"instance": "jina"}),
        (3, "trying", {"instance": "firecrawl"}),
    ]


async def test_readers_that_do_not_accept_the_target_are_no_step(autojump_clock):
    async with laboratory(row("youtube", good(), wants=lambda target: False), local(good())) as lab:
        result = await read(lab)

    assert steps(result) == [("trafilatura", "ok", None)]


async def test_nobody_accepting_the_target_is_a_failure_that_says_so(autojump_clock):
    async with laboratory(row("youtube", good(), wants=lambda target: False)) as lab:
        result = await read(lab)

    assert (result.status, result.reason, result.detail) == (
        "failed",
        Kind.UNSUPPORTED,
        "no reader accepts this address",
    )
    assert (result.page, result.provider, result.steps) == (None, None, ())


async def test_who_was_not_called_is_a_skipped_step(autojump_clock):
    rows = [local(Unsupported("binary")), free(good(), rate=Rate(1, 60)), paid("firecrawl", Denied("bad key"))]

    async with laboratory(*rows) as lab:
        await read(lab)
        result = await read(lab)

    assert steps(result) == [
        ("trafilatura", "failed", Kind.UNSUPPORTED),
        ("jina", "skipped", Kind.THROTTLED),
        ("firecrawl", "failed", Kind.DENIED),
    ]
    assert (result.status, result.reason, result.detail) == ("failed", Kind.UNSUPPORTED, "binary")
    assert result.steps[1].retry_at == 60


async def test_only_skipped_readers_give_the_first_ones_reason(autojump_clock):
    async with laboratory(free(good(), rate=Rate(1, 60))) as lab:
        await read(lab)
        result = await read(lab)

    assert (result.status, result.reason, result.detail) == ("failed", Kind.THROTTLED, "next slot in 60 s")


@pytest.mark.parametrize(
    ("error", "detail"), [(NotFound("404"), "404"), (Refused("address not allowed"), "address not allowed")]
)
async def test_a_page_that_is_gone_or_refused_ends_the_walk(autojump_clock, error, detail):
    async with laboratory(local(error), free(good()), paid("firecrawl", good())) as lab:
        result = await read(lab)

    assert (result.status, result.reason, result.detail) == ("failed", error.kind, detail)
    assert asked(lab) == {"trafilatura": 1}


async def test_a_page_that_says_404_in_its_signals_ends_the_walk_as_well(autojump_clock):
    rows = [local(Unavailable("x")), free(good(signals=Signals(status=404))), paid("firecrawl", good())]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert (result.status, result.reason, result.detail) == ("failed", Kind.NOT_FOUND, "target answered 404")
    assert asked(lab) == {"trafilatura": 1, "jina": 1}


@pytest.mark.parametrize(("status", "kind"), [(403, Kind.BLOCKED), (500, Kind.UNAVAILABLE)])
async def test_the_targets_error_behind_a_vendors_200_is_a_failure(autojump_clock, status, kind):
    async with laboratory(free(good(signals=Signals(status=status))), paid("firecrawl", good())) as lab:
        result = await read(lab)

    assert steps(result) == [("jina", "failed", kind), ("firecrawl", "ok", None)]


# --- failover groups ------------------------------------------------------------------------------------------------

GROUP = ("trafilatura", ("tavily-1", "tavily-2"), "firecrawl")


async def test_the_next_account_is_asked_when_one_has_no_credit(autojump_clock):
    rows = [
        local(Blocked("403", evidence=FORBIDDEN)),
        paid("tavily-1", QuotaSpent("432")),
        paid("tavily-2", good()),
        paid("firecrawl", good()),
    ]

    async with laboratory(*rows, read=GROUP) as lab:
        result = await read(lab)

    assert result.provider == "tavily-2"
    assert asked(lab) == {"trafilatura": 1, "tavily-1": 1, "tavily-2": 1}
    assert [fields["instance"] for _, _, fields in lab.told] == ["tavily-1", "tavily-2"]


@pytest.mark.parametrize("outcome", [Empty("nothing"), thin("short")])
async def test_another_account_is_not_paid_for_the_same_page(autojump_clock, outcome):
    rows = [
        local(Blocked("403", evidence=FORBIDDEN)),
        paid("tavily-1", outcome),
        paid("tavily-2", good()),
        paid("firecrawl", good()),
    ]

    async with laboratory(*rows, read=GROUP) as lab:
        result = await read(lab)

    assert result.provider == "firecrawl"
    assert asked(lab) == {"trafilatura": 1, "tavily-1": 1, "firecrawl": 1}


# --- thin pages, shells, walls, teasers -----------------------------------------------------------------------------


async def test_a_page_that_may_simply_be_short_is_tried_with_free_readers_only(autojump_clock):
    rows = [local(thin("short")), free(thin("a little longer")), paid("firecrawl", good()), crawl4ai(thin("x"))]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert (result.status, result.provider, result.notes) == ("success", "jina", (Note.THIN,))
    assert result.page.markdown == "a little longer"
    assert steps(result) == [
        ("trafilatura", "failed", Kind.THIN),
        ("jina", "failed", Kind.THIN),
        ("crawl4ai", "failed", Kind.THIN),
    ]
    assert lab.jobs("jina")[0].evidence == Evidence(URL, "answered", 200, thin=True)


@pytest.mark.parametrize("remote", [Blocked("captcha"), Unavailable("502"), thin("Just a moment...", wall="x")])
async def test_what_stops_a_remote_reader_is_no_reason_to_pay_for_a_short_page(autojump_clock, remote):
    async with laboratory(local(thin("short")), free(remote), paid("firecrawl", good())) as lab:
        result = await read(lab)

    assert (result.provider, result.notes) == ("trafilatura", (Note.THIN,))
    assert asked(lab) == {"trafilatura": 1, "jina": 1}


@pytest.mark.parametrize(
    "first",
    [
        thin("Loading", shell=True),
        thin("", shell=True),
        thin("Checking", wall="anubis"),
        thin("Subscribe", declared_paywall=True),
        thin(""),
        Blocked("403", evidence=FORBIDDEN),
        Unavailable("connection refused", evidence=Evidence(URL)),
        TooHeavy("memory", evidence=Evidence(URL, "answered", 200)),
    ],
    ids=["shell", "empty shell", "wall", "teaser", "empty", "blocked", "unreachable", "too heavy"],
)
async def test_paid_readers_are_asked_when_something_stood_in_the_way(autojump_clock, first):
    async with laboratory(local(first), free(thin("short")), paid("firecrawl", good())) as lab:
        result = await read(lab)

    assert result.provider == "firecrawl"
    assert asked(lab) == {"trafilatura": 1, "jina": 1, "firecrawl": 1}


async def test_a_special_reader_that_has_nothing_is_no_reason_to_pay(autojump_clock):
    rows = [row("scholarly", Empty("no open copy")), local(thin("short")), paid("firecrawl", good())]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert (result.provider, result.notes) == ("trafilatura", (Note.THIN,))
    assert asked(lab) == {"scholarly": 1, "trafilatura": 1}


async def test_a_teaser_is_the_last_resort_with_its_note(autojump_clock):
    teaser = Page(URL, "word after word " * 40, signals=Signals(declared_paywall=True), notes=(Note.DOWNGRADED,))

    async with laboratory(local(teaser), free(Blocked("x")), paid("firecrawl", Empty("x"))) as lab:
        result = await read(lab)

    assert (result.status, result.provider) == ("success", "trafilatura")
    assert result.notes == (Note.DOWNGRADED, Note.PAYWALL_TEASER)
    assert steps(result)[0] == ("trafilatura", "failed", Kind.TEASER)
    assert asked(lab) == {"trafilatura": 1, "jina": 1, "firecrawl": 1}


async def test_a_page_that_may_be_metered_is_tried_with_free_readers_and_returned_without_a_note(autojump_clock):
    metered = Page(URL, "word after word " * 40, signals=Signals(metered=True))

    async with laboratory(local(metered), free(Blocked("x")), paid("firecrawl", good())) as lab:
        result = await read(lab)

    assert (result.status, result.provider, result.notes) == ("success", "trafilatura", ())
    assert asked(lab) == {"trafilatura": 1, "jina": 1}


async def test_a_wall_is_never_returned(autojump_clock):
    wall = good(signals=Signals(wall="datadome"))

    async with laboratory(local(wall), free(Page(URL, "Verify you are human", title="Just a moment..."))) as lab:
        result = await read(lab)

    assert (result.status, result.page, result.reason) == ("failed", None, Kind.BLOCKED)
    assert [step.detail for step in result.steps] == ["bot wall: datadome", "bot wall: Just a moment..."]


async def test_a_wall_behind_a_200_is_evidence_for_the_next(autojump_clock):
    async with laboratory(local(thin("Checking", wall="anubis")), free(good())) as lab:
        await read(lab)

    assert lab.jobs("jina")[0].evidence == Evidence(URL, "answered", 200, wall="anubis")


async def test_a_wall_known_by_its_words_is_evidence_too(autojump_clock):
    wall = Page(URL, "Verify you are human", title="Just a moment...", signals=Signals(status=200))

    async with laboratory(local(wall), free(good())) as lab:
        await read(lab)

    assert lab.jobs("jina")[0].evidence == Evidence(URL, "answered", 200, "text/html", wall="challenge")


async def test_a_document_is_good_however_short(autojump_clock):
    async with laboratory(local(Page(URL, "a,b", signals=Signals(document=True))), free(good())) as lab:
        result = await read(lab)

    assert (result.provider, result.notes) == ("trafilatura", ())


async def test_a_pdf_without_text_goes_on_and_its_notice_is_the_last_resort(autojump_clock):
    notice = Page(URL, "This PDF holds pictures only. " * 20, signals=Signals(document=True, no_text_layer=True))

    def wants(target):
        return not target.evidence.no_text_layer

    rows = [local(notice), row("jina", good(), wants=wants, reach="third_party"), paid("tavily-1", Empty("x"))]
    async with laboratory(*rows) as lab:
        result = await read(lab)
    async with laboratory(local(notice), paid("tavily-1", thin("a line"))) as lab:
        better = await read(lab)

    assert (result.status, result.provider, result.notes) == ("success", "trafilatura", (Note.NO_TEXT_LAYER,))
    assert steps(result) == [("trafilatura", "failed", Kind.EMPTY), ("tavily-1", "failed", Kind.EMPTY)]
    assert (better.provider, better.notes) == ("tavily-1", (Note.THIN,))


async def test_a_kept_page_is_returned_even_if_another_reader_says_it_is_gone(autojump_clock):
    async with laboratory(local(thin("short")), free(NotFound("404"))) as lab:
        result = await read(lab)

    assert (result.status, result.provider) == ("success", "trafilatura")


# --- special readers ------------------------------------------------------------------------------------------------


async def test_when_every_final_reader_has_failed_the_walk_ends_with_their_reasons(autojump_clock):
    rows = [
        row("youtube", takes(1, Blocked("ip blocked")), final=True),
        paid("supadata", takes(1, Unavailable("502")), final=True),
        local(good()),
        row("other", good(), final=True, wants=lambda target: False),
    ]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert steps(result) == [("youtube", "failed", Kind.BLOCKED), ("supadata", "failed", Kind.UNAVAILABLE)]
    assert (result.status, result.reason, result.detail) == ("failed", Kind.BLOCKED, "ip blocked")


async def test_a_slow_final_reader_gets_no_ordinary_reader_beside_it(autojump_clock):
    async with laboratory(row("youtube", takes(20, good()), final=True), local(good())) as lab:
        result = await read(lab)

    assert (result.provider, result.elapsed) == ("youtube", 20)
    assert asked(lab) == {"youtube": 1}


async def test_special_readers_that_are_not_final_go_on(autojump_clock):
    async with laboratory(row("instagram", Empty("no video")), local(good())) as lab:
        result = await read(lab)

    assert steps(result) == [("instagram", "failed", Kind.EMPTY), ("trafilatura", "ok", None)]


# --- hedging --------------------------------------------------------------------------------------------------------


async def test_beside_a_reader_that_hangs_the_next_free_one_starts_after_twelve_seconds(autojump_clock):
    rows = [local(takes(99)), impersonate(good()), free(takes(1, good())), paid("firecrawl", good())]

    async with laboratory(*rows) as lab:
        result = await read(lab)
        in_flight = await lab.in_flight()

    assert (result.provider, result.elapsed) == ("jina", 13)
    assert steps(result) == [("trafilatura", "failed", Kind.CANCELLED), ("jina", "ok", None)]
    assert result.steps[0].elapsed == 13
    assert lab.calls("jina") == [12]
    assert asked(lab) == {"trafilatura": 1, "jina": 1}
    assert in_flight == 0


async def test_a_quarter_of_the_calls_time_where_that_is_less(autojump_clock):
    async with laboratory(local(takes(99)), free(takes(1, good()))) as lab:
        result = await read(lab, timeout=20)

    assert lab.calls("jina") == [5]
    assert result.elapsed == 6


async def test_each_further_one_starts_as_long_after_the_one_before(autojump_clock):
    rows = [local(takes(99)), free(takes(99)), row("reader", takes(99)), row("last", takes(99))]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert [lab.calls(name) for name in lab.providers] == [[0], [12], [24], [36]]
    # Half of what was left: 25 of 55 s, 21.5 of 43, 15.5 of 31; nobody comes after the last.
    assert [(step.reason, step.elapsed) for step in result.steps] == [
        (Kind.TIMEOUT, 25),
        (Kind.TIMEOUT, 21.5),
        (Kind.TIMEOUT, 15.5),
        (Kind.TIMEOUT, 19),
    ]
    assert (result.status, result.reason, result.elapsed) == ("timeout", Kind.TIMEOUT, 55)


async def test_the_slow_reader_may_still_win(autojump_clock):
    async with laboratory(local(takes(14, good("local"))), free(takes(5, good("remote")))) as lab:
        result = await read(lab)

    assert (result.provider, result.elapsed) == ("trafilatura", 14)
    assert steps(result) == [("trafilatura", "ok", None), ("jina", "failed", Kind.CANCELLED)]


async def test_a_paid_reader_is_no_hedge_and_starts_when_the_earlier_ones_time_has_passed(autojump_clock):
    async with laboratory(local(takes(99)), paid("firecrawl", takes(1, good()))) as lab:
        result = await read(lab)

    assert lab.calls("firecrawl") == [25]
    assert (result.provider, result.elapsed) == ("firecrawl", 26)
    assert steps(result) == [("trafilatura", "failed", Kind.TIMEOUT), ("firecrawl", "ok", None)]


async def test_a_paid_reader_waits_for_the_free_one_that_was_started_beside(autojump_clock):
    rows = [local(takes(20, Unavailable("x"))), paid("jina", good()), row("other", takes(15, Empty("x")))]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert (lab.calls("other"), lab.calls("jina")) == ([12], [27])
    assert result.provider == "jina"


async def test_a_slow_paid_reader_gets_a_free_one_beside_it(autojump_clock):
    rows = [local(Blocked("x", evidence=FORBIDDEN)), paid("jina", takes(99)), crawl4ai(takes(1, good()))]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert lab.calls("crawl4ai") == [12]
    assert [(step.instance, step.reason, step.billed) for step in result.steps] == [
        ("trafilatura", Kind.BLOCKED, 0),
        ("jina", Kind.CANCELLED, 1),
        ("crawl4ai", None, 0),
    ]


async def test_a_refusal_that_comes_late_gives_impersonate_its_turn_at_once(autojump_clock):
    rows = [
        local(takes(14, Blocked("403", evidence=FORBIDDEN))),
        impersonate(takes(1, good())),
        free(takes(9, good())),
    ]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert (lab.calls("jina"), lab.calls("impersonate")) == ([12], [14])
    assert (result.provider, result.elapsed) == ("impersonate", 15)


async def test_a_free_reader_that_was_passed_over_waits_while_an_earlier_one_is_busy(autojump_clock):
    # "later" is wanted once there is a refusal; its turn comes when the reader before it has failed too.
    def wants(target):
        return target.evidence is not None

    rows = [
        row("first", takes(13, Blocked("403", evidence=FORBIDDEN))),
        row("second", takes(20, Empty("x"))),
        row("later", takes(1, good()), wants=wants, impersonate=True),
        row("third", takes(99)),
    ]
    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert [lab.calls(name) for name in ("first", "second", "third", "later")] == [[0], [12], [24], [32]]
    assert (result.provider, result.elapsed) == ("later", 33)


async def test_crawl4ai_is_a_hedge_only_once_a_handshake_is_known(autojump_clock):
    async def connects(target):
        await trio.sleep(1)
        target.progress.reached = "connected"
        await trio.sleep(99)

    async def hangs(target):
        target.progress.reached = "nothing"
        await trio.sleep(99)

    async with laboratory(local(connects), crawl4ai(takes(1, good()))) as lab:
        connected = await read(lab)
        started = lab.calls("crawl4ai")
    async with laboratory(local(hangs), crawl4ai(good()), paid("firecrawl", good())) as lab:
        silent = await read(lab)

    assert (connected.provider, started[0]) == ("crawl4ai", 12)
    assert silent.provider == "firecrawl"
    assert asked(lab) == {"trafilatura": 1, "firecrawl": 1}


async def test_crawl4ai_is_not_asked_where_no_connection_was_completed(autojump_clock):
    rows = [local(Unavailable("refused", evidence=Evidence(URL))), crawl4ai(good()), paid("firecrawl", good())]

    async with laboratory(*rows) as lab:
        result = await read(lab)

    assert result.provider == "firecrawl"
    assert asked(lab) == {"trafilatura": 1, "firecrawl": 1}


async def test_crawl4ai_is_asked_where_nothing_is_known_of_the_connection(autojump_clock):
    async with laboratory(local(takes(99)), crawl4ai(good())) as lab:
        result = await read(lab)

    assert (result.provider, lab.calls("crawl4ai")) == ("crawl4ai", [25])


# --- the deadline ---------------------------------------------------------------------------------------------------


async def test_at_the_deadline_the_kept_page_is_returned(autojump_clock):
    async with laboratory(local(thin("short")), free(takes(99))) as lab:
        result = await read(lab, timeout=10)

    assert (result.status, result.provider, result.notes, result.elapsed) == (
        "success",
        "trafilatura",
        (Note.THIN,),
        10,
    )
    assert steps(result)[1] == ("jina", "failed", Kind.TIMEOUT)


async def test_at_the_deadline_without_a_page_the_read_is_a_timeout(autojump_clock):
    async with laboratory(local(takes(99)), free(takes(99))) as lab:
        result = await read(lab, timeout=10)

    assert (result.status, result.reason, result.elapsed) == ("timeout", Kind.TIMEOUT, 10)
    assert [(step.instance, step.elapsed) for step in result.steps] == [("trafilatura", 5), ("jina", 7.5)]


async def test_a_shutdown_shortens_a_read(autojump_clock):
    async with laboratory(local(takes(99))) as lab:
        lab.pipelines.shorten_deadlines(16)
        result = await read(lab)

    assert (result.status, result.elapsed) == ("timeout", 16)


async def test_a_row_with_a_longer_time_of_its_own_gets_it(autojump_clock):
    async with laboratory(local(takes(38, good()), timeout=40), request_timeout=25) as lab:
        result = await read(lab)

    assert (result.status, result.elapsed) == ("success", 38)


async def test_a_caller_who_leaves_stops_all_readers(autojump_clock):
    async with laboratory(local(takes(99)), free(takes(99))) as lab:
        with trio.move_on_after(13) as scope:
            await read(lab)
        in_flight = await lab.in_flight()

    assert scope.cancelled_caught
    assert in_flight == 0


# --- what may be sent where -----------------------------------------------------------------------------------------


async def test_a_refused_or_secret_address_is_not_handed_to_remote_readers(autojump_clock):
    rows = [
        local(Unavailable("x", evidence=Evidence(URL, "connected"))),
        free(good()),
        crawl4ai(good()),
        paid("firecrawl", good()),
        paid("brightdata", good()),
    ]
    guard = Checking({URL: Kind.NOT_SENT})

    async with laboratory(*rows, guard=guard) as lab:
        result = await read(lab)

    assert [(step.status, step.reason, step.detail) for step in result.steps[1:]] == [
        ("skipped", Kind.NOT_SENT, "not sent to a third party")
    ] * 4
    assert guard.asked == [(URL, "third_party"), (URL, "self_hosted")]
    assert (result.status, result.reason) == ("failed", Kind.UNAVAILABLE)
    assert asked(lab) == {"trafilatura": 1}


async def test_an_address_that_nobody_may_fetch_says_so(autojump_clock):
    async with laboratory(free(good()), guard=Checking({URL: Kind.REFUSED})) as lab:
        result = await read(lab)

    assert (result.status, result.reason, result.detail) == ("failed", Kind.REFUSED, "address not allowed")


async def test_the_fragment_stays_here(autojump_clock):
    async with laboratory(local(Unavailable("x")), free(good())) as lab:
        await read(lab, f"{URL}#part")

    assert [lab.jobs(name)[0].url for name in ("trafilatura", "jina")] == [f"{URL}#part", URL]


async def test_where_a_remote_reader_ended_up_is_checked_before_it_is_shown(autojump_clock):
    inside, secret, plain = "http://10.0.0.1/", "https://site.example/?token=1", "https://site.example/b"
    guard = Checking({inside: Kind.REFUSED, secret: Kind.NOT_SENT})
    results = {}

    for final_url in (inside, secret, plain, URL, ""):
        async with laboratory(free(good(final_url=final_url)), guard=guard) as lab:
            results[final_url] = await read(lab)

    assert (results[inside].status, results[inside].detail) == ("failed", "address not allowed")
    assert [results[url].page.final_url for url in (secret, plain, URL, "")] == [URL, plain, URL, ""]


# --- robots.txt -----------------------------------------------------------------------------------------------------


async def test_robots_txt_is_asked_first_and_may_forbid(autojump_clock):
    async with laboratory(local(takes(1, False)), free(good())) as lab:
        result = await read(lab, robots_txt=True)

    assert (result.status, result.reason, result.detail) == ("failed", Kind.REFUSED, "robots.txt denied")
    assert [(step.instance, step.status, step.detail, step.elapsed) for step in result.steps] == [
        ("trafilatura", "failed", "robots.txt denied", 1)
    ]
    assert lab.jobs("trafilatura") == [RobotsQuery(URL)]
    assert asked(lab) == {"trafilatura": 1}


async def test_robots_txt_may_allow(autojump_clock):
    rows = [row("jina", good(), roles=frozenset({Role.READ}), wants=lambda target: False), local(True, good())]

    async with laboratory(*rows) as lab:
        result = await read(lab, robots_txt=True)

    assert [(step.instance, step.status, step.detail) for step in result.steps] == [
        ("trafilatura", "ok", "robots.txt allows"),
        ("trafilatura", "ok", None),
    ]
    assert result.status == "success"
    assert lab.told == []


async def test_robots_txt_that_cannot_be_asked_is_said_to_be_so(autojump_clock):
    async with laboratory(local(Malformed("too large"))) as lab:
        failed = await read(lab, robots_txt=True)
    async with laboratory(local(Malformed(""))) as lab:
        silent = await read(lab, robots_txt=True)
    async with laboratory(local(takes(99))) as lab:
        slow = await read(lab, robots_txt=True)
    async with laboratory(local(Refused("address not allowed"))) as lab:
        refused = await read(lab, robots_txt=True)
    async with laboratory(row("jina", good(), roles=frozenset({Role.READ}))) as lab:
        nobody = await read(lab, robots_txt=True)

    assert (failed.status, failed.reason) == ("failed", Kind.MALFORMED)
    assert failed.detail == "robots.txt could not be asked: too large"
    assert silent.detail == "robots.txt could not be asked: malformed"
    assert (slow.status, slow.reason, slow.elapsed) == ("failed", Kind.TIMEOUT, 25)
    assert (refused.reason, refused.detail) == (Kind.REFUSED, "address not allowed")
    assert nobody.detail == "robots.txt could not be asked: no reader for it is configured"
    assert (nobody.page, asked(lab)) == (None, {})


async def test_the_deadline_may_come_while_robots_txt_is_asked(autojump_clock):
    async with laboratory(local(takes(99))) as lab:
        lab.pipelines.shorten_deadlines(5)
        result = await read(lab, robots_txt=True)

    assert (result.status, result.elapsed) == ("timeout", 5)
    assert steps(result) == [("trafilatura", "failed", Kind.TIMEOUT)]


@pytest.mark.parametrize("url", ["http://10.0.0.7/report", f"{URL}?token=secret", "http://wiki/page"])
async def test_third_party_that_never_gets_the_address_takes_no_time_from_a_slow_reader(autojump_clock, url):
    guard = Checking({url: Kind.NOT_SENT})
    async with laboratory(local(takes(8, good())), free(good()), guard=guard) as lab:
        result = await read(lab, url=url, timeout=10)

    assert (result.status, result.provider) == ("success", "trafilatura")
    assert [step.instance for step in result.steps if step.status == "ok"] == ["trafilatura"]
