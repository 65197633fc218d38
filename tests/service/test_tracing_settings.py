"""The standard OTEL_* variables: which ask for traces, which come first, and what stops the start."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from service import tracing_settings
from service.settings import load_settings
from service.tracing_settings import Tracing
from service.values import SettingsError

ON = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


def parsed(**variables: str) -> Tracing:
    found = load_settings(ON | variables).tracing
    assert found is not None
    return found


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_SERVICE_NAME": "mine", "OTEL_EXPORTER_OTLP_HEADERS": "a=b"},
        {"OTEL_TRACES_EXPORTER": "none"},
        ON | {"OTEL_TRACES_EXPORTER": "none"},
        ON | {"OTEL_SDK_DISABLED": "true"},
    ],
)
def test_traces_are_off_unless_an_address_or_the_exporter_asks_for_them(variables: dict[str, str]) -> None:
    assert load_settings(variables).tracing is None


@pytest.mark.parametrize(
    ("variables", "endpoint"),
    [
        ({"OTEL_TRACES_EXPORTER": "otlp"}, "http://localhost:4318/v1/traces"),
        (ON, "http://collector:4318/v1/traces"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://gateway.example/otlp/"}, "https://gateway.example/otlp/v1/traces"),
        (ON | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://other:1/here"}, "http://other:1/here"),
        (ON | {"OTEL_SDK_DISABLED": "false"}, "http://collector:4318/v1/traces"),
    ],
)
def test_the_address_for_traces_stands_and_the_general_one_gets_a_path(
    variables: dict[str, str], endpoint: str
) -> None:
    found = load_settings(variables).tracing
    assert found is not None
    assert found.endpoint == endpoint


def test_without_more_variables_the_specifications_defaults_hold() -> None:
    assert parsed() == Tracing(
        endpoint="http://collector:4318/v1/traces",
        headers={},
        timeout=10.0,
        compression="none",
        certificate=None,
        client_certificate=None,
        client_key=None,
        sampler="parentbased_always_on",
        ratio=1.0,
        resource={"service.name": "research-mcp"},
    )


def test_everything_can_be_said_for_traces_alone() -> None:
    found = parsed(
        OTEL_EXPORTER_OTLP_HEADERS="ignored=1",
        OTEL_EXPORTER_OTLP_TRACES_HEADERS="Authorization=Basic%20abc, x-team = blue",
        OTEL_EXPORTER_OTLP_TIMEOUT="1",
        OTEL_EXPORTER_OTLP_TRACES_TIMEOUT="2500",
        OTEL_EXPORTER_OTLP_TRACES_COMPRESSION="gzip",
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="http/protobuf",
        OTEL_EXPORTER_OTLP_CERTIFICATE="/ca.pem",
        OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE="/me.pem",
        OTEL_EXPORTER_OTLP_CLIENT_KEY="/me.key",
        OTEL_TRACES_SAMPLER="parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG="0.25",
    )

    assert found.headers == {"Authorization": "Basic abc", "x-team": "blue"}
    assert (found.timeout, found.compression) == (2.5, "gzip")
    assert (found.certificate, found.client_certificate, found.client_key) == ("/ca.pem", "/me.pem", "/me.key")
    assert (found.sampler, found.ratio) == ("parentbased_traceidratio", 0.25)


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"MCP_NAME": "mine"}, "mine"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=theirs,region=eu"}, "theirs"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=theirs", "OTEL_SERVICE_NAME": "ours"}, "ours"),
    ],
)
def test_the_service_is_named_by_its_own_variable_first(variables: dict[str, str], name: str) -> None:
    assert parsed(**variables).resource["service.name"] == name


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_SDK_DISABLED", "perhaps"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:password@collector"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "grpc://collector"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "no-value"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "=x"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=b%0d%0ac"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "brotli"),
        ("OTEL_RESOURCE_ATTRIBUTES", "x"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ("OTEL_TRACES_SAMPLER_ARG", "2"),
        ("OTEL_TRACES_SAMPLER_ARG", "half"),
        ("OTEL_TRACES_SAMPLER_ARG", "nan"),
    ],
)
def test_a_wrong_value_stops_the_start_and_names_the_variable(variable: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(ON | {variable: value})

    assert caught.value.variable == variable
    assert caught.value.sentence.startswith(f"{variable} must ")
    assert value not in caught.value.sentence


@pytest.mark.parametrize("missing", ["module", "package around it"])
def test_without_the_extra_the_start_stops_with_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(_name: str) -> Any:
        if missing == "module":
            return None
        raise ModuleNotFoundError

    monkeypatch.setattr(tracing_settings, "find_spec", find_spec)

    with pytest.raises(SettingsError) as caught:
        load_settings(ON)

    assert caught.value.sentence == (
        "OTEL_EXPORTER_OTLP_ENDPOINT asks for traces, which need more packages: pip install 'research-mcp[otel]'"
    )


def test_the_example_file_lists_every_variable() -> None:
    root = Path(__file__).parents[2]
    source = (root / "service/tracing_settings.py").read_text()
    example = (root / ".env.example").read_text()

    read = set(re.findall(r'"(OTEL_[A-Z_]+[A-Z])"', source))
    read |= {f"OTEL_EXPORTER_OTLP_{suffix}" for suffix in re.findall(r'otlp.get\("([A-Z_]+)"', source)}
    assert len(read) == 15
    assert read == set(re.findall(r"^# (OTEL_[A-Z_]+)=", example, re.MULTILINE))


def test_headers_of_the_collector_are_secrets() -> None:
    settings = load_settings(ON | {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=canary-key"})

    assert "canary-key" in settings.secrets
    assert "canary-key" not in repr(settings)
