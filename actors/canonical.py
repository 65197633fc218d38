"""When two addresses are one: a key for comparing URLs, and what hides inside a search engine's redirect. Pure.

The key is for comparing only. It is not an address: the scheme is gone, the query is sorted, and nobody fetches it.
"""

from __future__ import annotations

import base64
import binascii
import re
import string
from contextlib import suppress
from functools import lru_cache
from urllib.parse import SplitResult, parse_qsl, quote, unquote, unquote_to_bytes, urlsplit

import idna

# Parameters that say how a reader came to a page, never which page it is. Names with a second meaning on ordinary
# sites (`ref`, `source`, `id`, `si`, `campaign`) are kept: losing a hit is worse than showing it twice.
# fmt: off
TRACKING = frozenset({
    "gclid", "gclsrc", "dclid", "gbraid", "wbraid", "gad_source", "gad_campaignid", "fbclid", "msclkid", "yclid",
    "ysclid", "twclid", "ttclid", "li_fat_id", "igshid", "igsh", "mc_cid", "mc_eid", "mkt_tok", "_ga", "_gl",
    "_hsenc", "_hsmi", "__hstc", "__hssc", "__hsfp", "hsctatracking", "vero_id", "vero_conv", "oly_anon_id",
    "oly_enc_id", "_openstat", "srsltid", "s_cid", "epik", "rb_clickid", "ref_src", "ref_url", "guccounter",
    "guce_referrer", "guce_referrer_sig", "at_medium", "at_campaign",
})
# fmt: on
TRACKING_PREFIXES = ("utm_", "mtm_", "hsa_", "pk_campaign", "pk_kwd", "pk_source", "pk_medium")

MAX_TARGET_CHARS = 4096
MAX_WRAPPERS = 4

_DEFAULT_PORTS = {("http", "80"), ("https", "443")}
_GOOGLE = re.compile(r"google(\.[a-z]{2,3}){1,2}")
# Every byte a path may hold without another meaning; the rest is percent-encoded, so each path has one spelling.
_PATH_SAFE = "/:@!$&'()*+,;=~-._"
_HIDDEN_MEANING = re.compile(rb"%(2[35Ff]|3[Ff])")


# Counting distinct hits and merging them ask for the same keys within one search.
@lru_cache(maxsize=2048)
def canonical(url: str) -> str:
    """A key that is equal for the writings of one address, and differs where the address does. Never raises.

    Scheme, `www.`, default port, fragment, trailing slash, order of the query, tracking parameters, upper and lower
    case of the host, IDN and percent-encoding forms do not matter. What cannot be parsed is its own key.
    """
    parts = _split(url)
    if parts is None:
        return url.strip()
    user, _, where = parts.netloc.rpartition("@")
    key = f"{user}@" if user else ""
    key += _host_and_port(parts.scheme.lower(), where) + _path(parts.path)
    query = _query(parts.query)
    return f"{key}?{query}" if query else key


@lru_cache(maxsize=2048)
def unwrap(url: str) -> str:
    """The address inside a search engine's redirect, or `url` itself. Never raises.

    Each wrapper is decoded exactly once, so that escapes of the inner address survive; a few nested ones are opened.
    What comes out is an http or https address of printable characters: anything else stays wrapped.
    """
    for _ in range(MAX_WRAPPERS):
        inner = _inner(url)
        if inner is None or not _is_address(inner):
            break
        url = inner
    return url


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return parts if parts.scheme.lower() in ("http", "https") and parts.netloc else None


def _host_and_port(scheme: str, where: str) -> str:
    host, colon, port = where.rpartition(":")
    if not colon or not (port.isdigit() or not port) or where.endswith("]"):
        host, port = where, ""
    if (scheme, port) in _DEFAULT_PORTS:
        port = ""
    host = _host(host)
    return f"{host}:{port}" if port else host


def _host(host: str) -> str:
    host = unquote(host).lower().rstrip(".")
    if not host.isascii() and len(host) <= 253:
        with suppress(UnicodeError):
            host = idna.encode(host, uts46=True).decode("ascii")
    bare = host.removeprefix("www.")
    return bare if "." in bare else host


def _path(path: str) -> str:
    # An encoded slash, question mark, hash or percent sign is not the plain one: those four escapes are kept.
    kept = _HIDDEN_MEANING.sub(lambda found: b"%25" + found[1].upper(), path.encode("utf-8", "surrogatepass"))
    return quote(unquote_to_bytes(kept), safe=_PATH_SAFE + "%").rstrip("/")


def _query(query: str) -> str:
    # Plain characters become escapes first, then escapes become bytes: one spelling, whatever the page's charset.
    escaped = quote(query, safe=string.punctuation, errors="surrogatepass")
    pairs = parse_qsl(escaped, keep_blank_values=True, encoding="latin-1")
    kept = sorted((name, value) for name, value in pairs if not _is_tracking(name.lower()))
    return "&".join(f"{_escaped(name)}={_escaped(value)}" for name, value in kept)


def _escaped(text: str) -> str:
    return quote(text.encode("latin-1"), safe="")


def _is_tracking(name: str) -> bool:
    return name in TRACKING or name.startswith(TRACKING_PREFIXES)


def _inner(url: str) -> str | None:
    """What a known redirect wrapper points to, decoded once; None where `url` is no wrapper."""
    parts = _split(url)
    if parts is None:
        return None
    host = _host_and_port(parts.scheme.lower(), parts.netloc)
    if (host == "duckduckgo.com" or host.endswith(".duckduckgo.com")) and parts.path.rstrip("/") == "/l":
        return _parameter(parts.query, "uddg")
    if host == "bing.com" and parts.path == "/ck/a":
        return _bing_target(_parameter(parts.query, "u"))
    if _GOOGLE.fullmatch(host) and parts.path == "/url":
        return _parameter(parts.query, "q") or _parameter(parts.query, "url")
    return None


def _parameter(query: str, name: str) -> str | None:
    return next((value for key, value in parse_qsl(query) if key == name), None)


def _bing_target(value: str | None) -> str | None:
    """Bing writes `a1` and then the address in base64url without its padding."""
    if value is None or not value.startswith("a1"):
        return None
    text = value[2:]
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


def _is_address(text: str) -> bool:
    return len(text) <= MAX_TARGET_CHARS and text.isprintable() and " " not in text and _split(text) is not None
