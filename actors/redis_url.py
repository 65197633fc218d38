"""`redis://...` to the place it names. Knows nothing of a client, so that settings can be checked without one."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

SCHEMES = ("redis", "rediss", "valkey", "valkeys", "unix")
SHAPE = "redis://[USER:PASSWORD@]HOST[:PORT][/DB], the same with rediss:// for TLS, or unix:///PATH[?db=DB]"
PORT = 6379


@dataclass(frozen=True, slots=True)
class RedisPlace:
    """Where a Redis or Valkey listens, and how to log in. `path`: a Unix socket; host and port mean nothing then."""

    host: str = ""
    port: int = PORT
    path: str | None = None
    db: int = 0
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    is_tls: bool = False

    def __str__(self) -> str:
        """The place without login, for messages."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.path or f'{host}:{self.port}'}, database {self.db}"


def is_redis_url(url: str) -> bool:
    return url.partition("://")[0].lower() in SCHEMES


def redis_place(url: str) -> RedisPlace:
    """The place a URL names. User, password and path may be percent-encoded. Raises ValueError, without the URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
        query = parse_qs(parts.query, strict_parsing=bool(parts.query))
    except ValueError:
        raise ValueError("is no sound address") from None
    user, password = (None if text is None else unquote(text) for text in (parts.username, parts.password))
    if parts.scheme not in SCHEMES or parts.fragment or set(query) - {"db"}:
        raise ValueError("is no sound address")
    if parts.scheme == "unix":
        if parts.hostname or not parts.path.startswith("/"):
            raise ValueError("is no sound address")
        return RedisPlace(path=unquote(parts.path), db=_number(query.get("db", ["0"])), user=user, password=password)
    if not parts.hostname:
        raise ValueError("is no sound address")
    path = parts.path.strip("/")
    db = _number(query.get("db", [path or "0"]))
    is_tls = parts.scheme in ("rediss", "valkeys")
    return RedisPlace(parts.hostname, port or PORT, None, db, user or None, password or None, is_tls)


def _number(texts: list[str]) -> int:
    if len(texts) != 1 or not texts[0].isascii() or not texts[0].isdigit() or len(texts[0]) > 5:
        raise ValueError("is no sound address")
    return int(texts[0])
