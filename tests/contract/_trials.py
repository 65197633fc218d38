"""What every provider type is put through, and what may come of it: the table of security/FACTS.md D1, and part C1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from providers._contract import Kind
from tests.fakenet import faults
from tests.fakenet._faults import Fault

# A piece of what remotes send in their errors; no error of ours may repeat it.
BODY_CANARY = "canary-of-the-body-5d2f"

ANSWER = None
"""An outcome that is a value and no error."""

Outcomes = frozenset[Kind | None]


def _of(*kinds: Kind | None) -> Outcomes:
    return frozenset(kinds)


@dataclass(frozen=True, slots=True)
class Trial:
    """One fault, with the outcomes allowed where it is a vendor's, and where it is a site's whose page is read.

    retry_after: what the error must say, in seconds, give or take two.
    """

    name: str
    fault: Fault
    vendor: Outcomes
    site: Outcomes
    retry_after: float | None = None


def _status(code: int, vendor: Kind, *site: Kind, body: str = BODY_CANARY, **headers: str) -> Trial:
    return Trial(str(code), faults.status(code, body, **headers), _of(vendor), _of(*site))


UNAVAILABLE = _of(Kind.UNAVAILABLE)
MALFORMED = _of(Kind.MALFORMED)
BROKEN_PAGE = _of(Kind.MALFORMED, Kind.EMPTY, Kind.UNSUPPORTED, ANSWER)
OVER = _of(Kind.TOO_LARGE)

CONNECTION = (
    Trial("reset before the answer", faults.reset_before_answer(), UNAVAILABLE, UNAVAILABLE),
    Trial("closed before the answer", faults.closed_before_answer(), UNAVAILABLE, UNAVAILABLE),
    Trial("reset in the body", faults.reset_in_body(), UNAVAILABLE, UNAVAILABLE),
    Trial("short body", faults.short_body(), UNAVAILABLE, UNAVAILABLE),
    Trial("truncated gzip", faults.truncated_gzip(), UNAVAILABLE, UNAVAILABLE),
    Trial("two lengths", faults.two_lengths(), MALFORMED, MALFORMED),
    Trial("negative length", faults.negative_length(), MALFORMED, MALFORMED),
    Trial("no HTTP", faults.no_http(), MALFORMED, MALFORMED),
    Trial("unknown encoding", faults.unknown_encoding(), MALFORMED, MALFORMED),
    Trial("gzip without gzip", faults.unknown_encoding("gzip"), MALFORMED, MALFORMED),
)

STATUSES = (
    _status(400, Kind.MALFORMED, Kind.UNSUPPORTED),
    _status(401, Kind.DENIED, Kind.BLOCKED, body=json.dumps({"error": BODY_CANARY})),
    _status(402, Kind.QUOTA_SPENT, Kind.UNSUPPORTED),
    _status(403, Kind.DENIED, Kind.BLOCKED, body=json.dumps({"error": BODY_CANARY})),
    _status(404, Kind.MALFORMED, Kind.NOT_FOUND),
    _status(410, Kind.MALFORMED, Kind.NOT_FOUND),
    _status(500, Kind.UNAVAILABLE, Kind.UNAVAILABLE),
    _status(501, Kind.MALFORMED, Kind.UNAVAILABLE),
    _status(502, Kind.UNAVAILABLE, Kind.UNAVAILABLE),
    _status(503, Kind.UNAVAILABLE, Kind.BLOCKED),
    _status(504, Kind.UNAVAILABLE, Kind.UNAVAILABLE),
    _status(505, Kind.MALFORMED, Kind.UNAVAILABLE),
    Trial("403 challenge", faults.challenge(), _of(Kind.DENIED, Kind.BLOCKED), _of(Kind.BLOCKED)),
    Trial("503 challenge", faults.challenge(503), _of(Kind.UNAVAILABLE, Kind.BLOCKED), _of(Kind.BLOCKED)),
)


def _limited(name: str, fault: Fault, seconds: float) -> Trial:
    return Trial(name, fault, _of(Kind.RATE_LIMITED), _of(Kind.BLOCKED), retry_after=seconds)


RATE_LIMITS = (
    _limited("429", faults.status(429, BODY_CANARY), 60),
    _limited("429 in seconds", faults.retry_after("30"), 30),
    _limited("429 at a date", faults.retry_after_date(40), 40),
    _limited("429 at a date of another clock", faults.retry_after_date(40, skew=-7200), 40),
    _limited("429 junk", faults.retry_after("soon"), 60),
    _limited("429 negative", faults.retry_after("-5"), 1),
    _limited("429 past", faults.retry_after_date(-3600), 1),
    _limited("429 huge", faults.retry_after("1" + "0" * 30), 86400),
    _limited("429 of 5000 digits", faults.retry_after("9" * 5000), 86400),
    _limited("503 in seconds", faults.retry_after("30", 503), 30),
)

BODIES = (
    Trial("no body", faults.body(""), MALFORMED, BROKEN_PAGE),
    Trial("broken JSON", faults.body('{"results": [{"url": "' + BODY_CANARY), MALFORMED, BROKEN_PAGE),
    Trial("HTML page", faults.html_page(), MALFORMED, BROKEN_PAGE),
    Trial("NaN", faults.body('{"results": NaN, "data": NaN}'), MALFORMED, BROKEN_PAGE),
    Trial("lone surrogate", faults.body(r'{"\ud800": "\udfff"}'), MALFORMED, BROKEN_PAGE),
    Trial("deep JSON", faults.deep_json(), MALFORMED, BROKEN_PAGE | _of(Kind.TOO_HEAVY)),
    Trial("5000 digits", faults.body('{"results": ' + "9" * 5000 + "}"), MALFORMED, BROKEN_PAGE),
    Trial("list", faults.body("[]"), MALFORMED, BROKEN_PAGE),
    Trial("null", faults.body("null"), MALFORMED, BROKEN_PAGE),
    Trial("string", faults.body(json.dumps(BODY_CANARY)), MALFORMED, BROKEN_PAGE),
    Trial(
        "200 with an error",
        faults.body(json.dumps({"error": {"code": "internal", "message": BODY_CANARY}})),
        MALFORMED,
        BROKEN_PAGE,
    ),
    Trial("half of the body", faults.truncated_body(), MALFORMED | _of(ANSWER), BROKEN_PAGE),
    Trial("11 MB of JSON", faults.large_json(), MALFORMED, BROKEN_PAGE | OVER),
    Trial("20 MB", faults.large(), MALFORMED, OVER),
    Trial("gzip bomb", faults.gzip_bomb(), MALFORMED, OVER),
    Trial("gzip in gzip in gzip", faults.gzip_bomb(layers=3), MALFORMED, MALFORMED),
)

MANY_COOKIES = Trial("many cookies", faults.cookies(150), _of(ANSWER), _of(ANSWER))
GOOD = (
    Trial("compressed", faults.gzipped(), _of(ANSWER), _of(ANSWER)),
    MANY_COOKIES,
    Trial("late", faults.latency(0.05), _of(ANSWER), _of(ANSWER)),
)

# The remote never finishes: the outcome may also be that the deadline has passed.
ENDLESS = (
    Trial("silent", faults.silent(), _of(), _of()),
    Trial("slow body", faults.slow_body(), _of(), _of()),
    Trial("dribble", faults.dribble(), _of(), _of()),
    Trial("dribbled head", faults.dribble(head_too=True), _of(), _of()),
    Trial("early hints", faults.early_hints(), MALFORMED, MALFORMED),
    Trial("endless body", faults.endless(), MALFORMED, OVER),
    Trial("endless tiny chunks", faults.endless(1), MALFORMED, OVER),
)

GROUPS: Mapping[str, tuple[Trial, ...]] = {
    "connection": CONNECTION,
    "statuses": STATUSES,
    "rate limits": RATE_LIMITS,
    "bodies": BODIES,
    "good": GOOD,
}
