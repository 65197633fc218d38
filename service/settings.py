"""The environment and `.env` to one frozen `Settings`. The only file that reads the process's environment.

SPEC section 5 lists the variables, section 10 those of the retrieval toolset. Every field is named like its variable,
in lower case.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar, cast

from dotenv.parser import parse_stream

from actors.redis_url import SHAPE as REDIS_SHAPE
from actors.redis_url import is_redis_url, redis_place
from service import values
from service.tracing_settings import Tracing, tracing
from service.values import SettingsError, wrong

DEFAULT_ENV_FILE = Path(".env")
ROUTES = ("/healthz", "/readyz", "/stats", "/metrics", "/ops", "/ops/data")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProxySessions:
    """A proxy that gives each login `LOGIN-session-<id>` an address of its own, for the scraping instances."""

    scheme: str
    host: str
    port: int
    login: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class RetrievalLimits:
    """Limits of the retrieval toolset (SPEC section 10). `*_in_flight` 0: no limit."""

    default_results: int
    max_results: int
    default_images: int
    max_images: int
    default_document_chars: int
    max_document_chars: int
    max_search_in_flight: int
    max_images_in_flight: int


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator chose. Fields without unit in their name: seconds as float, sizes in bytes, counts.

    mcp_allowed_hosts: None means any `Host` beyond a loopback bind. read_batch_max_chars, response_max_chars: 0 means
    no cut. default_timeout_ms: None means each tool's own. variables: all that was set, for `instances.build`.
    secrets: values of section 5 that must appear nowhere; those of instances come from `instances.secrets_of`.
    """

    mcp_transport: Literal["http", "stdio"]
    mcp_host: str
    mcp_port: int
    mcp_path: str
    mcp_name: str
    mcp_allowed_hosts: tuple[str, ...] | None
    mcp_allowed_origins: tuple[str, ...]
    mcp_bearer_token: str | None = field(repr=False)
    toolset: Literal["research", "retrieval"]
    help_language: Literal["en", "ru"]
    log_level: str
    log_mode: Literal["local", "prod"]
    log_file: Path
    log_rotation: int
    log_retention: float
    request_timeout: float
    retries: int
    fallback_min_chars: int
    read_pages_concurrency: int
    read_batch_max_chars: int
    response_max_chars: int
    read_hedge_after: float
    max_body_bytes: int
    http_keep_alive: float
    search_rerank_enabled: bool
    search_fusion: Literal["rrf", "pipeline"]
    search_strategy: Literal["all", "free_first"]
    search_wait_for_slot: bool
    jina_token_budget: int | None
    allow_private_network: bool
    max_calls_in_flight: int
    max_queries: int
    default_timeout_ms: int | None
    min_timeout_ms: int
    max_timeout_ms: int
    ledger_url: str = field(repr=False)
    extract_workers: int
    proxy_sessions: ProxySessions | None
    retrieval: RetrievalLimits
    tracing: Tracing | None
    variables: Mapping[str, str] = field(repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        password = self.proxy_sessions.password if self.proxy_sessions else None
        ledger = redis_place(self.ledger_url).password if is_redis_url(self.ledger_url) else None
        collector = self.tracing.secrets if self.tracing else ()
        return tuple(each for each in (self.mcp_bearer_token, password, ledger, *collector) if each)


def from_environment(env_file: Path | None = None) -> Settings:
    """The settings of this process. `env_file`: see `load_settings`."""
    return load_settings(os.environ, env_file)


def ignore_plugins() -> None:
    """Keep pydantic from loading plugins of other packages, which it would look for in all that is installed.

    That takes 50 ms, and a plugin that somebody else needs has no business with our messages.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def load_settings(environ: Mapping[str, str], env_file: Path | None = None) -> Settings:
    """Read and check all settings: `environ` first, then the file, then the defaults.

    `env_file` None means `.env` in the working directory, which need not be there; another file must be.
    Raises SettingsError for the first variable that is wrong.
    """
    merged = _env_file(env_file) | dict(environ)
    variables = {name: value.strip() for name, value in merged.items() if value.strip()}
    return _settings(_Reader(MappingProxyType(variables)))


def _env_file(path: Path | None) -> dict[str, str]:
    place = path or DEFAULT_ENV_FILE
    if path is None and not place.exists():
        return {}
    try:
        content = place.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError("--env-file", f"the settings file {place} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError("--env-file", f"the settings file {place} is not UTF-8 text") from None
    found = {}
    # The library's parser alone, without its interpolation: a `$` in a password stands for itself.
    for binding in parse_stream(io.StringIO(content)):
        if binding.error:
            line = binding.original.line
            raise SettingsError("--env-file", f"line {line} of the settings file {place} is not NAME=value")
        if binding.key is not None and binding.value is not None:
            found[binding.key] = binding.value
    return found


class _Reader:
    """Takes variables out of a mapping, by kind; each with its default."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables

    def get(self, variable: str, default: T, parse: Callable[[str, str], T]) -> T:
        value = self.variables.get(variable)
        return default if value is None else parse(variable, values.text(variable, value))

    def choice(self, variable: str, *allowed: str) -> str:
        """One of `allowed`; the first is the default."""
        return self.get(variable, allowed[0], lambda name, value: values.choice(name, value, allowed))

    def whole(self, variable: str, default: int, *, least: int = 1, most: int = values.MAX_NUMBER) -> int:
        return self.get(variable, default, lambda name, value: values.whole(name, value, least=least, most=most))

    def lenient(self, variable: str, default: int, *, zero: bool = False) -> int:
        """Section 10: zero or negative means the default. `zero`: 0 stands for itself."""
        value = self.get(variable, default, values.signed)
        return value if value > 0 or (zero and value == 0) else default


def _settings(read: _Reader) -> Settings:
    toolset = cast(Literal["research", "retrieval"], read.choice("TOOLSET", "research", "retrieval"))
    queries, default_timeout, min_timeout, max_timeout = _call_limits(read, toolset)
    return Settings(
        mcp_transport=cast(Literal["http", "stdio"], read.choice("MCP_TRANSPORT", "http", "stdio")),
        mcp_host=read.get("MCP_HOST", "127.0.0.1", values.host),
        mcp_port=_port(read, toolset),
        mcp_path=read.get("MCP_PATH", "/mcp", lambda name, value: values.path(name, value, taken=ROUTES)),
        mcp_name=read.get("MCP_NAME", "research-mcp", _name),
        mcp_allowed_hosts=read.get("MCP_ALLOWED_HOSTS", None, values.hosts),
        mcp_allowed_origins=read.get("MCP_ALLOWED_ORIGINS", (), values.origins),
        mcp_bearer_token=read.get("MCP_BEARER_TOKEN", None, values.secret),
        toolset=toolset,
        help_language=cast(Literal["en", "ru"], read.choice("HELP_LANGUAGE", "en", "ru")),
        log_level=read.choice("LOG_LEVEL", "INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL"),
        log_mode=cast(Literal["local", "prod"], read.choice("LOG_MODE", "local", "prod")),
        log_file=Path(read.get("LOG_FILE", "data/research-mcp.log", values.text)),
        log_rotation=read.get("LOG_ROTATION", 20_000_000, values.size),
        log_retention=read.get("LOG_RETENTION", 14 * 86_400.0, values.duration),
        request_timeout=read.get("REQUEST_TIMEOUT", 25.0, values.seconds),
        retries=read.whole("RETRIES", 1, least=0, most=10),
        fallback_min_chars=read.whole("FALLBACK_MIN_CHARS", 400),
        read_pages_concurrency=read.whole("READ_PAGES_CONCURRENCY", 5),
        read_batch_max_chars=read.whole("READ_BATCH_MAX_CHARS", 12_000, least=0),
        response_max_chars=read.whole("RESPONSE_MAX_CHARS", 80_000, least=0),
        read_hedge_after=read.get("READ_HEDGE_AFTER", 12.0, values.seconds),
        max_body_bytes=read.get("MAX_BODY_BYTES", 15_000_000, values.size),
        http_keep_alive=read.get("HTTP_KEEP_ALIVE", 5.0, values.seconds),
        search_rerank_enabled=read.get("SEARCH_RERANK_ENABLED", True, values.boolean),
        search_fusion=cast(Literal["rrf", "pipeline"], read.choice("SEARCH_FUSION", "rrf", "pipeline")),
        search_strategy=cast(Literal["all", "free_first"], read.choice("SEARCH_STRATEGY", "all", "free_first")),
        search_wait_for_slot=read.get("SEARCH_WAIT_FOR_SLOT", True, values.boolean),
        jina_token_budget=read.get("JINA_TOKEN_BUDGET", None, values.whole),
        allow_private_network=read.get("ALLOW_PRIVATE_NETWORK", False, values.boolean),
        max_calls_in_flight=read.whole("MAX_CALLS_IN_FLIGHT", 64),
        max_queries=queries,
        default_timeout_ms=default_timeout,
        min_timeout_ms=min_timeout,
        max_timeout_ms=max_timeout,
        ledger_url=read.get("LEDGER_URL", "sqlite:data/quota.sqlite3", _ledger_url),
        extract_workers=read.whole("EXTRACT_WORKERS", os.cpu_count() or 1, most=1024),
        proxy_sessions=_proxy_sessions(read),
        retrieval=_retrieval_limits(read, toolset),
        tracing=tracing(read.variables, read.get("MCP_NAME", "research-mcp", _name)),
        variables=read.variables,
    )


def _port(read: _Reader, toolset: str) -> int:
    is_other_name = toolset == "retrieval" and "MCP_PORT" not in read.variables
    return read.whole("SERVER_PORT" if is_other_name else "MCP_PORT", 8000, most=65_535)


def _name(variable: str, value: str) -> str:
    if len(value) > 64:
        raise wrong(variable, "must have at most 64 characters")
    return value


def _ledger_url(variable: str, value: str) -> str:
    if value.startswith("sqlite:") and value.removeprefix("sqlite:"):
        return value
    if not is_redis_url(value):
        raise wrong(variable, f"must look like sqlite:PATH or {REDIS_SHAPE}")
    try:
        redis_place(value)
    except ValueError:
        raise wrong(variable, f"must look like {REDIS_SHAPE}") from None
    if find_spec("coredis") is None:
        raise wrong(variable, "names a Redis, which needs one more package: pip install 'research-mcp[redis]'")
    return value


def _proxy_sessions(read: _Reader) -> ProxySessions | None:
    names = ("PROXY_SCHEME", "PROXY_HOST", "PROXY_PORT", "PROXY_LOGIN", "PROXY_PASSWORD")
    missing = [name for name in names if name not in read.variables]
    if len(missing) == len(names):
        return None
    if missing:
        raise wrong(missing[0], f"is missing: {', '.join(names[:-1])} and {names[-1]} are set all five or not at all")
    return ProxySessions(
        scheme=read.choice("PROXY_SCHEME", "http", "socks5", "socks5h"),
        host=read.get("PROXY_HOST", "", values.host),
        port=read.whole("PROXY_PORT", 0, most=65_535),
        login=read.get("PROXY_LOGIN", "", values.text),
        password=read.get("PROXY_PASSWORD", "", values.text),
    )


def _call_limits(read: _Reader, toolset: str) -> tuple[int, int | None, int, int]:
    """MAX_QUERIES and the default, least and most milliseconds of a call. Where least exceeds most, most wins."""
    if toolset == "research":
        highest = read.whole("MAX_TIMEOUT_MS", 120_000)
        lowest = min(read.whole("MIN_TIMEOUT_MS", 1_000), highest)
        chosen = read.get("DEFAULT_TIMEOUT_MS", None, values.whole)
        return (
            read.whole("MAX_QUERIES", 10),
            None if chosen is None else _clamp(chosen, lowest, highest),
            lowest,
            highest,
        )
    highest = read.lenient("MAX_TIMEOUT_MS", 10_000)
    lowest = min(read.lenient("MIN_TIMEOUT_MS", 1_000), highest)
    usual = _clamp(read.lenient("DEFAULT_TIMEOUT_MS", 5_000), lowest, highest)
    return read.lenient("MAX_QUERIES", 10), usual, lowest, highest


def _retrieval_limits(read: _Reader, toolset: str) -> RetrievalLimits:
    def count(variable: str, default: int) -> int:
        return read.lenient(variable, default) if toolset == "retrieval" else read.whole(variable, default)

    def in_flight(variable: str) -> int:
        return read.lenient(variable, 2, zero=True) if toolset == "retrieval" else read.whole(variable, 2, least=0)

    results, images, chars = count("MAX_RESULTS", 20), count("MAX_IMAGES", 10), count("MAX_DOCUMENT_CHARS", 20_000)
    return RetrievalLimits(
        default_results=min(count("DEFAULT_RESULTS", 5), results),
        max_results=results,
        default_images=min(count("DEFAULT_IMAGES", 5), images),
        max_images=images,
        default_document_chars=min(count("DEFAULT_DOCUMENT_CHARS", 20_000), chars),
        max_document_chars=chars,
        max_search_in_flight=in_flight("MAX_SEARCH_IN_FLIGHT"),
        max_images_in_flight=in_flight("MAX_IMAGES_IN_FLIGHT"),
    )


def _clamp(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
