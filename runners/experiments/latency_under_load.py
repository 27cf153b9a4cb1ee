"""The experiment of latency under load, from the notebook's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runners.experiments.experiment import Experiment


def latency_under_load(namespace: Mapping[str, Any]) -> Experiment:
    """Return the experiment of ``08-latency-under-load``; a placeholder until rates are planned as shares and searched."""
    return Experiment("08-latency-under-load", namespace, workloads=namespace["workloads"])
