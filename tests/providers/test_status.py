"""Statuses, Retry-After and the headers of bot walls."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from email.utils import format_datetime

import httpx
import pytest

from providers._contract import (
    Blocked,
    Denied,
    Malformed,
    NotFound,
    ProviderError,
    QuotaSpent,
    RateLimited,
    Unavailable,
    Unsupported,
)
from providers._status import Rule, raise_for_status, retry_after, site_error, wall_of

DATE = "Tue, 01 Sep 2026 12:00:00 GMT"


def error_of(status: int, rules: tuple[Rule, ...] = (), body: bytes = b"", **headers: str) -> ProviderError | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        raise_for_status(httpx.Response(status, headers=named, content=body), rules)
    except ProviderError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("status", "kind", "retry"),
    [
        *((status, Unavailable, True) for status in (500, 502, 503, 504, 520, 530, 408)),
        *((status, Malformed, None) for status in (501, 505, 400, 404, 405, 410, 422, 301, 302, 307, 304)),
        *((status, Denied, None) for status in (401, 403)),
        (402, QuotaSpent, None),
        (429, RateLimited, None),
    ],
)
def test_a_vendors_status_is_a_typed_error(status: int, kind: type[ProviderError], retry: bool | None) -> None:
    error = error_of(status, body=b"body with a KEY in it", location="http://elsewhere.example.com/")

    assert type(error) is kind
    assert str(status) in error.detail
    assert "KEY" not in f"{error!r}"
    assert "elsewhere" not in f"{error!r}"
    assert retry is None or error.retry is retry


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_a_success_is_no_error(status: int) -> None:
    assert error_of(status) is None


def test_503_with_retry_after_is_a_rate_limit() -> None:
    error = error_of(503, retry_after="30")

    assert type(error) is RateLimited
    assert error.retry_after == 30


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 60), ("", 60), ("soon", 60), ("NaN", 60), ("inf", 60), ("1e400", 60), ("0x10", 60), ("1 2", 60),
        ("7", 7), (" 7 ", 7), ("2.5", 2.5), ("+3", 3), ("0", 1), ("-5", 1), ("-" + "9" * 400, 1),
        ("1" + "0" * 30, 86400), ("9" * 5000, 86400), ("86401", 86400), ("\u0667", 60),
        ("Tue, 01 Sep 2026 12:00:45 GMT", 45), ("Tue, 01 Sep 2026 11:00:00 GMT", 1),
        ("Tue, 01 Sep 2099 12:00:00 GMT", 86400),
        ("Tuesday, 01-Sep-26 12:00:45 GMT", 45), ("Tue, 01 Sep 9999999999 12:00:00 GMT", 60),
        ("Tue, 99 Sep 2026 12:00:00 GMT", 60),
    ],
)  # fmt: skip
def test_retry_after_in_every_form(text: str | None, seconds: float) -> None:
    headers = {"date": DATE} if text is None else {"date": DATE, "retry-after": text}

    assert retry_after(headers) == seconds


@pytest.mark.parametrize("date", [{}, {"date": "yesterday"}])
def test_retry_after_as_a_date_is_read_against_our_clock_where_the_answer_has_no_date(date: dict[str, str]) -> None:
    then = format_datetime(datetime.fromtimestamp(time.time() + 100, UTC), usegmt=True)

    assert 97 <= retry_after({**date, "retry-after": then}) <= 100


RULES = (
    Rule(QuotaSpent, status=400, needle="not enough credits"),
    Rule(QuotaSpent, status=429, field="error.code", value="INSUFFICIENT_FUNDS_CREDITS", detail="out of credit"),
    Rule(RateLimited, status=418, retry_after=5.0),
    Rule(Denied, field="code", value="15"),
)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"message": "Not enough credits"}, QuotaSpent),
        (400, {"message": "missing q"}, Malformed),
        (403, {"message": "Not enough credits"}, Denied),
        (429, {"error": {"code": "INSUFFICIENT_FUNDS_CREDITS"}}, QuotaSpent),
        (429, {"error": {"code": "TOO_MANY_REQUESTS"}}, RateLimited),
        (429, {"error": "INSUFFICIENT_FUNDS_CREDITS"}, RateLimited),
        (429, {"error": {"code": ["INSUFFICIENT_FUNDS_CREDITS"]}}, RateLimited),
        (429, ["INSUFFICIENT_FUNDS_CREDITS"], RateLimited),
        (418, {}, RateLimited),
        (200, {"code": 15}, Denied),
        (200, {"code": "15"}, Denied),
        (500, {"code": 15}, Denied),
        (200, {"code": 16}, type(None)),
    ],
)
def test_a_vendors_own_rules_go_first(status: int, body: object, kind: type) -> None:
    assert type(error_of(status, RULES, json.dumps(body).encode())) is kind


def test_a_rule_over_a_body_that_is_no_json_does_not_apply() -> None:
    assert type(error_of(429, RULES, b"<html>INSUFFICIENT_FUNDS_CREDITS")) is RateLimited
    assert type(error_of(429, RULES, b"[" * 100_000)) is RateLimited


def test_a_rule_says_what_the_report_says() -> None:
    error = error_of(429, RULES, b'{"error": {"code": "INSUFFICIENT_FUNDS_CREDITS"}}')

    assert error is not None
    assert error.detail == "out of credit"
    limited = error_of(418, RULES)
    assert limited is not None
    assert (limited.detail, limited.retry_after) == ("status 418", 5.0)


@pytest.mark.parametrize(
    ("status", "headers", "wall"),
    [
        (403, {"cf-mitigated": "challenge"}, "cloudflare"),
        (200, {"cf-mitigated": "Challenge"}, "cloudflare"),
        (429, {"x-vercel-mitigated": "challenge"}, "vercel"),
        (403, {"x-vercel-mitigated": "deny"}, "vercel"),
        (202, {"x-amzn-waf-action": "challenge"}, "aws-waf"),
        (405, {"x-amzn-waf-action": "captcha"}, "aws-waf"),
        (403, {"x-dd-b": "1"}, "datadome"),
        (403, {"x-dd-b": "2"}, "datadome"),
        (403, {"x-datadome-cid": "abc"}, "datadome"),
        (403, {"x-datadome": "blocked"}, "datadome"),
        (429, {"x-kpsdk-ct": "abc"}, "kasada"),
        (999, {}, "linkedin"),
        (200, {"server": "cloudflare", "cf-ray": "1", "x-datadome": "protected"}, None),
        (200, {"x-kpsdk-ct": "abc", "x-iinfo": "1", "x-cdn": "Imperva", "set-cookie": "_abck=1"}, None),
        (200, {"x-dd-b": "0", "cf-mitigated": "", "x-vercel-mitigated": "log"}, None),
    ],
)
def test_decisive_headers_name_the_wall(status: int, headers: dict[str, str], wall: str | None) -> None:
    error = site_error(status, httpx.Headers(headers))

    assert wall_of(status, httpx.Headers(headers)) == wall
    assert (type(error) is Blocked) == (wall is not None)


@pytest.mark.parametrize(
    ("status", "kind", "retry"),
    [
        *((status, type(None), None) for status in (200, 202, 203, 206)),
        *((status, NotFound, None) for status in (404, 410)),
        *((status, Blocked, None) for status in (401, 403, 429, 451, 503)),
        *((status, Unavailable, True) for status in (500, 502, 504, 520, 408, 425)),
        *((status, Unavailable, False) for status in (501, 505)),
        *((status, Unsupported, None) for status in (300, 304, 400, 402, 405, 406, 409, 418)),
    ],
)
def test_a_sites_status_is_a_typed_error(status: int, kind: type, retry: bool | None) -> None:
    error = site_error(status, httpx.Headers())

    assert type(error) is kind
    assert retry is None or (error is not None and error.retry is retry)
