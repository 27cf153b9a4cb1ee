"""TLS as the contract requires it: version 1.3 alone, the certificate of this machine, and sessions that can be resumed."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from runners.contract.findings import Finding, Message, Service, finding
from runners.core.project import certificate_path
from runners.core.request import CLOSE
from runners.core.workloads import WORKLOADS

_TIMEOUT_S = 5.0


def client(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    """Return the settings of a client that speaks this version alone, and trusts the certificate of this machine alone."""
    context = ssl.create_default_context(cafile=certificate_path())
    context.minimum_version = context.maximum_version = version
    return context


def check(tls_url: str, services: Sequence[Service]) -> Iterator[Finding]:
    """Try what TLS alone decides, on services with TLS.

    Parameters
    ----------
    tls_url : str
        `https://127.0.0.1:PORT`.
    services : Sequence[Service]
        Those that the server serves with TLS.
    """
    for service in services[:1]:
        message = Message("GET", service.path)
        if _connects_with(tls_url, ssl.TLSVersion.TLSv1_2):
            yield finding("TLS 1.2 is refused", service, message, "no connection", "it connects with TLS 1.2")
    for service in services:
        if WORKLOADS[service.workload].tls != "resumed":
            continue
        message = Message("GET", service.path, headers=dict([CLOSE]))
        try:
            difference = "" if _resumes(tls_url, message) else "it made a full handshake"
        except OSError as error:
            difference = f"no response: {error}"
        if difference:
            yield finding("a session is resumed", service, message, "a resumed session", difference)


def _connects_with(tls_url: str, version: ssl.TLSVersion) -> bool:
    try:
        _connected(tls_url, client(version), None).close()
    except OSError:
        return False
    return True


def _resumes(tls_url: str, message: Message) -> bool:
    """Return whether a second connection resumes the session of the first one."""
    context, session = client(), None
    for _ in range(2):
        with _connected(tls_url, context, session) as connection:
            connection.sendall(b"".join(message.fragments(urlsplit(tls_url).netloc)))
            # A ticket comes with or before the response.
            while connection.recv(1 << 16):
                pass
            session, resumed = connection.session, bool(connection.session_reused)
    return resumed


def _connected(tls_url: str, context: ssl.SSLContext, session: ssl.SSLSession | None) -> ssl.SSLSocket:
    parts = urlsplit(tls_url)
    host = parts.hostname or ""
    plain = socket.create_connection((host, parts.port or 443), _TIMEOUT_S)
    try:
        return context.wrap_socket(plain, server_hostname=host, session=session)
    except OSError:
        plain.close()
        raise
