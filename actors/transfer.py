"""One HTTP transfer by libcurl in the thread that runs it, bounded in bytes and time, and stoppable.

`Curl.perform` of the library returns when the transfer is over and not before: what has been cancelled would run on
until its time-out. So the transfer is driven step by step over libcurl's multi interface, whose functions curl_cffi
0.17 has for its asyncio session only; between two steps the thread looks whether anybody still waits. One handle,
one connection, one transfer: a pinned address stays in a handle's cache, and must not meet the next request.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from curl_cffi import Curl, CurlECode, CurlHttpVersion, CurlInfo, CurlOpt
from curl_cffi._wrapper import ffi, lib
from curl_cffi.curl import CURL_WRITEFUNC_ERROR, CURLINFO_DATA_IN

from actors.backend import CONNECT_TIMEOUT, MAX_HEAD_BYTES
from actors.decoding import Decoder, decoder_for
from actors.profiles import ENCODINGS, PLAIN_ENCODINGS, Profile
from actors.proxies import Proxy
from providers._contract import Malformed, ProviderError, TooLarge

STEP_MS = 50  # how often the thread looks up while nothing arrives
# Pieces in one step: those of a body that comes in ordinary chunks are far fewer.
MANY_PIECES = 200
PAUSE = 0.02
# Where libcurl would look names up by itself: nowhere. Whatever is not pinned does not resolve.
_NO_DNS = "127.0.0.1:1"
_LEFT_TO_CURL = ("", "identity", "br", "zstd")


@dataclass(frozen=True, slots=True)
class Way:
    """Where a transfer may connect to: one of the addresses `pins`, or through the proxy to `target`.

    pins: those of the host, or of the proxy where there is one; empty where that host is an address itself. target:
    an address, or a name where the proxy is to resolve it.
    """

    pins: tuple[str, ...] = ()
    proxy: Proxy | None = None
    target: str = ""


@dataclass(frozen=True, slots=True)
class Authorities:
    """pem: certificates. directory: where others are found by the hash of their subject; empty for none."""

    pem: bytes = field(repr=False)
    directory: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """A request, and everything that was decided about it.

    url: normalised, without a fragment; host and port are those in it. headers: go over those of the profile, None
    takes one out. authorities: whose certificates are trusted. timeout: seconds for all of it. head_is_enough: the
    body of an answer other than 2xx is not wanted.
    """

    method: str
    url: str
    host: str
    port: int
    way: Way
    profile: Profile
    headers: Sequence[tuple[str, str | None]]
    body: bytes
    authorities: Authorities
    max_bytes: int
    timeout: float = 0.0
    head_is_enough: bool = False

    @property
    def is_secure(self) -> bool:
        return self.url.startswith("https:")


@dataclass(frozen=True, slots=True)
class Facts:
    """How a transfer ended. The numbers are libcurl's.

    error: what we ended it for. is_sent: a request went out, CONNECT to a proxy too. remote: the address that was
    connected to, the proxy's where there is one. verify: why a certificate was not accepted.
    """

    code: int
    error: ProviderError | None
    is_sent: bool
    remote: str
    os_error: int
    verify: int
    proxy_status: int
    proxy_error: int


class Answer:
    """What has arrived. `headers` are those of the final answer, as they came."""

    def __init__(self, order: Order) -> None:
        self.status = 0
        self.http_version = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.has_head = False
        self.body = bytearray()
        self.error: ProviderError | None = None
        self.is_enough = False
        self._order = order
        self._head_bytes = 0
        self._decoder: Decoder | None = None
        self.pieces = 0

    @property
    def needs_wire(self) -> bool:
        """Whether `add_wire` has a use for what comes, as far as is known."""
        return self._decoder is not None or not self.has_head

    def add_line(self, line: bytes) -> int:
        """One line of a head. Informational answers come before the final one, trailers behind the body."""
        if not self.has_head:
            try:
                self._read(line)
            except ProviderError as error:
                self.error = error
        return self._verdict(line)

    def add_wire(self, kind: int, data: bytes) -> None:
        """What libcurl has seen. Gzip and deflate are decoded from it here: libcurl takes cut ones for whole."""
        if kind != CURLINFO_DATA_IN or self._decoder is None or self.error is not None:
            return
        try:
            for piece in self._decoder.feed(data):
                self.body += piece
        except ProviderError as error:
            self.error = error

    def add_body(self, chunk: bytes) -> int:
        """One piece of the body, decoded by libcurl; at most 16 kB however much a bomb unpacks to."""
        if self._decoder is not None:
            return self._verdict(chunk)
        if len(self.body) + len(chunk) > self._order.max_bytes:
            self.error = TooLarge("body over the limit")
        else:
            self.body += chunk
        return self._verdict(chunk)

    def finish(self) -> None:
        """The transfer has come to its end, as far as the connection goes."""
        try:
            if self._decoder is not None:
                self._decoder.finish()
        except ProviderError as error:
            self.error = error

    def _verdict(self, taken: bytes) -> int:
        self.pieces += 1
        return CURL_WRITEFUNC_ERROR if self.error or self.is_enough else len(taken)

    def _read(self, line: bytes) -> None:
        self._head_bytes += len(line)
        if self._head_bytes > MAX_HEAD_BYTES:
            raise Malformed("head of the answer too long")
        if line.startswith(b"HTTP/") and not self.headers:
            version, status, *_ = [*line.split(None, 2), b"", b""]
            self.http_version, self.status = version, int(status) if status.isdigit() else 0
        elif line.strip():
            name, _, value = line.partition(b":")
            self.headers.append((name.strip(), value.strip()))
        elif self.status >= 200:
            self._end_head()
        else:
            self.headers.clear()

    def _end_head(self) -> None:
        self.has_head = True
        self.is_enough = self._order.head_is_enough and not 200 <= self.status < 300
        encodings = [value.decode("latin-1") for value in self._values(b"content-encoding")]
        if not self.is_enough and ",".join(encodings).strip().lower() not in _LEFT_TO_CURL:
            self._decoder = decoder_for(encodings, self._order.max_bytes)

    def _values(self, wanted: bytes) -> list[bytes]:
        return [value for name, value in self.headers if name.lower() == wanted]


class Transfer:
    """Made in the loop, run once in a thread."""

    def __init__(self, order: Order) -> None:
        self.answer = Answer(order)
        self._order = order
        self._kept: list[Any] = []  # memory that libcurl points into

    def run(self, look_up: Callable[[Answer, bool], None]) -> Facts:
        """Run to the end, or until `look_up` raises; it is called between steps, with whether a request was sent.

        Never raises for what the remote does: `Facts` say it.
        """
        multi, curl = lib.curl_multi_init(), Curl()
        connect_to = ffi.NULL
        try:
            connect_to = self._prepare(curl)
            lib.curl_multi_add_handle(multi, curl._curl)
            running = ffi.new("int *")
            pieces = 0
            while True:
                lib.curl_multi_perform(multi, running)
                look_up(self.answer, _number(curl, CurlInfo.REQUEST_SIZE) > 0)
                if not running[0] or self.answer.error is not None:
                    break
                if not self.answer.needs_wire:
                    curl.setopt(CurlOpt.VERBOSE, 0)
                if self.answer.pieces - pieces > MANY_PIECES:
                    # A flood of tiny chunks: each takes the interpreter for itself, and the loop waits meanwhile.
                    time.sleep(PAUSE)
                pieces = self.answer.pieces
                lib.curl_multi_poll(multi, ffi.NULL, 0, STEP_MS, ffi.NULL)
            return self._facts(curl, _result(multi))
        finally:
            lib.curl_multi_remove_handle(multi, curl._curl)
            curl.close()
            lib.curl_multi_cleanup(multi)
            lib.curl_slist_free_all(connect_to)
            self._kept.clear()

    def _facts(self, curl: Curl, code: int) -> Facts:
        answer = self.answer
        if code == CurlECode.OK and not answer.is_enough:
            answer.finish()
        return Facts(
            code=0 if answer.is_enough else code,
            error=answer.error,
            is_sent=_number(curl, CurlInfo.REQUEST_SIZE) > 0,
            remote=_text(curl, CurlInfo.PRIMARY_IP),
            os_error=_number(curl, CurlInfo.OS_ERRNO),
            verify=_number(curl, CurlInfo.SSL_VERIFYRESULT),
            proxy_status=_number(curl, CurlInfo.HTTP_CONNECTCODE),
            proxy_error=_number(curl, CurlInfo.PROXY_ERROR),
        )

    # --- settings -----------------------------------------------------------------------------------------------------

    def _prepare(self, curl: Curl) -> Any:
        """Set every option; returns the list that libcurl needs until the end, or NULL."""
        order = self._order
        curl.setopt(CurlOpt.URL, order.url.encode("ascii"))
        curl.setopt(CurlOpt.NOSIGNAL, 1)
        curl.setopt(CurlOpt.PATH_AS_IS, 1)  # what was checked is what is sent
        curl.setopt(CurlOpt.PROTOCOLS_STR, "http,https")
        curl.setopt(CurlOpt.REDIR_PROTOCOLS_STR, "http,https")
        curl.setopt(CurlOpt.FOLLOWLOCATION, 0)
        curl.setopt(CurlOpt.MAXFILESIZE_LARGE, order.max_bytes)  # counts on the wire as well, while it comes
        curl.setopt(CurlOpt.CONNECTTIMEOUT_MS, int(CONNECT_TIMEOUT * 1000))
        curl.setopt(CurlOpt.TIMEOUT_MS, max(1, int(order.timeout * 1000)))
        curl.setopt(CurlOpt.ACCEPT_ENCODING, ENCODINGS if order.is_secure else PLAIN_ENCODINGS)
        curl.setopt(CurlOpt.WRITEFUNCTION, self.answer.add_body)
        curl.setopt(CurlOpt.HEADERFUNCTION, self.answer.add_line)
        curl.setopt(CurlOpt.DEBUGFUNCTION, self.answer.add_wire)
        curl.setopt(CurlOpt.VERBOSE, 1)
        if not order.is_secure:
            # Else an offer to upgrade to HTTP/2 goes out, which no browser makes.
            curl.setopt(CurlOpt.HTTP_VERSION, int(CurlHttpVersion.V1_1))
        self._set_method(curl)
        curl.setopt(CurlOpt.HTTPHEADER, [*map(_header_line, order.headers), b"Expect:"])
        if curl.impersonate(order.profile.target):
            raise RuntimeError(f"browser profile {order.profile.target} is not known")
        self._set_authorities(curl)
        return self._set_way(curl)

    def _set_method(self, curl: Curl) -> None:
        order = self._order
        if order.method == "HEAD":
            curl.setopt(CurlOpt.NOBODY, 1)
        elif order.method == "POST":
            curl.setopt(CurlOpt.POST, 1)
        elif order.method != "GET":
            curl.setopt(CurlOpt.CUSTOMREQUEST, order.method)
        if order.body or order.method == "POST":
            curl.setopt(CurlOpt.POSTFIELDS, order.body)
            curl.setopt(CurlOpt.POSTFIELDSIZE, len(order.body))

    def _set_authorities(self, curl: Curl) -> None:
        """A blob in memory: the library's own way takes a file, from a place that the environment may name."""
        pem = ffi.from_buffer(self._order.authorities.pem)
        blob = ffi.from_buffer(struct.pack("PNI4x", int(ffi.cast("uintptr_t", pem)), len(pem), 0))
        self._kept += [pem, blob]
        lib._curl_easy_setopt(curl._curl, CurlOpt.CAINFO_BLOB, blob)
        if self._order.authorities.directory:
            curl.setopt(CurlOpt.CAPATH, self._order.authorities.directory)

    def _set_way(self, curl: Curl) -> Any:
        """Where the connection goes. An empty PROXY and NOPROXY keep the environment's variables out."""
        order, proxy = self._order, self._order.way.proxy
        curl.setopt(CurlOpt.DNS_SERVERS, _NO_DNS)
        curl.setopt(CurlOpt.NOPROXY, "")
        host, port = (order.host, order.port) if proxy is None else (proxy.host, proxy.port)
        if order.way.pins:
            curl.setopt(CurlOpt.RESOLVE, [f"{host}:{port}:{','.join(map(_bracketed, order.way.pins))}"])
        if proxy is None:
            curl.setopt(CurlOpt.PROXY, "")
            return ffi.NULL
        scheme = "socks5h" if proxy.scheme == "socks5" else "http"
        curl.setopt(CurlOpt.PROXY, f"{scheme}://{_bracketed(host)}:{port}")
        curl.setopt(CurlOpt.HTTPPROXYTUNNEL, int(scheme == "http"))
        curl.setopt(CurlOpt.SUPPRESS_CONNECT_HEADERS, 1)
        if proxy.login is not None:
            curl.setopt(CurlOpt.PROXYUSERNAME, proxy.login[0])
            curl.setopt(CurlOpt.PROXYPASSWORD, proxy.login[1])
        # The proxy is asked for the checked address; TLS and Host keep the name of the URL.
        connect_to = lib.curl_slist_append(ffi.NULL, f"::{_bracketed(order.way.target)}:{order.port}".encode("ascii"))
        lib._curl_easy_setopt(curl._curl, CurlOpt.CONNECT_TO, connect_to)
        return connect_to


def _header_line(header: tuple[str, str | None]) -> bytes:
    name, value = header
    if value is None:
        return f"{name}:".encode("ascii")
    return (f"{name}: {value}" if value else f"{name};").encode("latin-1")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _result(multi: Any) -> int:
    """The code of the transfer; of one that was broken off, that it was."""
    message = lib.curl_multi_info_read(multi, ffi.new("int *"))
    return int(CurlECode.ABORTED_BY_CALLBACK) if message == ffi.NULL else int(message.data.result)


def _number(curl: Curl, info: CurlInfo) -> int:
    value = curl.getinfo(info)
    return int(value) if isinstance(value, int | float) else 0


def _text(curl: Curl, info: CurlInfo) -> str:
    value = curl.getinfo(info)
    return value.decode("ascii", "replace") if isinstance(value, bytes) else ""
