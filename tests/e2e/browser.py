"""A real browser for the tests: Chromium from an image of its own, driven by Playwright."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from runners.systems.image import Image
from runners.systems.sandbox import Sandbox

IMAGE = Image.of(["chromium", "fonts-dejavu-core"])
# Chromium's own sandbox has nothing to stand on inside another; the network is told to be quiet.
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
_FLAGS += ["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"]


@contextmanager
def browser(shown: Path, scratch: Path) -> Iterator[Browser]:
    """Chromium that can read the folder `shown` (under its own path) and nothing else of this machine."""
    IMAGE.ensure()
    inside = Sandbox(IMAGE, read_only={"/src": shown}, env={"HOME": "/run"}).command(["chromium"])
    program = scratch / "chromium"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(inside)} "$@"\n')
    program.chmod(0o755)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(program), args=_FLAGS)
        try:
            yield started
        finally:
            started.close()
