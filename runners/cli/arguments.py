"""Parameters as words of the command line: ``-p NAME VALUE``."""

from __future__ import annotations

from typing import Any

import yaml

from runners.core.errors import WrkbookError
from runners.core.parameters import Parameters


def joined_parameters(words: list[str]) -> list[str]:
    """``-p NAME VALUE`` as the one word ``NAME=VALUE`` that typer can repeat."""
    joined, rest = [], iter(words)
    for word in rest:
        joined.append(word)
        if word in ("-p", "--parameter"):
            name = next(rest, None)
            if name is not None:
                value = None if "=" in name else next(rest, None)
                joined.append(name if value is None else f"{name}={value}")
    return joined


def parameter_values(pairs: list[str]) -> dict[str, Any]:
    """Typed values from ``NAME=VALUE``: YAML for all but texts; a list may also be given as ``a,b``."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise WrkbookError(f"parameter {name} has no value", "write it as: -p NAME VALUE")
        annotation = Parameters.model_fields[name].annotation if name in Parameters.model_fields else None
        if annotation is str:
            values[name] = text
        elif annotation in (list[str], list[int]) and not text.startswith("["):
            values[name] = [
                part.strip() if annotation == list[str] else yaml.safe_load(part) for part in text.split(",")
            ]
        else:
            try:
                values[name] = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise WrkbookError(f"parameter {name}: {text!r} cannot be read") from error
    return values
