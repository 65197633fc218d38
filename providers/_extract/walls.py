"""Bot walls and consent walls by headers, final address and real markup (vendors/bot-walls.md 1, 2, 4, 5; 2026-11).

A vendor's script on a page is no wall: one good page in eighteen loads Cloudflare's. So only marks count that stand
on the challenge page itself, and only as real elements, attributes and inline scripts; text about them never matches.
Phrases on short pages are judged later, on the finished text (`actors/judge.py`).
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from providers._contract import Document

BARE_CHARS = 500
"""A captcha is a wall by itself only on a page with less visible text than this."""
MAX_SCRIPT_CHARS = 200_000

_SCRIPT_MARKS = (
    ("cloudflare", re.compile(r"window\._cf_chl_opt|/cdn-cgi/challenge-platform/h/[bg]/orchestrate/")),
    ("datadome", re.compile(r"\bdd\s*=\s*\{\s*['\"]?rt['\"]?\s*:\s*['\"][ci]['\"]")),
    ("akamai", re.compile(r"bm-verify|/_sec/cp_challenge/")),
    ("aws-waf", re.compile(r"window\.gokuProps")),
    ("kasada", re.compile(r"KPSDK\.scriptStart\s*=\s*KPSDK\.now\(\)")),
    ("vercel", re.compile(r"/\.well-known/vercel/security/")),
)
_SOURCE_MARKS = (
    ("cloudflare", re.compile(r"/cdn-cgi/challenge-platform/h/[bg]/orchestrate/|__cf_chl_(?:f_)?tk")),
    ("datadome", re.compile(r"//[\w.-]*captcha-delivery\.com/")),
    ("akamai", re.compile(r"//errors\.edgesuite\.net/|/_sec/cp_challenge/")),
    ("imperva", re.compile(r"/_Incapsula_Resource\?[^\"']*incident_id=", re.IGNORECASE)),
    ("anubis", re.compile(r"/\.within\.website/x/cmd/anubis/")),
    ("vercel", re.compile(r"/\.well-known/vercel/security/")),
    ("google", re.compile(r"//(?:www\.)?google\.[a-z.]+/sorry/")),
    ("yandex", re.compile(r"/showcaptcha(?:fast)?\?")),
    ("aliexpress", re.compile(r"/punish\?x5secdata=")),
    ("radware", re.compile(r"//[\w.-]*perfdrive\.com/")),
)
_ELEMENT_MARKS = (
    (
        "cloudflare",
        "cf-error-",
        "//*[contains(concat(' ', normalize-space(@class), ' '), ' cf-error-code ') or @id='cf-error-details']",
    ),
    ("akamai", "sec-if-cpt-container", "//*[@id='sec-if-cpt-container']"),
    ("perimeterx", "px-captcha", "//*[@id='px-captcha' and not(self::script or self::style)]"),
    ("anubis", "anubis_", "//script[@id='anubis_challenge' or @id='anubis_version']"),
    (
        "google",
        "captcha-form",
        "//form[@id='captcha-form'][.//*[contains(@class, 'g-recaptcha')] or @action='index']",
    ),
    (
        "consent",
        "https://consent.",
        "//form[starts-with(@action, 'https://consent.youtube.com/s') or starts-with(@action, 'https://consent.google.com/s')]",
    ),
)
_TITLES = (
    ("cloudflare", re.compile(r"attention required! \| cloudflare")),
    ("ddos-guard", re.compile(r"ddos-guard")),
    ("sucuri", re.compile(r"sucuri website firewall - access denied")),
    ("vercel", re.compile(r"vercel security checkpoint")),
    ("fastly", re.compile(r"client challenge")),
)
_TEXT_MARKS = (
    ("imperva", re.compile(r"Request unsuccessful\. Incapsula incident ID")),
    ("sucuri", re.compile(r"Sucuri WebSite Firewall - Access Denied")),
    ("google", re.compile(r"unusual traffic from your computer network")),
    ("f5", re.compile(r"Your support ID is:? ?\w")),
    ("reddit", re.compile(r"blocked by network security", re.IGNORECASE)),
)
_CAPTCHA = (
    "//*[contains(@class, 'g-recaptcha') or contains(@class, 'h-captcha') or contains(@class, 'cf-turnstile')]"
    " | //iframe[contains(@src, 'captcha')]"
)


def wall_by_answer(document: Document) -> str | None:
    """The wall that headers, status or final address give away, whatever the body says."""
    headers = {name.lower(): value for name, value in document.headers}
    if headers.get("cf-mitigated") == "challenge":
        return "cloudflare"
    if headers.get("x-vercel-mitigated") in ("challenge", "deny"):
        return "vercel"
    if headers.get("x-amzn-waf-action") in ("challenge", "captcha"):
        return "aws-waf"
    if headers.get("x-dd-b") in ("1", "2") or headers.get("x-datadome", "protected") != "protected":
        return "datadome"
    if document.status == 429 and "x-kpsdk-ct" in headers:
        return "kasada"
    if document.status == 999:
        return "linkedin"
    return None if document.final_url == document.url else wall_by_address(document.final_url)


def wall_by_address(url: str) -> str | None:
    """`consent` or a vendor when a redirect ended at such a page."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("consent.google.com", "consent.youtube.com"):
        return "consent"
    if host.startswith(("consent.", "cmp.")) and parts.query:
        return "consent"
    if parts.path.rstrip("/").endswith(("/privacygate", "/consent")) and "http" in parts.query:
        return "consent"
    address = f"//{parts.netloc}{parts.path}" + (f"?{parts.query}" if parts.query else "")
    return next((name for name, mark in _SOURCE_MARKS if mark.search(address)), None)


def wall_in_markup(root: HtmlElement, source: str, visible: str) -> str | None:
    """The wall that stands in a parsed page, scripts still in it.

    `source` is what it was parsed from; `visible`: the page's text as a person sees it.
    """
    for name, literal, path in _ELEMENT_MARKS:
        if literal in source and root.xpath(f"boolean({path})"):
            return name
    for script in root.iter("script"):
        text = (script.text or "")[:MAX_SCRIPT_CHARS]
        found = next((name for name, mark in _SCRIPT_MARKS if text and mark.search(text)), None)
        if found:
            return found
    found = _in_addresses(root)
    if found or len(visible) > 3 * BARE_CHARS:
        return found
    title = " ".join("".join(element.text or "" for element in root.iter("title")).lower().split())
    found = next((name for name, mark in _TITLES if mark.match(title)), None)
    found = found or next((name for name, mark in _TEXT_MARKS if mark.search(visible)), None)
    return found or _bare_captcha(root, visible)


def _in_addresses(root: HtmlElement) -> str | None:
    for element in root.xpath("//script[@src] | //iframe[@src] | //form[@action] | //meta[@http-equiv]"):
        address = element.get("src") or element.get("action") or element.get("content") or ""
        for name, mark in _SOURCE_MARKS:
            if len(address) < 4_096 and mark.search(address):
                return name
    return None


def _bare_captcha(root: HtmlElement, visible: str) -> str | None:
    """A captcha on a page that has next to nothing else."""
    if (
        len(visible) >= BARE_CHARS
        or len(list(root.iter("form"))) > 1
        or next(root.iter("article", "main"), None) is not None
    ):
        return None
    return "captcha" if root.xpath(f"boolean({_CAPTCHA})") else None
