"""Which addresses may be fetched: rules on the text of a URL, on names and on IP addresses. Pure, asks no resolver.

The tables are our own. The predicates of `ipaddress` call mapped, translated, tunnelled and multicast addresses
public, and change between patch releases of Python (measured on CPython 3.11.7); from that module only the parser
is used. Sources: the IANA special-purpose registries, the cloud vendors' pages on instance metadata, and the list
of bad ports in the Fetch standard (read 2026-09).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from unicodedata import category
from urllib.parse import parse_qsl

import httpx

MAX_URL_CHARS = 2048
MAX_REDIRECT_CHARS = 4096

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


class InvalidUrl(ValueError):
    """The text is no URL that could be fetched at all: the sentence for it is `invalid url`."""


class NotAllowed(ValueError):
    """The URL names an address that rules forbid, seen without asking DNS: `address not allowed`."""


# --- addresses ------------------------------------------------------------------------------------------------------


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ip_network(word) for word in text.split())


_REFUSED_V4 = _networks(
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
    "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 "
    "203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32"
)
# Everything outside 2000::/3 is refused; these are the holes inside it: Teredo, benchmarking and ORCHID in one
# block, documentation, 6to4, AS112, documentation again.
_GLOBAL_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = _networks("2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20")

# What ALLOW_PRIVATE_NETWORK opens: the networks people run at home and at work, and this machine.
_PRIVATE = _networks("10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7 fec0::/10")
# Cloud metadata, closed under every setting. 168.63.129.16 looks public, but is the host of every Azure machine.
_METADATA = _networks(
    "169.254.0.0/16 100.100.100.200/32 168.63.129.16/32 192.0.0.192/32 fe80::/10 fd00:ec2::/32 fd20:ce::/32 "
    "fd00:42::42/128"
)


def allowed_address(ip: str, *, allow_private: bool = False) -> bool:
    """Whether a connection may be made to this IP address, given in any spelling `ipaddress` reads.

    A zone identifier, an embedded IPv4 address (mapped, translated, NAT64, 6to4, Teredo, ISATAP) and everything
    that is no unicast address of the public internet is refused. `allow_private` opens private networks and
    loopback, never cloud metadata.
    """
    try:
        address = ip_address(ip)
    except ValueError:
        return False
    if _inside(address, _METADATA) or getattr(address, "scope_id", None) is not None:
        return False
    if allow_private and _inside(address, _PRIVATE):
        return True
    if isinstance(address, IPv4Address):
        return not _inside(address, _REFUSED_V4)
    return _is_public_v6(address)


def _inside(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def _is_public_v6(address: IPv6Address) -> bool:
    # The interface identifier of ISATAP carries an IPv4 address under any prefix.
    is_isatap = (int(address) >> 32) & 0xFDFFFFFF == 0x00005EFE
    return address in _GLOBAL_V6 and not _inside(address, _REFUSED_V6) and not is_isatap


# --- names and ports ------------------------------------------------------------------------------------------------

_LOCAL_NAMES = (
    *("localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "localdomain", "home.arpa"),
    *("arpa", "test", "invalid", "onion", "i2p", "alt", "cluster.local"),
)
_METADATA_NAMES = (
    *("metadata.google.internal", "metadata.goog", "metadata.tencentyun.com", "metadata.packet.net"),
    *("metadata.platformequinix.com",),
)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")

# Ports of mail, remote desktops, voice, printing, chat and data stores, where bytes of ours could do harm.
_REFUSED_PORTS = frozenset(
    {1433, 1434, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 4190, 5060, 5061}
    | {5432, 5672, 5900, 5984, 6000, 6379, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 8086, 8500, 9042}
    | {9092, 9200, 9300, 10080, 10250, 10255, 11211, 15672, 27017}
)


def check_host(host: str, *, allow_private: bool = False) -> None:
    """Hold a host, as `httpx.URL.raw_host` spells it (lower case, punycode, no brackets), against the rules.

    Raises:
        InvalidUrl: it is neither an address nor a host name.
        NotAllowed: it is an address or a name that is refused without asking DNS.
    """
    if is_literal(host):
        if not allowed_address(host, allow_private=allow_private):
            raise NotAllowed("address")
        return
    name = host.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise InvalidUrl("host")
    if _NUMERIC_LABEL.fullmatch(labels[-1]):
        # 2130706433, 0x7f.1 and the like: no name ends so, and the C library reads them as addresses.
        raise NotAllowed("numeric host")
    if _is_under(name, _METADATA_NAMES):
        raise NotAllowed("metadata name")
    if not allow_private and (len(labels) < 2 or _is_under(name, _LOCAL_NAMES)):
        raise NotAllowed("local name")


def check_port(port: int) -> None:
    """Raise InvalidUrl unless `port` is 80, 443, or one from 1024 upwards that no other service is known by."""
    if port not in (80, 443) and not (1024 <= port <= 65535 and port not in _REFUSED_PORTS):
        raise InvalidUrl("port")


def is_literal(host: str) -> bool:
    """Whether `host` is an IP address and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_under(name: str, zones: Iterable[str]) -> bool:
    return any(name == zone or name.endswith("." + zone) for zone in zones)


# --- URLs -----------------------------------------------------------------------------------------------------------

_WHITE_SPACE = " \t\n\r\f\v"
_PARTS = re.compile(r"https?://([^/?#]+)", re.IGNORECASE)
_PORT = re.compile(r":([0-9]{1,5})?")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_FORBIDDEN_ANYWHERE = frozenset({"Cc", "Cs"})
_FORBIDDEN_IN_AUTHORITY = frozenset({"Cf", "Zs", "Zl", "Zp", "Co"})


def parse_url(text: str, *, allow_private: bool = False, limit: int = MAX_URL_CHARS) -> httpx.URL:
    """Turn the text of a URL from outside into the one parsed form that is checked, resolved and fetched.

    White space around it is trimmed, and one dot at the end of the host dropped. `allow_private` opens private
    networks and local names, nothing else. `limit` is in characters.

    Raises:
        InvalidUrl: too long, control characters, backslashes, another scheme than http(s), userinfo, a bad port.
        NotAllowed: the host is refused by rule.
    """
    text = text.strip(_WHITE_SPACE)
    check_text(text, limit=limit)
    _check_authority(text)
    url = _parse(text)
    host = url.raw_host.decode("ascii")
    check_port(effective_port(url))
    check_host(host, allow_private=allow_private)
    return _in_one_form(url, host)


def _in_one_form(url: httpx.URL, host: str) -> httpx.URL:
    # httpx leaves the default port behind a scheme in capitals.
    if url.port is not None and url.port == _DEFAULT_PORTS[url.scheme]:
        url = url.copy_with(port=None)
    # A certificate never names the dotted form, so the handshake would fail with it.
    return url.copy_with(host=host.removesuffix(".")) if host.endswith(".") else url


def effective_port(url: httpx.URL) -> int:
    """The port a request for this http(s) URL goes to."""
    return _DEFAULT_PORTS[url.scheme] if url.port is None else url.port


def check_text(text: str, *, limit: int) -> None:
    """Raise InvalidUrl for a URL or a reference that is empty, too long, or has a character none may have."""
    if not text or len(text) > limit:
        raise InvalidUrl("length")
    if "\\" in text or _has_category(text, _FORBIDDEN_ANYWHERE):
        raise InvalidUrl("forbidden character")


def _check_authority(text: str) -> None:
    """What parsers disagree on is refused before any parser sees it."""
    parts = _PARTS.match(text)
    if parts is None:
        raise InvalidUrl("no http(s) address")
    authority = parts[1]
    if "@" in authority or "%" in authority or _has_category(authority, _FORBIDDEN_IN_AUTHORITY):
        raise InvalidUrl("authority")
    host_end = authority.rfind("]") + 1
    colon = authority.find(":", host_end)
    if colon >= 0 and not _PORT.fullmatch(authority, colon):
        raise InvalidUrl("port")


def _parse(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise InvalidUrl("unreadable") from error
    if not url.raw_host:
        raise InvalidUrl("no host")
    return url


def _has_category(text: str, categories: frozenset[str]) -> bool:
    return any(category(char) in categories for char in text)


# --- secrets --------------------------------------------------------------------------------------------------------

_SECRET_NAMES = frozenset(
    {"token", "access_token", "refresh_token", "id_token", "auth", "authkey", "auth_token", "api_key", "apikey"}
    | {"api-key", "secret", "client_secret", "password", "passwd", "pwd", "sig", "signature", "jwt", "sessionid"}
    | {"session_id", "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature"}
    | {"x-goog-credential"}
)


def carries_secret(url: httpx.URL | str) -> bool:
    """Whether a parameter of the query or the fragment has a value, and a name that says it is a credential.

    A bare name is none: sections of documentation are called `#token` and `#auth`.
    """
    parsed = httpx.URL(url) if isinstance(url, str) else url
    # A router in the page writes its own query behind a `?` or `#` inside the fragment.
    pieces = [parsed.query.decode("ascii"), *re.split(r"[?#]", parsed.fragment)]
    pairs = (pair for piece in pieces for pair in parse_qsl(piece.replace(";", "&")))
    return any(name.strip().casefold() in _SECRET_NAMES for name, _ in pairs)


def may_leave(text: str) -> bool:
    """Whether a URL may be handed to a third party, as far as that is seen without asking DNS.

    False for a URL that carries a secret, names a private address or a local name, or is no URL at all.
    """
    try:
        url = parse_url(text)
    except (InvalidUrl, NotAllowed):
        return False
    return not carries_secret(url)
