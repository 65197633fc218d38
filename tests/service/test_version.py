"""What the installed package says of itself."""

from __future__ import annotations

from email.message import Message

import pytest

import service.version
from service.version import own_website


def installed(monkeypatch: pytest.MonkeyPatch, *urls: str) -> None:
    package = Message()
    for url in urls:
        package["Project-URL"] = url
    monkeypatch.setattr(service.version, "metadata", lambda name: {"research-mcp": package}[name])


def test_the_website_is_the_home_page_among_the_addresses_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "Changelog, https://a.example/changes", "Homepage, https://a.example/")

    assert own_website() == "https://a.example/"


def test_a_package_without_a_home_page_has_no_website(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)

    assert own_website() is None


def test_a_folder_that_was_never_installed_has_no_website(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Message:
        raise service.version.PackageNotFoundError(name)

    monkeypatch.setattr(service.version, "metadata", missing)

    assert own_website() is None
