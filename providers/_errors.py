"""The two seams where foreign errors become ours: httpx's around a request, Python's around a changed shape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from providers._contract import Malformed, ProviderError, Unavailable


@contextmanager
def translating() -> Iterator[None]:
    """Turn what a client raises into a typed error.

    Our transport says by the exception's cause what happened; what another transport raises goes by its class. The
    texts are ours: an exception of httpx holds the whole URL, keys included.
    """
    try:
        yield
    except (httpx.RequestError, httpx.InvalidURL, httpx.StreamError) as error:
        raise _typed(error) from error


def _typed(error: Exception) -> ProviderError:
    cause = error.__cause__
    if isinstance(cause, ProviderError):
        return type(cause)(cause.detail, retry_after=cause.retry_after, retry=cause.retry)
    if isinstance(error, httpx.ProxyError):
        return Unavailable("proxy", retry=False)
    if isinstance(error, httpx.TimeoutException):
        return Unavailable("no answer in time")
    if isinstance(error, httpx.ConnectError):
        return Unavailable("no connection")
    if isinstance(error, httpx.NetworkError):
        return Unavailable("connection broke")
    if isinstance(error, httpx.RemoteProtocolError):
        return Malformed("not an HTTP answer")
    if isinstance(error, httpx.DecodingError):
        return Malformed("content encoding broken")
    return Malformed("request cannot be sent")


@contextmanager
def parsing() -> Iterator[None]:
    """Turn what reading an answer of another shape raises into Malformed, without a word of the answer."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise Malformed(f"answer of an unexpected shape ({type(error).__name__})") from error
