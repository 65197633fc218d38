"""Takes secrets out of text on its way to a sink: every configured value in all its spellings, and what looks like one.

By value: a secret is found raw, percent-encoded, JSON-, Python- and HTML-escaped, and inside base64 of whatever it is
part of (`Authorization: Basic` holds user and password in one). By pattern: logins in addresses, `key=...` and the
like, for secrets nobody told us of, such as those in a caller's URL.

A secret of fewer than MIN_CHARS characters is not searched for: three letters stand in many words, and what is left of
a log with all of them taken out helps nobody. The patterns still cover it where it is written as a password or key.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[redacted]"
MIN_CHARS = 4
MIN_ENCODED_CHARS = 8  # shorter pieces of base64 turn up by chance

# Each pattern starts with something rare and has an end, so that no text makes it slow.
_LOGIN = re.compile(r"(?<=://)[^\s/@\"'<>\\]{1,512}@")
_PASSWORD = re.compile(r"(?<=[A-Za-z0-9_.%~-]):[^\s/@:\"'<>\\]{1,256}@(?=[A-Za-z0-9\[])")
_WORDS = (
    r"(?:api[_-]?key|apikey|(?:access|refresh|id|auth|session|bearer)[_-]?token|token|secret|password|passwd|pwd"
    r"|credential|signature|authorization)"
)
_NAMED = re.compile(
    rf"({_WORDS}\\*[\"']?\s{{0,3}}(?:=|:|%3D|\\u003d)\s{{0,3}}\\*[\"']?(?:(?:bearer|basic)\s{{1,3}})?)"
    r"(?!\[redacted\]|(?:bearer|basic)\s)([^\s\"'&<>,;(){}\[\]\\]{1,2048})",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"([?&;](?:key|sig|auth|code|sid|session)=)([^\s\"'&<>\\#]{1,2048})", re.IGNORECASE)
_BEARER = re.compile(
    r"\b((?:bearer|basic)\s{1,3})(?=[^\s\"'\\]*[0-9_+/=.-])([A-Za-z0-9._~+/=-]{8,4096})", re.IGNORECASE
)


class Redactor:
    """Replaces secrets by `[redacted]`. Cheap for what has none: one search per spelling of a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        kept = {secret for secret in secrets if len(secret) >= MIN_CHARS}
        spellings = {spelling for secret in kept for spelling in _spellings(secret)}
        # Longest first: a spelling that holds another goes whole.
        self._spellings = tuple(sorted(spellings, key=len, reverse=True))

    @property
    def is_idle(self) -> bool:
        """Whether no secret is configured, so that `known` has nothing to look for."""
        return not self._spellings

    def text(self, value: str) -> str:
        """`value` without secrets, by value and by pattern."""
        value = self.known(value)
        if "@" in value:
            value = _PASSWORD.sub(f":{MASK}@", _LOGIN.sub(f"{MASK}@", value))
        value = _NAMED.sub(rf"\1{MASK}", value)
        value = _PARAMETER.sub(rf"\1{MASK}", value)
        return _BEARER.sub(rf"\1{MASK}", value)

    def known(self, value: str) -> str:
        """`value` without configured secrets; patterns are left alone, as is right for the text of a page."""
        for spelling in self._spellings:
            if spelling in value:
                value = value.replace(spelling, MASK)
        return value

    def redact(self, value: Any) -> Any:
        """The same for all strings in mappings, lists and tuples, keys included. Other values stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.redact(key): self.redact(each) for key, each in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)([self.redact(each) for each in value])
        return value


def _spellings(secret: str) -> set[str]:
    ascii_json = json.dumps(secret)[1:-1]
    found = {
        secret,
        secret.encode("utf-8", "replace").decode("latin-1"),
        ascii_json,
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(ascii_json)[1:-1],
        repr(secret)[1:-1],
        html.escape(secret),
    }
    for quoted in (
        quote(secret, safe="", errors="replace"),
        quote(secret, errors="replace"),
        quote_plus(secret, errors="replace"),
    ):
        found |= {quoted, re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), quoted), quote(quoted, safe="")}
    return found | _in_base64(secret.encode("utf-8", "replace"))


def _in_base64(secret: bytes) -> set[str]:
    """The characters that base64 always has where `secret` stands, whatever is before and behind: three alignments."""
    found = set()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret).decode("ascii")
        piece = encoded[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]
        if len(piece) >= MIN_ENCODED_CHARS:
            found |= {piece, piece.replace("+", "-").replace("/", "_")}
    return found
