"""`research-mcp stats`: asks the server that runs at MCP_HOST and MCP_PORT for `/stats`."""

from __future__ import annotations

import http.client
import json
from typing import Any

from service.gate import is_loopback
from service.settings import Settings

SECONDS = 5.0
MAX_BYTES = 4_000_000
WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "::1"}  # noqa: S104 (nothing is bound here)


class CannotAsk(Exception):
    """No statistics came; the text is a sentence for the operator."""


def fetch(settings: Settings) -> dict[str, Any]:
    """What `/stats` of the server at MCP_HOST and MCP_PORT says. Raises CannotAsk."""
    host = WILDCARDS.get(settings.mcp_host, settings.mcp_host).strip("[]")
    place = f"[{host}]:{settings.mcp_port}" if ":" in host else f"{host}:{settings.mcp_port}"
    headers = {"Host": _host_header(settings, place)}
    if settings.mcp_bearer_token is not None:
        headers["Authorization"] = f"Bearer {settings.mcp_bearer_token}"
    connection = http.client.HTTPConnection(host, settings.mcp_port, timeout=SECONDS)
    try:
        connection.request("GET", "/stats", headers=headers)
        response = connection.getresponse()
        status, body = response.status, response.read(MAX_BYTES)
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise CannotAsk(f"no server answers at {place} ({reason}); name another with --host and --port") from None
    finally:
        connection.close()
    return _understood(status, body, place)


def _host_header(settings: Settings, place: str) -> str:
    """A name that the server's gate lets in."""
    if is_loopback(settings.mcp_host):
        return f"localhost:{settings.mcp_port}"
    hosts = settings.mcp_allowed_hosts
    return hosts[0].removesuffix(":*") if hosts else place


def _understood(status: int, body: bytes, place: str) -> dict[str, Any]:
    if status == 401:
        raise CannotAsk(f"the server at {place} asks for another MCP_BEARER_TOKEN than this command has")
    if status == 421:
        raise CannotAsk(f"the server at {place} answers to other names: set MCP_ALLOWED_HOSTS as it has it")
    try:
        shown = json.loads(body)
        if status == 200 and isinstance(shown["service"]["calls"], dict) and isinstance(shown["actors"], list):
            return dict(shown)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise CannotAsk(f"what answers at {place} is no research-mcp (status {status})")
