"""The certificate that all servers of this machine show over TLS: made once, self-signed, in the cache folder."""

from __future__ import annotations

import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from runners.core.project import certificate_path, exclusive
from runners.systems.sockets import LOOPBACK

TLS_FOLDER = "/run/tls"
"""Where a server's sandbox shows the certificate and its key, read-only."""

# A clock may be set back; and a certificate that ends soon is made anew, so that it lasts for a run.
_EARLIER, _LASTS, _SOON = timedelta(days=2), timedelta(days=398), timedelta(days=30)


def certificate_folder() -> Path:
    """Return the folder with ``certificate.pem`` and ``key.pem``, made where they are missing or end within 30 days.

    ECDSA with the curve P-256, for 127.0.0.1.
    """
    certificate = certificate_path()
    with exclusive("certificate", "another wrkbook makes the certificate of the servers"):
        if not _lasts(certificate):
            certificate.parent.mkdir(mode=0o700, exist_ok=True)
            _make(certificate)
    return certificate.parent


def _lasts(file: Path) -> bool:
    from cryptography import x509  # a tenth of a second, for servers with TLS only

    try:
        ends = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc
    except (OSError, ValueError):
        return False
    return ends - datetime.now(UTC) > _SOON


def _make(file: Path) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "wrkbook")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - _EARLIER).not_valid_after(now + _LASTS)
    address = x509.IPAddress(ipaddress.ip_address(LOOPBACK))
    builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    # The key first: a certificate stands for both.
    for path, content in ((file.with_name("key.pem"), private), (file, certificate)):
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
        new.replace(path)
