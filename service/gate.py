"""Who may talk to the server: exact checks of `Host`, `Origin` and the bearer token. Pure.

A browser on the operator's machine reaches a loopback server from any web page (DNS rebinding, forms), so both
headers are held to lists. The SDK's own check matches ports by prefix (`localhost:3.evil.example` passes) and covers
one route only (security/FACTS.md E1); this one covers every route.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

Headers = Iterable[tuple[bytes, bytes]]

LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"(https?)://(.+)", re.IGNORECASE)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status and a sentence."""

    status: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Gate:
    """What is let in.

    is_local: the server is bound to loopback, so localhost names and origins are welcome at any port. hosts: further
    names, `name` for any port or `name:port` for that one; None: any Host, which is not for a loopback bind. origins:
    `scheme://name` with or without a port, compared exactly, the scheme's own port being the same as none.
    """

    is_local: bool = True
    hosts: tuple[str, ...] | None = None
    origins: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)

    def refusal(self, headers: Headers) -> Refusal | None:
        """Why a request with these headers is not served, or None. Header names are in lower case."""
        found: dict[bytes, list[str]] = {b"host": [], b"origin": [], b"authorization": []}
        for name, value in headers:
            if name in found:
                found[name].append(value.decode("latin-1"))
        if len(found[b"host"]) != 1 or not self._is_known_host(found[b"host"][0]):
            return Refusal(421, "this server does not answer for that Host")
        if not all(self._is_known_origin(origin) for origin in found[b"origin"]):
            return Refusal(403, "this Origin is not allowed")
        if self.token is not None and not self._is_token(found[b"authorization"]):
            return Refusal(401, "a bearer token is required")
        return None

    def _is_known_host(self, host: str) -> bool:
        match = _AUTHORITY.fullmatch(host.strip())
        if match is None:
            return False
        name = match.group(1).lower()
        if self.is_local and name in LOCAL_NAMES:
            return True
        if self.hosts is None:
            return not self.is_local
        allowed = {entry.lower().removesuffix(":*") for entry in self.hosts}
        return name in allowed or host.strip().lower() in allowed

    def _is_known_origin(self, origin: str) -> bool:
        parts = _origin_parts(origin)
        if parts is None:
            return False
        if self.is_local and parts[1] in LOCAL_NAMES:
            return True
        return parts in {_origin_parts(entry) for entry in self.origins}

    def _is_token(self, headers: list[str]) -> bool:
        assert self.token is not None
        scheme, _, given = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
        same = hmac.compare_digest(given.strip().encode("latin-1"), self.token.encode())
        return same and scheme.lower() == "bearer"


def _origin_parts(origin: str) -> tuple[str, str, str] | None:
    """Scheme, name and port of an origin, or None where it is not exactly one; `null` is none."""
    match = _ORIGIN.fullmatch(origin.strip())
    authority = _AUTHORITY.fullmatch(match.group(2)) if match else None
    if match is None or authority is None:
        return None
    scheme = match.group(1).lower()
    return scheme, authority.group(1).lower(), authority.group(2) or _DEFAULT_PORTS[scheme]


def is_loopback(host: str) -> bool:
    """Whether a bind address takes connections from this machine only."""
    name = host.strip("[]").lower()
    return name in ("localhost", "::1") or name.startswith("127.")
