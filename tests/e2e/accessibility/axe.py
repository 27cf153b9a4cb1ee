"""axe-core, which the tests of pages run in them; installed by its lock file, once, in the image that builds the servers."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from runners.core.project import cache_folder
from runners.measure.conformance import full_image
from runners.systems.build import CACHE_ENV
from runners.systems.catalogue import Catalogue
from runners.systems.sandbox import Sandbox

HERE = Path(__file__).parent
SERIOUS = ("serious", "critical")


def script() -> str:
    """Return axe-core's own script."""
    key = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()[:16]
    folder = cache_folder() / "builds" / f"axe-core-{key}"
    built = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not built.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        image = full_image(Catalogue())
        image.ensure()
        cache = cache_folder() / "build-cache"
        cache.mkdir(exist_ok=True)
        inside = Sandbox(
            image, writable={"/build": folder, "/cache": cache}, env=CACHE_ENV, workdir="/build", builds=True
        )
        command = inside.command(["npm", "ci", "--ignore-scripts", "--prefer-offline", "--prefix", "/build"])
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    return built.read_text(encoding="utf-8")


def violations(page, source: str) -> list[str]:
    """Return what is seriously wrong with a page for those who do not see it or use no pointer."""
    page.evaluate(source)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(result => result.violations)")
    return [
        f"{each['id']}: {node['html'][:160]}"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"][:3]
    ]
