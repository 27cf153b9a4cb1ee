"""A mix of requests for wrk: the file that ``wrk_mix.lua`` reads, and the line that it prints.

wrk tells its script neither the status nor the time of a response without copying each one into Lua. So of each endpoint only the
requests that were sent are counted; latencies are those of all endpoints together.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from runners.core.load import LOAD_FOLDER, GeneratorError
from runners.core.request import Mix

SCRIPT = Path(__file__).with_suffix(".lua")
MIX_FILE = "mix"
_MARKER = "wrkbook-sent "


def write(mix: Mix, folder: Path) -> None:
    """Write the script, the bodies and the sequence of a mix."""
    shutil.copyfile(SCRIPT, folder / SCRIPT.name)
    lines = []
    for name, request in mix.requests.items():
        words = [name, request.method, request.path]
        if request.body:
            (folder / f"{MIX_FILE}-{name}").write_bytes(request.body)
            words += [request.content_type, f"{LOAD_FOLDER}/{MIX_FILE}-{name}"]
        lines.append(" ".join(words))
    places = {name: str(place) for place, name in enumerate(mix.requests, 1)}
    lines.append(" ".join(places[name] for name in mix.sequence))
    (folder / MIX_FILE).write_text("\n".join(lines) + "\n", encoding="ascii")


def sent_counts(stdout: str, requests_count: int, spare_count: int) -> dict[str, int] | None:
    """Return endpoint → requests that were sent to it; None where wrk sent no mix.

    Parameters
    ----------
    stdout : str
        The output of wrk.
    requests_count : int
        Completed requests.
    spare_count : int
        Requests that may have been sent without being completed, one for each connection and error.

    Raises
    ------
    GeneratorError
        When the line is damaged, or its counts are not those of the completed requests.
    """
    lines = [line.removeprefix(_MARKER) for line in stdout.splitlines() if line.startswith(_MARKER)]
    if not lines:
        return None
    pairs = [re.fullmatch(r"(\S+):(\d+)", word) for word in lines[0].split(" ")]
    counts = {pair[1]: int(pair[2]) for pair in pairs if pair}
    if len(lines) > 1 or len(counts) != len(pairs):
        raise GeneratorError("the line of wrk_mix.lua in wrk's output is damaged")
    if not requests_count <= sum(counts.values()) <= requests_count + spare_count:
        raise GeneratorError(f"wrk completed {requests_count} requests, but its script sent {sum(counts.values())}")
    return counts
