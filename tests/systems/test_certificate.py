"""The certificate of the servers: made once, for this machine alone, and made again before it ends."""

import os
import stat
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from runners.systems import certificate


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_it_is_made_once_and_lasts_for_months():
    folder = certificate.certificate_folder()
    before = (folder / "certificate.pem").read_bytes()
    assert certificate.certificate_folder() == folder
    assert (folder / "certificate.pem").read_bytes() == before
    found = x509.load_pem_x509_certificate(before)
    assert found.not_valid_after_utc - datetime.now(UTC) > timedelta(days=300)
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_only_its_owner_reads_the_key():
    folder = certificate.certificate_folder()
    assert stat.S_IMODE((folder / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", ["cut", "soon"])
def test_a_damaged_one_and_one_that_ends_soon_are_made_again(damage, monkeypatch):
    if damage == "soon":
        monkeypatch.setattr(certificate, "_LASTS", timedelta(days=29))
    file = certificate.certificate_folder() / "certificate.pem"
    if damage == "cut":
        os.truncate(file, 100)
    before = file.read_bytes()
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file.parents[2]))
    after = (certificate.certificate_folder() / "certificate.pem").read_bytes()
    assert after != before
    assert x509.load_pem_x509_certificate(after).public_key()
