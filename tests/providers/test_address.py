"""The rules on URLs, names and addresses."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from providers._address import (
    InvalidUrl,
    NotAllowed,
    allowed_address,
    carries_secret,
    check_host,
    check_port,
    effective_port,
    may_leave,
    parse_url,
)

REFUSED_NETWORKS = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24
192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
224.0.0.0/3 168.63.129.16/32
::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20
""".split()
# Reserved space ends at these edges, so there is no public neighbour.
NO_NEIGHBOUR = {"::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "255.255.255.255", "0.0.0.0"}


@pytest.mark.parametrize("network", REFUSED_NETWORKS)
def test_a_refused_network_is_refused_from_edge_to_edge(network: str) -> None:
    first, last = ip_network(network)[0], ip_network(network)[-1]

    assert not allowed_address(str(first))
    assert not allowed_address(str(last))
    assert not allowed_address(str(first + (int(last) - int(first)) // 2))


def test_the_neighbours_of_refused_networks_are_public_unless_refused_themselves() -> None:
    networks = [ip_network(network) for network in REFUSED_NETWORKS]
    neighbours = 0
    for network in networks:
        for edge, step in ((network[0], -1), (network[-1], 1)):
            number = int(edge) + step
            if not 0 <= number < 2**network.max_prefixlen:
                continue
            neighbour = type(edge)(number)
            if not any(neighbour in other for other in networks if other.version == neighbour.version):
                neighbours += 1
                assert allowed_address(str(neighbour)), neighbour
    assert neighbours > 30


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.170.2", "169.254.0.23", "169.254.42.42", "100.100.100.200", "192.0.0.192",
        "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fe80::a9fe:a9fe", "168.63.129.16",
        "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1%eth0", "fd00::1%eth0", "2002:a9fe:a9fe::1",
        "0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "ff02::1", "::ffff:10.0.0.1", "198.18.0.1", "240.0.0.1",
        "2606:4700::1%eth0", "2606:4700:0:1:0:5efe:a00:1", "2606:4700:0:1:200:5efe:a00:1", "2001:0:4136:e378::1",
    ],
)  # fmt: skip
def test_metadata_and_what_is_no_unicast_address_stay_closed_under_every_setting(address: str) -> None:
    assert not allowed_address(address)
    assert not allowed_address(address, allow_private=True)


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "172.31.0.1", "192.168.1.10", "127.0.0.1", "100.64.0.1", "::1", "fd12::1", "fec0::1"]
)
def test_the_switch_opens_private_networks(address: str) -> None:
    assert not allowed_address(address)
    assert allowed_address(address, allow_private=True)


@pytest.mark.parametrize(
    "text", ["", "example.com", "1.2.3", "0177.0.0.1", "2130706433", "[::1]", " 1.1.1.1", "1.1.1.1/32"]
)
def test_what_is_no_address_is_not_allowed(text: str) -> None:
    assert not allowed_address(text, allow_private=True)


def test_public_addresses_are_allowed() -> None:
    for text in ("1.1.1.1", "93.184.215.14", "2606:4700:4700::1111", "2a02:ec80:300:ed1a::1"):
        assert allowed_address(text)
        assert allowed_address(str(ip_address(text)), allow_private=True)


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "https://example.com/" + "a" * 2048, "ftp://example.com/", "example.com", "http:example.com",
        "http://", "http://:80/", "http:///x", "http://?x", "https://user@example.com/", "https://@example.com/", "http://a\\b.com/",
        "http://exa\u0000mple.com/", "http://example.com/\u007f", "http://example.com/\u0085", "http://example.com/\ud800",
        "http://example.com/a\nb", "http://exam\u00adple.com/", "http://exam\u200bple.com/", "http://exa mple.com/",
        "http://exa\u00a0mple.com/", "http://exa\u2028mple.com/", "http://exa\ue000mple.com/", "http://example%2ecom/",
        "http://example.com:0/", "http://example.com:00000/", "http://example.com:65536/", "http://example.com:+80/",
        "http://example.com:8a/", "http://example.com:000080/", "http://example.com:22/", "http://example.com:1023/",
        "http://example.com:6667/", "http://[::1", "http://[127.0.0.1]/", "http://example..com/", "http://.example.com/",
        "http://-a.example.com/", "http://a-.example.com/", "http://exa,mple.com/", f"http://{'a' * 64}.example.com/",
        "http://" + "a." * 127 + "com/", "http://example.com../", "http://\u2460.example.com/", "javascript:alert(1)",
    ],
)  # fmt: skip
def test_a_wrong_text_is_invalid_whatever_the_switch_says(text: str) -> None:
    for allow_private in (False, True):
        with pytest.raises(InvalidUrl):
            parse_url(text, allow_private=allow_private)


@pytest.mark.parametrize(
    ("text", "also_with_the_switch"),
    [
        ("http://127.0.0.1/", False),
        ("http://[fd00::1]:8080/", False),
        ("http://localhost/", False),
        ("http://LOCALHOST./", False),
        ("http://redis:8080/", False),
        ("http://printer.local/", False),
        ("http://a.b.cluster.local/", False),
        ("http://1.0.0.127.in-addr.arpa/", False),
        ("http://169.254.169.254/", True),
        ("http://metadata.google.internal/", True),
        ("http://x.metadata.goog/", True),
        ("http://metadata.tencentyun.com/", True),
        ("http://2130706433/", True),
        ("http://0x7f.1/", True),
        ("http://example.0x7f/", True),
        ("http://127.1/", True),
        ("http://127.0.0.1./", True),
        ("http://127\u30020\u30020\u30021/", False),
    ],
)
def test_an_address_or_name_that_rules_forbid_is_not_allowed(text: str, also_with_the_switch: bool) -> None:
    with pytest.raises(NotAllowed):
        parse_url(text)
    if also_with_the_switch:
        with pytest.raises(NotAllowed):
            parse_url(text, allow_private=True)
    else:
        parse_url(text, allow_private=True)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("  https://example.com/page \n", "https://example.com/page"),
        ("HTTPS://EXAMPLE.COM:443/A?b=C#d", "https://example.com/A?b=C#d"),
        ("https://example.com./x", "https://example.com/x"),
        ("https://example.com.:8443/x", "https://example.com:8443/x"),
        ("https://example.com:/x", "https://example.com/x"),
        ("http://example.com:08080/", "http://example.com:8080/"),
        ("https://b\u00fccher.example.com/", "https://xn--bcher-kva.example.com/"),
        ("https://my_site.example.com/@user?next=http://127.0.0.1/", None),
        ("https://[2606:4700:4700::1111]:8443/", None),
        ("https://163.com/", None),
        ("https://notlocalhost.com/", None),
        ("https://example.com?q=1", "https://example.com/?q=1"),
    ],
)
def test_a_good_url_comes_out_in_its_one_form(text: str, parsed: str | None) -> None:
    url = parse_url(text)

    sent = f"{url.scheme}://{url.netloc.decode()}{url.raw_path.decode()}"
    assert sent + (f"#{url.fragment}" if url.fragment else "") == (parsed or text)


def test_zero_width_joiners_in_a_path_are_kept_and_encoded() -> None:
    url = parse_url("https://fa.wikipedia.org/wiki/\u0645\u06cc\u200c\u062e")

    assert url.raw_path == b"/wiki/%D9%85%DB%8C%E2%80%8C%D8%AE"


def test_a_redirect_may_be_longer_than_a_callers_url() -> None:
    text = "https://example.com/" + "a" * 3000

    assert parse_url(text, limit=4096)
    with pytest.raises(InvalidUrl):
        parse_url(text)


def test_ports_without_a_number_are_those_of_the_scheme() -> None:
    assert effective_port(parse_url("https://example.com/")) == 443
    assert effective_port(parse_url("http://example.com/")) == 80
    assert effective_port(parse_url("http://example.com:8080/")) == 8080


@pytest.mark.parametrize("port", [80, 443, 1024, 3000, 8000, 8080, 8443, 65535])
def test_ports_of_web_servers_are_open(port: int) -> None:
    check_port(port)


@pytest.mark.parametrize(
    "port", [-1, 0, 1, 21, 22, 25, 110, 445, 1023, 2375, 3306, 5432, 6379, 6665, 9200, 27017, 65536]
)
def test_ports_of_other_services_are_closed(port: int) -> None:
    with pytest.raises(InvalidUrl):
        check_port(port)


def test_a_host_is_checked_the_same_way_without_a_url() -> None:
    check_host("example.com")
    check_host("1.1.1.1")
    check_host("redis", allow_private=True)
    for host, error in [("redis", NotAllowed), ("10.0.0.1", NotAllowed), ("a b.com", InvalidUrl), ("", InvalidUrl)]:
        with pytest.raises(error):
            check_host(host)


@pytest.mark.parametrize(
    "url",
    [
        "https://e.com/?token=1", "https://e.com/?a=1&Access_Token=2", "https://e.com/?X-Amz-Signature=x",
        "https://e.com/?%74oken=1", "https://e.com/#access_token=abc", "https://e.com/#/route?id_token=abc",
        "https://e.com/?a=1;sig=2", "https://e.com/#a#jwt=1",
    ],
)  # fmt: skip
def test_a_parameter_with_the_name_of_a_credential_is_a_secret(url: str) -> None:
    assert carries_secret(url)
    assert carries_secret(parse_url(url))


@pytest.mark.parametrize(
    "url",
    [
        "https://e.com/", "https://e.com/?sort=token", "https://e.com/token=1", "https://e.com/?tokens=1",
        "https://e.com/#token", "https://e.com/api#auth", "https://e.com/?api_key=&q=1",
    ],
)  # fmt: skip
def test_other_parameters_and_bare_names_are_no_secrets(url: str) -> None:
    assert not carries_secret(url)


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("https://example.com/page", True),
        ("https://example.com/page?token=", True),
        ("https://example.com/page?token=x", False),
        ("http://192.168.0.1/", False),
        ("http://[::1]/", False),
        ("http://wiki/", False),
        ("http://printer.local/", False),
        ("no address", False),
    ],
)
def test_url_may_leave_unless_it_is_private_or_carries_a_secret(url, verdict):
    assert may_leave(url) is verdict
