"""The load generators by the name that trial records carry."""

from __future__ import annotations

from runners.core.errors import WrkbookError, did_you_mean
from runners.core.load import Generator
from runners.generators.autocannon import Autocannon
from runners.generators.paceload import Paceload
from runners.generators.perf_gauge import PerfGauge
from runners.generators.wrk import Wrk

GENERATORS: dict[str, Generator] = {
    generator.name: generator for generator in (Wrk(), Autocannon(), PerfGauge(), Paceload())
}


def generator_named(name: str) -> Generator:
    """Return the load generator called `name`.

    Raises
    ------
    WrkbookError
        When there is none, with the nearest known one.
    """
    if name not in GENERATORS:
        raise WrkbookError(f"there is no load generator named {name!r}", did_you_mean(name, list(GENERATORS)))
    return GENERATORS[name]
