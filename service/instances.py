"""Settings and the table to rows: which instances are configured, with which provider, rate, proxy and so on."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import httpx
import structlog

from actors.options import Order, Orders
from actors.row import Row, SideRemote
from providers import _registry
from providers._contract import Role
from service import values
from service.settings import Settings
from service.table import IMAGES, READ, SEARCH, TABLE, Instance, Value
from service.values import SettingsError

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Tables:
    """The table and its orders; one argument, so that tests can bring their own."""

    instances: tuple[Instance, ...] = TABLE
    search: Order = SEARCH
    images: Order = IMAGES
    read: Order = READ


@dataclass(frozen=True, slots=True)
class Configured:
    """What `build` made of the settings.

    unconfigured: names of instances and the variables each of them lacks. disabled: names of those that NAME_ENABLED
    switches off or that step aside. orders hold configured instances only.
    """

    rows: tuple[Row, ...]
    orders: Orders
    unconfigured: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    disabled: tuple[str, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(secret for row in self.rows for secret in row.secrets))


def build(settings: Settings, tables: Tables | None = None) -> Configured:
    """Rows and orders for these settings. Imports the providers that are configured, and sends nothing.

    Raises SettingsError for a malformed variable of any instance, or where nothing can search or nothing can read.
    """
    tables = tables or Tables()
    variables = [_Variables(instance, settings) for instance in tables.instances]
    disabled = tuple(each.instance.name for each in variables if not each.is_enabled)
    unconfigured = {each.instance.name: each.missing for each in variables if each.is_enabled and each.missing}
    running = [each for each in variables if each.is_enabled and not each.missing]
    names = {each.instance.name for each in running}
    aside = tuple(each.instance.name for each in running if each.instance.steps_aside_for in names)
    rows = tuple(_row(each) for each in running if each.instance.name not in aside)
    orders = _orders(rows, tables)
    _demand_search_and_read(orders, unconfigured, tables)
    return Configured(rows, orders, MappingProxyType(unconfigured), disabled + aside)


def log_states(configured: Configured) -> None:
    """One line for each instance that does not run."""
    for name, missing in configured.unconfigured.items():
        log.info("instance_state", instance=name, state="unconfigured", missing=list(missing))
    for name in configured.disabled:
        log.info("instance_state", instance=name, state="disabled")


def secrets_of(settings: Settings, instances: Iterable[Instance] = TABLE) -> tuple[str, ...]:
    """All that must appear in no output, of disabled instances too: keys, and the logins of addresses and proxies."""
    found = list(settings.secrets)
    for instance in instances:
        found += _Variables(instance, settings).secrets
    return tuple(dict.fromkeys(found))


def variable_names(instance: Instance) -> tuple[str, ...]:
    """All variables of an instance, those it needs first."""
    own = [value.variable for value in instance.needs + instance.options if value.kind != "setting"]
    own += [address.variable for address in instance.addresses]
    general = ["ENABLED", "BASE_URL", "PROXY", "RATE", "QUOTA", "TIMEOUT", "WORKERS"]
    if not _has_base_url(instance):
        general.remove("BASE_URL")
    return tuple(dict.fromkeys([*own, *(f"{instance.prefix}_{suffix}" for suffix in general)]))


def _has_base_url(instance: Instance) -> bool:
    """Only an instance that names its remotes otherwise, and has none beside them, has no NAME_BASE_URL."""
    return instance.base_field is not None or not instance.addresses


class _Variables:
    """The variables of one instance, checked as they are taken. All are checked, even those of a disabled instance."""

    def __init__(self, instance: Instance, settings: Settings) -> None:
        self.instance = instance
        self.settings = settings
        self.is_enabled: bool = self._own("ENABLED", values.boolean, True)
        self.base_url: str | None = self._own("BASE_URL", values.base_url, None) if _has_base_url(instance) else None
        shared = self._take(instance.shared_proxy, values.proxy, None) if instance.shared_proxy else None
        self.proxy: str | None = self._own("PROXY", values.proxy, shared)
        self.rate = self._own("RATE", values.rate, instance.rate)
        self.limit = self._own("QUOTA", values.quota, instance.limit)
        self.timeout = self._own("TIMEOUT", values.seconds, instance.timeout or settings.request_timeout)
        self.workers = self._own("WORKERS", _workers, instance.workers)
        self.fields = {value.field: self._field(value) for value in instance.needs + instance.options}
        self.addresses = {
            each.variable: self._take(each.variable, values.base_url, None) for each in instance.addresses
        }

    def _own(self, suffix: str, parse: Callable[[str, str], T], default: T) -> T:
        return self._take(f"{self.instance.prefix}_{suffix}", parse, default)

    def _take(self, variable: str, parse: Callable[[str, str], T], default: T) -> T:
        value = self.settings.variables.get(variable)
        return default if value is None else parse(variable, values.text(variable, value))

    def _field(self, value: Value) -> Any:
        if value.kind == "setting":
            return getattr(self.settings, value.variable.lower())
        parse = {"secret": values.secret, "text": values.text, "proxy": values.proxy}[value.kind]
        return self._take(value.variable, parse, None)

    @property
    def side_remotes(self) -> tuple[SideRemote, ...]:
        return tuple(
            SideRemote(each.field, self.fields[each.field]) for each in self.instance.options if _is_side(each)
        )

    def is_set(self, variable: str) -> bool:
        return variable in self.settings.variables

    @property
    def missing(self) -> tuple[str, ...]:
        needed = [value.variable for value in self.instance.needs]
        needed += [address.variable for address in self.instance.addresses if address.needed]
        return tuple(name for name in needed if not self.is_set(name))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Keys, and user:password pairs and passwords of addresses and proxies, as they are set and decoded."""
        kinds = {value.field: value.kind for value in self.instance.needs + self.instance.options}
        keys = [value for name, value in self.fields.items() if value and kinds[name] == "secret"]
        urls = [self.base_url, self.proxy, *self.addresses.values()]
        urls += [value for name, value in self.fields.items() if value and kinds[name] == "proxy"]
        logins = [secret for url in urls if url for secret in _logins(url)]
        return tuple(dict.fromkeys(keys + logins))


def _is_side(value: Value) -> bool:
    return value.kind == "proxy"


def _workers(variable: str, value: str) -> int:
    return values.whole(variable, value, most=10_000)


def _logins(url: str) -> tuple[str, ...]:
    """The secrets in a URL's login: the password, raw and decoded, and the pair as `Authorization: Basic` has it."""
    login, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    user, _, password = login.partition(":")
    if not at or not password:
        return ()
    basic = base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode("ascii")
    return (password, unquote(password), basic)


# --- rows -----------------------------------------------------------------------------------------------------------


def _row(variables: _Variables) -> Row:
    instance, settings = variables.instance, variables.settings
    upgrade = instance.upgrade if instance.upgrade and variables.is_set(instance.upgrade.variable) else None
    proxy, secrets = variables.proxy, variables.secrets
    rotates = proxy is None and instance.scrapes and settings.proxy_sessions is not None
    if rotates:
        proxy, secrets = _rotating_proxy(settings), (*secrets, *settings.secrets)
    is_default_rate = not variables.is_set(f"{instance.prefix}_RATE")
    return Row(
        name=instance.name,
        type=instance.type,
        provider=_provider(variables),
        roles=upgrade.roles if upgrade else instance.roles,
        rate=upgrade.rate if upgrade and is_default_rate else variables.rate,
        limit=variables.limit,
        timeout=variables.timeout,
        workers=variables.workers,
        patience=instance.patience,
        retries=settings.retries if instance.is_retried else 0,
        has_breaker=instance.has_breaker,
        paid=upgrade.paid if upgrade else instance.paid,
        family=instance.family,
        final=instance.final,
        reach=instance.reach,
        proxy=proxy,
        proxy_sessions=rotates,
        side_remotes=variables.side_remotes,
        exempt=frozenset(_pair(url) for url in (variables.base_url, *variables.addresses.values()) if url),
        impersonate=instance.impersonate,
        secrets=secrets,
    )


def _rotating_proxy(settings: Settings) -> str:
    """The gateway with its plain login; the client puts the session of each unit of work into it."""
    sessions = settings.proxy_sessions
    assert sessions is not None
    login = f"{quote(sessions.login, safe='')}:{quote(sessions.password, safe='')}"
    return f"{sessions.scheme}://{login}@{sessions.host}:{sessions.port}"


def _pair(url: str) -> tuple[str, int]:
    """Host and port of an address, spelt as the connection pool asks for them."""
    parsed = httpx.URL(url)
    return parsed.raw_host.decode("ascii"), parsed.port or (443 if parsed.scheme == "https" else 80)


def _provider(variables: _Variables) -> Any:
    """The provider object. What is not set keeps the provider's own default."""
    instance = variables.instance
    cls = _registry.lookup(instance.type)
    sides = {side.name for side in variables.side_remotes}
    taken = {name: value for name, value in variables.fields.items() if value is not None and name not in sides}
    for address in instance.addresses:
        if (base := variables.addresses[address.variable]) is not None:
            taken[address.field] = _rebased(_default(cls, address.field), base)
    if instance.base_field is not None and variables.base_url is not None:
        url = taken.get(instance.base_field) or _default(cls, instance.base_field)
        taken[instance.base_field] = _rebased(url, variables.base_url)
    return cls(**taken)


def _default(cls: type[Any], name: str) -> str:
    """The vendor's own address: the default of the provider's field, empty where the remote is the operator's."""
    default = next(each.default for each in fields(cls) if each.name == name)
    return "" if default is MISSING else default


def _rebased(url: str, base: str) -> str:
    """`url` with scheme, host and port of `base`, and its path behind that of `base`; parameters stay."""
    if not url:
        return base
    path = httpx.URL(url).raw_path.decode("ascii")
    return base.rstrip("/") + path


# --- orders ---------------------------------------------------------------------------------------------------------


def _orders(rows: Iterable[Row], tables: Tables) -> Orders:
    roles = {row.name: row.roles for row in rows}

    def running(order: Order, role: Role) -> Order:
        kept: list[str | tuple[str, ...]] = []
        for entry in order:
            group = (entry,) if isinstance(entry, str) else entry
            names = tuple(name for name in group if role in roles.get(name, ()))
            if names:
                kept.append(names[0] if len(names) == 1 else names)
        return tuple(kept)

    return Orders(
        search=running(tables.search, Role.SEARCH),
        images=running(tables.images, Role.IMAGES),
        read=running(tables.read, Role.READ),
        rerank=next((name for name, each in roles.items() if Role.RERANK in each), None),
    )


def _demand_search_and_read(orders: Orders, unconfigured: Mapping[str, tuple[str, ...]], tables: Tables) -> None:
    for role, order in ((Role.SEARCH, orders.search), (Role.READ, orders.read)):
        if order:
            continue
        able = [each.name for each in tables.instances if role in each.roles and each.name in unconfigured]
        hints = ", ".join(f"{name} needs {' and '.join(unconfigured[name])}" for name in able)
        hint = f"; {hints}" if hints else ""
        sentence = f"no {role.value} instance is enabled: remove a NAME_ENABLED=false or configure one{hint}"
        raise SettingsError("", sentence)
