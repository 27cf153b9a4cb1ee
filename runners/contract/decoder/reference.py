"""The reference decoder, slow and obvious: the strictest reading of the contract, to compare servers with."""

from __future__ import annotations

from dataclasses import dataclass

from runners.contract.decoder.batch import Batch, Receipt, normalised as normalised, summed, typed
from runners.contract.decoder.strict_json import ContractError as ContractError, parse

BODY_LIMIT_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Verdict:
    """The contract's verdict about a body.

    Attributes
    ----------
    statuses
        The statuses that it allows: one, or 200 and 400 where it leaves the response open.
    batch, receipt
        What a response with status 200 must agree with; None where 200 is refused, or where nothing more is required of it.
    reason
        Why the body is refused or left open; empty for an accepted one.
    """

    statuses: frozenset[int]
    batch: Batch | None = None
    receipt: Receipt | None = None
    reason: str = ""


def judge(body: bytes) -> Verdict:
    """Return the statuses that a request body may get, and what a 200 must hold.

    Never raises: a refused body has a verdict, too.
    """
    if len(body) > BODY_LIMIT_BYTES:
        return Verdict(frozenset({413}), reason="more than 4 MiB")
    try:
        document = parse(body)
    except ContractError as error:
        return Verdict(frozenset({400}), reason=str(error))
    if document.repeated:
        return Verdict(frozenset({200, 400}), reason="a member given twice")
    try:
        batch = typed(document.root)
        proof = summed(batch)
    except ContractError as error:
        return Verdict(frozenset({400}), reason=str(error))
    if document.overflowing:
        return Verdict(frozenset({200, 400}), batch, proof, "a number in an ignored member overflows a double")
    return Verdict(frozenset({200}), batch, proof)


def decode(body: bytes) -> Batch:
    """Decode a body of any size into a batch; of a repeated member the last one counts.

    Raises
    ------
    ContractError
        If the contract refuses the body with status 400.
    """
    return typed(parse(body).root)


def receipt(body: bytes) -> Receipt:
    """Decode a body of any size and return its receipt.

    Raises
    ------
    ContractError
        If the contract refuses the body with status 400.
    """
    return summed(decode(body))
