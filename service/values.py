"""Text of one variable to a value: numbers, sizes, lengths of time, rates, addresses. Pure.

Every function takes the variable's name first and raises `SettingsError` with a sentence that starts with it. The
sentences say what is allowed and never repeat the value: it may be a key in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import httpx

from actors.proxies import Proxy
from actors.row import Limit, Period, Rate

MAX_NUMBER = 10**12

_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([a-z]*)", re.IGNORECASE)
_RATE = re.compile(r"([0-9]{1,9})\s*/\s*([0-9]{0,9}(?:\.[0-9]{1,6})?)\s*(s|m|h|d)", re.IGNORECASE)
_QUOTA = re.compile(r"([0-9]{1,12})\s*/\s*(?:(day)|month(?:\s*@\s*([0-9]{1,2}))?)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LENGTHS = {
    unit: seconds
    for seconds, units in {
        1: ("s", "second", "seconds"),
        60: ("min", "minute", "minutes"),
        3600: ("h", "hour", "hours"),
        86_400: ("d", "day", "days"),
        604_800: ("w", "week", "weeks"),
    }.items()
    for unit in units
}


class SettingsError(Exception):
    """A setting is wrong; start-up stops. `sentence` is for the operator and names the variable."""

    def __init__(self, variable: str, sentence: str) -> None:
        super().__init__(sentence)
        self.variable = variable
        self.sentence = sentence


def wrong(variable: str, rule: str) -> SettingsError:
    """The error for a variable that breaks a rule, as in `MCP_PORT must be ...`."""
    return SettingsError(variable, f"{variable} {rule}")


def text(variable: str, value: str) -> str:
    """Text without control characters or undecodable bytes."""
    if _CONTROL.search(value):
        raise wrong(variable, "must not contain control characters or bytes that are not UTF-8")
    return value


def secret(variable: str, value: str) -> str:
    """A key or token: it travels in a header, so it is printable ASCII without spaces."""
    if not re.fullmatch(r"[!-~]+", value):
        raise wrong(variable, "must be printable ASCII without spaces")
    return value


def choice(variable: str, value: str, allowed: Sequence[str]) -> str:
    """One of `allowed`, in whatever letter case."""
    for each in allowed:
        if value.lower() == each.lower():
            return each
    raise wrong(variable, f"must be {' or '.join((', '.join(allowed[:-1]), allowed[-1]))}")


def boolean(variable: str, value: str) -> bool:
    if value.lower() not in _YES | _NO:
        raise wrong(variable, "must be true or false")
    return value.lower() in _YES


def whole(variable: str, value: str, *, least: int = 1, most: int = MAX_NUMBER) -> int:
    """A whole number in `least`..`most`."""
    rule = (
        f"must be a whole number from {least} to {most}"
        if most < MAX_NUMBER
        else f"must be a whole number from {least}"
    )
    if not re.fullmatch(r"[0-9]{1,15}", value) or not least <= int(value) <= most:
        raise wrong(variable, rule)
    return int(value)


def signed(variable: str, value: str) -> int:
    """A whole number that may be negative."""
    if not re.fullmatch(r"[+-]?[0-9]{1,15}", value):
        raise wrong(variable, "must be a whole number")
    return int(value)


def seconds(variable: str, value: str) -> float:
    """A number of seconds above 0."""
    if not _NUMBER.fullmatch(value) or not 0 < float(value) <= MAX_NUMBER:
        raise wrong(variable, "must be a number of seconds above 0")
    return float(value)


def size(variable: str, value: str) -> int:
    """Bytes, as in `15 MB` (15,000,000), `15 MiB` (15,728,640) or a bare number."""
    found = _SIZE.fullmatch(value)
    factor = _BYTES.get(found[2].lower()) if found else None
    if not found or factor is None or int(float(found[1]) * factor) < 1:
        raise wrong(variable, "must be a size above 0 such as 20 MB")
    return int(float(found[1]) * factor)


def duration(variable: str, value: str) -> float:
    """Seconds, as in `14 days`; the unit is needed."""
    found = _SIZE.fullmatch(value)
    factor = _LENGTHS.get(found[2].lower()) if found else None
    if not found or factor is None or float(found[1]) <= 0:
        raise wrong(variable, "must be a length of time above 0 such as 14 days or 12 hours")
    return float(found[1]) * factor


def rate(variable: str, value: str) -> Rate | None:
    """A throttle's rate: `1/45s`, `60/m`, or `none`."""
    if value.lower() == "none":
        return None
    found = _RATE.fullmatch(value)
    period = float(found[2] or 1) * _SECONDS[found[3].lower()] if found else 0.0
    if not found or int(found[1]) < 1 or period <= 0:
        raise wrong(variable, "must be a rate such as 1/45s or 60/m, or none")
    return Rate(int(found[1]), period)


def quota(variable: str, value: str) -> Limit | None:
    """Units per calendar period in UTC: `1000/month`, `100/day`, or `none`; `1000/month@15` begins on the 15th."""
    if value.lower() == "none":
        return None
    found = _QUOTA.fullmatch(value)
    first_day = int(found[3] or 1) if found else 0
    if not found or int(found[1]) < 1 or not 1 <= first_day <= 28:
        raise wrong(variable, "must be a quota such as 1000/month, 1000/month@15 (days 1 to 28) or 100/day, or none")
    period: Period = "day" if found[2] else "month"
    return Limit(int(found[1]), period, first_day)


def proxy(variable: str, value: str) -> str:
    """The address of a proxy. SOCKS resolves names at the proxy."""
    rule = "must be a proxy's address: http://, socks5:// or socks5h:// and a host"
    try:
        parsed = Proxy.parse(value)
    except ValueError:
        raise wrong(variable, rule) from None
    if not _is_port(parsed.port):
        raise wrong(variable, rule)
    return value


def _is_port(port: int | None) -> bool:
    return port is None or 0 < port < 65_536


def base_url(variable: str, value: str) -> str:
    """The operator's address of a remote: http or https, perhaps with login, port and path, and nothing behind."""
    rule = "must be an http:// or https:// address without query or fragment"
    try:
        url = httpx.URL(value)
        port = url.port
    except (httpx.InvalidURL, ValueError):
        raise wrong(variable, rule) from None
    unwanted = "?" in value or "#" in value or re.search(r"[\s\\]", value)
    if url.scheme not in ("http", "https") or not url.host or unwanted or not _is_port(port):
        raise wrong(variable, rule)
    return value


def items(value: str) -> tuple[str, ...]:
    """The entries of a list with commas."""
    return tuple(dict.fromkeys(each.strip() for each in value.split(",") if each.strip()))


def hosts(variable: str, value: str) -> tuple[str, ...]:
    """Host names or addresses for the `Host` check, each perhaps with a port, in lower case."""
    entries = tuple(each.lower() for each in items(value))
    for each in entries:
        if not re.fullmatch(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", each):
            raise wrong(variable, "must be host names with commas between, such as mcp.example.com or example.com:8443")
    return entries


def origins(variable: str, value: str) -> tuple[str, ...]:
    """Origins of web pages, such as `https://claude.ai`, in lower case."""
    entries = tuple(each.lower().rstrip("/") for each in items(value))
    for each in entries:
        if not re.fullmatch(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", each):
            raise wrong(variable, "must be origins with commas between, such as https://app.example.com")
    return entries


def path(variable: str, value: str, *, taken: Sequence[str]) -> str:
    """The path of a route, without a slash at its end; none of `taken`."""
    trimmed = value.rstrip("/")
    if not re.fullmatch(r"(?:/[A-Za-z0-9._~-]+)+", trimmed):
        raise wrong(variable, "must be a path such as /mcp")
    if trimmed in taken:
        raise wrong(variable, f"must not be one of {', '.join(taken)}")
    return trimmed


def host(variable: str, value: str) -> str:
    """A name or address to listen on."""
    if not re.fullmatch(r"[A-Za-z0-9._:%-]+", value):
        raise wrong(variable, "must be a host name or an IP address to listen on, such as 127.0.0.1")
    return value
