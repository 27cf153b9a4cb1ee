"""Request bodies: seeded batches in the shape of the published request."""

from __future__ import annotations

import json
import random
from typing import Any, Literal, get_args

from runners.contract.batch import MOST_ELEMENTS

Style = Literal["compact", "pretty"]


def request_body(operations: int, style: Style = "pretty", seed: int = 0) -> bytes:
    """Return a batch of exactly so many operations, each with 2 filters, 2 read columns and an operation id.

    Parameters
    ----------
    operations
        1 to 4096.
    style
        "compact" has no whitespace; "pretty" has one member to a line and two spaces to a level, as the requests that
        webserver-benchmarks measured with (10 operations: about 5 kB; 4096: about 2.2 MiB).
    seed
        The same arguments give the same bytes. Tables, values and ids differ from operation to operation, so that
        nothing can be remembered instead of decoded; their lengths are those of the published request.

    Raises
    ------
    ValueError
        For a number of operations out of bounds, or an unknown style.
    """
    if not 1 <= operations <= MOST_ELEMENTS:
        raise ValueError(f"a batch has 1 to {MOST_ELEMENTS} operations, not {operations}")
    if style not in get_args(Style):
        raise ValueError(f"a body is written in one of the styles {', '.join(get_args(Style))}, not {style!r}")
    chance = random.Random(seed)
    batch = {"operations": [_operation(number, chance) for number in range(1, operations + 1)]}
    if style == "pretty":
        return json.dumps(batch, indent=2).encode() + b"\n"
    return json.dumps(batch, separators=(",", ":")).encode()


def _operation(number: int, chance: random.Random) -> dict[str, Any]:
    return {
        "method": "POST",
        "relative-url": f"my_database_{chance.randint(1, 9)}/my_table_{chance.randint(1, 9)}/pk-read",
        "body": {
            "filters": [{"column": f"id{index}", "value": str(chance.randrange(10))} for index in range(2)],
            "readColumns": [{"column": f"col{index}", "dataReturnType": "default"} for index in range(2)],
            "operationId": str(number),
        },
    }
