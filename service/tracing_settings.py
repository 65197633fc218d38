"""The standard variables of OpenTelemetry for traces, to what the SDK's objects are given. Pure.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and .../protocol/exporter/ (2026-11).
The SDK reads some of them itself, from the environment only and partly in other units; so everything is passed to it.
Unlike there an unknown value stops the start, as everywhere here. Only OTLP over HTTP is spoken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from service import values
from service.values import SettingsError, wrong

T = TypeVar("T")

SAMPLERS = (
    "parentbased_always_on",
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_off",
    "parentbased_traceidratio",
)
PACKAGES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter")
MORE = "asks for traces, which need more packages: pip install 'research-mcp[otel]'"


@dataclass(frozen=True, slots=True)
class Tracing:
    """Where spans go. endpoint: the whole address. timeout in seconds. certificates: files, None for the system's.

    ratio: the share of traces that the samplers of that name keep. resource: what is said of this process.
    """

    endpoint: str
    headers: Mapping[str, str] = field(repr=False)
    timeout: float
    compression: str
    certificate: str | None
    client_certificate: str | None
    client_key: str | None
    sampler: str
    ratio: float
    resource: Mapping[str, str]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values of headers: they hold the collector's key."""
        return tuple(self.headers.values())


def tracing(variables: Mapping[str, str], service_name: str) -> Tracing | None:
    """What the variables ask for; None where they ask for no traces. Raises SettingsError."""
    asked_by = _asked_by(variables)
    if asked_by is None:
        return None
    if not _are_installed():
        raise wrong(asked_by, MORE)
    otlp = _Otlp(variables)
    otlp.get("PROTOCOL", "http/protobuf", lambda name, value: values.choice(name, value, ["http/protobuf"]))
    resource = _pairs("OTEL_RESOURCE_ATTRIBUTES", variables.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    name = variables.get("OTEL_SERVICE_NAME") or resource.get("service.name") or service_name
    sampler, ratio = variables.get("OTEL_TRACES_SAMPLER", SAMPLERS[0]), variables.get("OTEL_TRACES_SAMPLER_ARG", "1")
    return Tracing(
        endpoint=_endpoint(variables),
        headers=otlp.get("HEADERS", {}, _pairs),
        timeout=otlp.get("TIMEOUT", 10_000, values.whole) / 1000,
        compression=otlp.get("COMPRESSION", "none", lambda name, value: values.choice(name, value, ["none", "gzip"])),
        certificate=otlp.get("CERTIFICATE", None, values.text),
        client_certificate=otlp.get("CLIENT_CERTIFICATE", None, values.text),
        client_key=otlp.get("CLIENT_KEY", None, values.text),
        sampler=values.choice("OTEL_TRACES_SAMPLER", sampler, SAMPLERS),
        ratio=_ratio("OTEL_TRACES_SAMPLER_ARG", ratio),
        resource=resource | {"service.name": values.text("OTEL_SERVICE_NAME", name)},
    )


class _Otlp:
    """The exporter's variables: those for traces come before those for everything."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def get(self, suffix: str, default: T, parse: Callable[[str, str], T]) -> T:
        for variable in (f"OTEL_EXPORTER_OTLP_TRACES_{suffix}", f"OTEL_EXPORTER_OTLP_{suffix}"):
            if variable in self._variables:
                return parse(variable, self._variables[variable])
        return default


def _asked_by(variables: Mapping[str, str]) -> str | None:
    """The variable that asks for traces. They go to localhost where it is only the exporter that is named."""
    disabled = values.boolean("OTEL_SDK_DISABLED", variables.get("OTEL_SDK_DISABLED", "false"))
    exporter = variables.get("OTEL_TRACES_EXPORTER")
    if exporter is not None:
        exporter = values.choice("OTEL_TRACES_EXPORTER", exporter, ["otlp", "none"])
    if disabled or exporter == "none":
        return None
    names = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_EXPORTER")
    return next((name for name in names if name in variables), None)


def _are_installed() -> bool:
    try:
        return all(find_spec(package) is not None for package in PACKAGES)
    except ModuleNotFoundError:  # of a package around it
        return False


def _endpoint(variables: Mapping[str, str]) -> str:
    """The address for traces as it stands, or the one for everything with `/v1/traces` behind it."""
    if (own := variables.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")) is not None:
        return _address("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", own)
    base = variables.get("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")
    return _address("OTEL_EXPORTER_OTLP_ENDPOINT", base).rstrip("/") + "/v1/traces"


def _address(variable: str, value: str) -> str:
    if "@" in urlsplit(values.base_url(variable, value)).netloc:
        raise wrong(variable, "must have no login: put it into OTEL_EXPORTER_OTLP_HEADERS")
    return value


def _pairs(variable: str, value: str) -> dict[str, str]:
    """`name=value,name=value`, values percent-encoded."""
    found = {}
    for item in values.items(values.text(variable, value)):
        name, equals, text = item.partition("=")
        if not equals or not name.strip():
            raise wrong(variable, "must look like name=value,name=value")
        found[name.strip()] = values.text(variable, unquote(text.strip()))
    return found


def _ratio(variable: str, value: str) -> float:
    try:
        ratio = float(value)
    except ValueError:
        ratio = -1.0
    if not 0.0 <= ratio <= 1.0:
        raise SettingsError(variable, f"{variable} must be a number from 0 to 1")
    return ratio
