"""Bot walls and paywalls in markup: each known mark is seen, and pages about them or with a vendor's script are not."""

from __future__ import annotations

import pytest

from providers._contract import Document, Signals
from providers._extract.html import html_to_page

PROSE = (
    "<p>The harbour office keeps a paper log beside the electronic one, because the gauge has failed twice.</p>" * 20
)


def signals_of(body: str, **fields: object) -> Signals:
    fields = {"url": "https://port.example/log", "final_url": "https://port.example/log"} | fields
    return html_to_page(Document(body=body.encode(), **fields)).signals  # type: ignore[arg-type]


HEADERS = {
    "cloudflare": ("cf-mitigated", "challenge"),
    "vercel": ("x-vercel-mitigated", "deny"),
    "aws-waf": ("x-amzn-waf-action", "captcha"),
    "datadome": ("x-dd-b", "1"),
}


@pytest.mark.parametrize(("wall", "header"), HEADERS.items(), ids=HEADERS)
def test_header_of_a_challenge_names_the_wall(wall: str, header: tuple[str, str]) -> None:
    assert signals_of("<p>x</p>", headers=(header,)).wall == wall


def test_headers_of_good_answers_name_no_wall() -> None:
    headers = (("server", "cloudflare"), ("cf-ray", "1"), ("x-datadome", "protected"), ("x-iinfo", "1"))

    assert signals_of(PROSE, headers=headers).wall is None


MARKS = {
    "cloudflare script": ("cloudflare", "<script>window._cf_chl_opt={cvId:'3'}</script>"),
    "cloudflare path": (
        "cloudflare",
        "<script src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1'></script>",
    ),
    "cloudflare form": ("cloudflare", "<form action='/log?__cf_chl_f_tk=abc'></form>"),
    "cloudflare block": ("cloudflare", "<span class='cf-error-code'>1020</span>"),
    "akamai container": ("akamai", "<div id='sec-if-cpt-container'></div>"),
    "datadome": ("datadome", "<script>var dd={'rt':'c','cid':'x','t':'fe'}</script>"),
    "datadome frame": ("datadome", "<iframe src='https://geo.captcha-delivery.com/captcha/'></iframe>"),
    "perimeterx": ("perimeterx", "<div id='px-captcha'></div>"),
    "imperva": ("imperva", "<iframe src='/_Incapsula_Resource?SWUDNSAI=9&incident_id=1'></iframe>"),
    "aws": ("aws-waf", "<script>window.gokuProps = {}</script>"),
    "anubis": ("anubis", "<script id='anubis_challenge' type='application/json'>{}</script>"),
    "kasada": ("kasada", "<script>KPSDK.scriptStart=KPSDK.now()</script>"),
    "consent": ("consent", "<form action='https://consent.youtube.com/save'></form>".replace("save", "s")),
    "title": ("ddos-guard", "<title>DDoS-Guard</title><p>Checking</p>"),
    "captcha alone": ("captcha", "<form><div class='g-recaptcha'></div></form><p>One more step</p>"),
}


@pytest.mark.parametrize(("wall", "markup"), MARKS.values(), ids=MARKS)
def test_mark_of_a_challenge_page_names_the_wall(wall: str, markup: str) -> None:
    assert signals_of(f"<html><body>{markup}</body></html>").wall == wall


GOOD = {
    "sensor script": "<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>" + PROSE,
    "captcha in a comment form": PROSE + "<form><div class='g-recaptcha' data-sitekey='x'></div></form>",
    "markers as escaped text": PROSE + "<pre>&lt;script&gt;window._cf_chl_opt={}&lt;/script&gt;</pre>",
    "akamai sensor": "<script src='/akam/13/abc'></script>" + PROSE,
    "incapsula sensor": "<script src='/_Incapsula_Resource?SWJIYLWA=719'></script>" + PROSE,
    "kasada configure": "<script>KPSDK.configure([])</script>" + PROSE,
    "name in style": "<style>#px-captcha{color:red}</style>" + PROSE,
    "words in prose": PROSE + "<p>Just a moment... Access Denied</p>",
}


@pytest.mark.parametrize("markup", GOOD.values(), ids=GOOD)
def test_vendor_script_or_talk_about_walls_is_no_wall(markup: str) -> None:
    assert signals_of(f"<html><body>{markup}</body></html>").wall is None


def test_redirect_to_a_consent_page_is_a_consent_wall() -> None:
    assert signals_of("<p>Cookies</p>", final_url="https://consent.google.com/m?continue=x").wall == "consent"


@pytest.mark.parametrize("value", ["false", '"False"', '"http://schema.org/False"'])
def test_json_ld_that_says_not_free_declares_a_paywall(value: str) -> None:
    node = '{"@graph":[{"@type":["NewsArticle"],"isAccessibleForFree":VALUE,"hasPart":{"cssSelector":".paid"}}]}'
    node = node.replace("VALUE", value)

    signals = signals_of(f'<script type="application/ld+json">{node}</script>{PROSE}')

    assert signals.declared_paywall


def test_paid_part_that_is_missing_is_a_cut() -> None:
    node = '{"@type":"NewsArticle","isAccessibleForFree":false,"hasPart":{"cssSelector":".paid"}}'
    script = f'<script type="application/ld+json">{node}</script>'

    assert signals_of(script + PROSE).cut
    assert not signals_of(f"{script}<div class='x paid'>{PROSE}</div>").cut


def test_declared_word_count_of_twice_the_text_is_a_cut() -> None:
    assert signals_of(f'<script type="application/ld+json">{{"wordCount":9000}}</script>{PROSE}').cut


def test_content_tier_is_read_from_meta() -> None:
    metered = signals_of(f'<meta property="article:content_tier" content="metered">{PROSE}')
    locked = signals_of(f'<meta name="article:content_tier" content="locked">{PROSE}')

    assert (metered.metered, metered.declared_paywall) == (True, False)
    assert locked.declared_paywall


def test_script_shell_is_said_and_a_short_page_is_none() -> None:
    assert signals_of("<div id=root></div><script src=a.js></script>").shell
    assert not signals_of("<main><p>The quay is closed on Friday.</p></main>").shell


def test_status_and_headline_travel_with_the_page() -> None:
    signals = signals_of(f"<h1>Tide <b>log</b></h1>{PROSE}", status=404)

    assert (signals.status, signals.headline) == (404, "Tide log")
