"""What is enabled for whatever runs behind the servers: read from the files that it is started with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from runners.systems.catalogue import Server
from runners.systems.process import POOL_PER_CPU, pool_size


def stated_settings(server: Server) -> dict[str, str]:
    """The settings in the file that the manifest names, without comments and quotes; empty where it names none."""
    if server.settings is None:
        return {}
    text = (server.folder / server.settings).read_text(encoding="utf-8")
    found = re.findall(r"^(\w+)\s*=\s*('[^']*'|[^#\n]*)", text, re.MULTILINE)
    return {name: value.strip().strip("'") for name, value in found}


def backend_facts(backend: Server, cpus: Sequence[int]) -> dict[str, Any]:
    """What ``run.json`` says of a backend behind servers on `cpus`: title, settings, and connections of each server (pool_count)."""
    pools = {"pool_count": pool_size(cpus), "pool_per_cpu_count": POOL_PER_CPU}
    return {"title": backend.title, **pools, "settings": stated_settings(backend)}
