"""Certificates made for one test, and TLS contexts of servers."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


class Authority:
    """A certificate authority that only clients with its `pem` trust.

    Args:
        folder: Folder of its files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("Authority of a test")
        now = datetime.datetime.now(datetime.timezone.utc)
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _certificate(self._name, self._name, self._key, (now - DAY, now + DAY))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.pem = certificate.public_bytes(serialization.Encoding.PEM)
        """Certificate of the authority."""
        self.path = folder / "authority.pem"
        """File of the certificate."""
        self.path.write_bytes(self.pem)

    def server(
        self,
        *,
        host: str = "127.0.0.1",
        expired: bool = False,
        protocols: Sequence[str] = ("http/1.1",),
    ) -> ssl.SSLContext:
        """Return the TLS context of a server.

        Args:
            host: Host name in the certificate.
            expired: True for an expired certificate.
            protocols: Protocols that it offers by ALPN.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.timezone.utc)
        valid = (now - 3 * DAY, now - 2 * DAY) if expired else (now - DAY, now + DAY)
        try:
            named: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            named = x509.DNSName(host)
        certificate = (
            _certificate(_name(host), self._name, key, valid)
            .add_extension(x509.SubjectAlternativeName([named]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        path = self._folder / f"server-{certificate.serial_number}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        context.set_alpn_protocols(list(protocols))
        return context


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    valid: tuple[datetime.datetime, datetime.datetime],
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(valid[0])
        .not_valid_after(valid[1])
    )
