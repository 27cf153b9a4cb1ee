"""Keys of one run: an authority that is thrown away, and a certificate for each participant, in memory.

``Security.temporary`` of Dask gives all one key, which begins to be valid now: a host whose clock is behind would refuse it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from distributed.security import Security

# Clocks of hosts may differ by as much; a run never lasts longer.
_EARLIER, _LATER = timedelta(days=2), timedelta(days=30)
_AUTHORITY = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "wrkbook run")])


@dataclass(frozen=True)
class Identity:
    """A participant's key and certificate, and the certificate of the authority, as PEM."""

    key: str = field(repr=False)
    certificate: str
    authority: str

    def security(self) -> Security:
        """Return the settings with which Dask encrypts, shows this certificate, and accepts only the authority's."""
        found = {"tls_ca_file": self.authority}
        for role in ("scheduler", "client", "worker"):
            found |= {f"tls_{role}_cert": self.certificate, f"tls_{role}_key": self.key}
        return Security(require_encryption=True, **found)


class Authority:
    """A certificate authority whose key never leaves this object."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = _signed(_AUTHORITY, self._key.public_key(), self._key, authority=True)

    def identity(self, name: str) -> Identity:
        """Return a new key for a participant, with its certificate."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = _signed(subject, key.public_key(), self._key, authority=False)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Identity(private.decode(), _pem(certificate), _pem(self._certificate))


def _signed(
    subject: x509.Name, public: ec.EllipticCurvePublicKey, key: ec.EllipticCurvePrivateKey, *, authority: bool
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(_AUTHORITY).public_key(public)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - _EARLIER).not_valid_after(now + _LATER)
    builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    builder = builder.add_extension(signer, critical=False)
    if authority:
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(usage, critical=True)
    return builder.sign(key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
