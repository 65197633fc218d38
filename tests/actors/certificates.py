"""A certificate authority of the tests, and server contexts with its certificates."""

from __future__ import annotations

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(subject: str, issuer: str, key: Key, starts: datetime, ends: datetime) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder().subject_name(_name(subject)).issuer_name(_name(issuer))
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    return builder.not_valid_before(starts).not_valid_after(ends)


class Authority:
    """Issues certificates; `trusting` is a client's context that knows it."""

    def __init__(self) -> None:
        now = datetime.now(UTC)
        self._key = ec.generate_private_key(ec.SECP256R1())
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = _builder("Test authority", "Test authority", self._key, now - timedelta(30), now + timedelta(30))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(identifier, critical=False)
        self._certificate = builder.sign(self._key, hashes.SHA256())

    def trusting(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.load_verify_locations(cadata=self.pem)
        return context

    def trusting_nobody_else(self) -> ssl.SSLContext:
        """Far quicker to hand over to libcurl."""
        return ssl.create_default_context(cadata=self.pem)

    @property
    def pem(self) -> str:
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def server(self, *hosts: str, ends_in_days: float = 20, self_signed: bool = False) -> ssl.SSLContext:
        """A server's context with a certificate for these names and addresses."""
        return _server_context(self.server_pem(*hosts, ends_in_days=ends_in_days, self_signed=self_signed))

    def server_pem(self, *hosts: str, ends_in_days: float = 20, self_signed: bool = False) -> bytes:
        """A new key and its certificate for these names and addresses, in one file."""
        now = datetime.now(UTC)
        key = ec.generate_private_key(ec.SECP256R1())
        signer = key if self_signed else self._key
        issuer = "Test server" if self_signed else "Test authority"
        builder = _builder("Test server", issuer, key, now - timedelta(20), now + timedelta(ends_in_days))
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
        certificate = builder.add_extension(signed_by, critical=False).sign(signer, hashes.SHA256())
        pem = serialization.Encoding.PEM
        secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return secret + certificate.public_bytes(pem)


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _server_context(pem: bytes) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.pem")
        path.write_bytes(pem)
        context.load_cert_chain(path)
    return context


@lru_cache
def authority() -> Authority:
    return Authority()


@lru_cache
def trusting_context() -> ssl.SSLContext:
    return authority().trusting()
