"""The parameters of experiments: typed, bounded, and checked by name, wherever they come from.

A notebook declares its parameters and their defaults in its cell tagged ``parameters``. :class:`Parameters` says what each name
means in all notebooks: type, bounds, description.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from runners.core.errors import WrkbookError
from runners.core.parameter_values import (
    AUTO,
    Percentage,
    Rate,
    known_workloads,
    problems_of_sizes,
    slice_length_s,
    slices_text,
    stated_objectives,
    threads_text,
    unknown,
)
from runners.core.project import assigned, declared_parameters


@dataclass(frozen=True)
class Profile:
    """The amount of measuring: each block gives every cell a warm-up and `windows_count` windows.

    `priming_s` of full load come before the first window of each launched process: what compiles while it runs is slow at first.
    The budget ends a run after at least `sure_blocks`: one under a budget that the user gave, `min_blocks` else.
    Windows are measured in time slices of `slice_s` where they can be (:mod:`runners.measure.block`); 0: in one piece. Where the idle
    machine decides (:mod:`runners.measure.machine_survey`), it is the longer of the two choices until the run has begun.
    Where the idle machine is part of the question, it is watched for at most `most_idle_s`.
    """

    warmup_s: float
    window_s: float
    windows_count: int
    min_blocks: int
    max_blocks: int
    budget_minutes: float
    description: str
    priming_s: float = 0.0
    sure_blocks: int = 1
    slice_s: float = 0.0
    most_idle_s: float = 20.0


PROFILES = {
    "quick": Profile(0.3, 1.0, 1, 3, 3, 60, "a smoke run: 3 blocks of 1 s windows", most_idle_s=5.0),
    "standard": Profile(0.3, 1.0, 2, 5, 60, 15, "blocks until the precision is reached or the budget is used up"),
    "publication": Profile(2.0, 15.0, 1, 20, 100, 600, "15 s windows as the published benchmarks, at least 20 blocks"),
}


# They say when measuring stops, not what is measured: they may differ within a run, and between two that are compared.
LIMITS = frozenset({"precision", "min_blocks", "max_blocks", "budget_minutes"})


# The largest item of each list of numbers.
_MOST = {"batch_sizes": 4096, "counts": 500, "cpu_counts": 1024}
_MOST |= {"connection_counts": 60_000, "blog_connection_counts": 60_000}


class Parameters(BaseModel):
    """The parameters of all notebooks. Empty or 0: chosen by wrkbook, as each description says."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    profile: Literal["quick", "standard", "publication"] = Field("standard", description="how much is measured")
    systems: list[str] = Field([], description="the systems to compare; empty: the default rows; all: every row")
    variants: list[str] = Field([], description="tuned builds to measure beside the plain ones")
    batch_sizes: list[int] = Field([1, 10], description="operations in a request, 1 to 4096 each", min_length=1)
    body_style: Literal["pretty", "compact"] = Field("pretty", description="how the request body is written")
    counts: list[int] = Field([20], description="records that a request of sql2 reads, 1 to 500 each", min_length=1)
    generators: list[str] = Field(["wrk"], description="load generators; the first is the run's own", min_length=1)
    connection_counts: list[int] = Field(
        [], description="connections to compare, where an experiment is about that; empty: those of `connections`"
    )
    blog_connection_counts: list[int] = Field([], description="those of the workload blog; empty: `connection_counts`")
    build_times: Literal["", "yes", "no"] = Field(
        "", description="whether builds are timed; empty: not in the quick profile, where an experiment needs it"
    )
    connections: int = Field(80, ge=1, le=60000, description="connections that the load generator keeps busy")
    generator_threads: int = Field(
        0, ge=0, le=1024, description="threads of the generator; 0: one for each of its CPUs"
    )
    server_cpus: str = Field("", description="CPUs of the servers, for example 0-3; empty: planned from the topology")
    generator_cpus: str = Field("", description="CPUs of the load generator; empty: planned from the topology")
    backend_cpus: str = Field("", description="CPUs of what runs behind the servers; empty: planned")
    hosts: str = Field(
        "", description="inventory of the hosts that share the roles (docs/hosts.md); empty: one machine"
    )
    cpu_counts: list[int] = Field([], description="server CPUs to compare; empty: 1, 2, 4 … up to all that are planned")
    server_threads: Annotated[str, BeforeValidator(threads_text)] = Field(
        "1x", description="threads of a server: 1x, 2x … for each of its CPUs, or a number"
    )
    shape: Literal["", "as-published"] = Field("", description="threads, connections and CPUs as published")
    precision: float = Field(
        0.02, gt=0, lt=1, description="half-width of the 95 % interval of every ratio at which measuring stops"
    )
    windows_count: int = Field(0, ge=0, le=1000, description="windows of a cell in each block; 0: the profile's")
    slices: Annotated[str, BeforeValidator(slices_text)] = Field(
        AUTO,
        description="milliseconds of a time slice; 0: in one piece; auto: 100 where the idle machine is noisy, else 0; auto-20: 20 there",
    )
    priming_s: float = Field(
        0.0, ge=0, le=600, description="full load for each launched process, in the place of warm-ups"
    )
    connection_rate_rps: float = Field(
        0.0, ge=0, le=1e6, description="offered load without keep-alive; 0: planned from what the systems carry"
    )
    request_rate_rps: float = Field(0.0, ge=0, le=1e7, description="offered load with keep-alive; 0: likewise")
    workloads: Annotated[list[str], AfterValidator(known_workloads)] = Field([], description="workloads to compare")
    objectives: Annotated[list[str], AfterValidator(stated_objectives)] = Field(
        [], description='limits of response times, for example "p99 <= 5 ms"'
    )
    shares: list[Percentage] = Field(
        [], description="offered rates, in percent of what a closed loop reaches; above 0, at most 100"
    )
    rates: list[Rate] = Field([], description="offered rates in requests per second, in the place of `shares`")
    arrivals: Literal["poisson", "constant"] = Field("poisson", description="the process of an open loop's arrivals")
    min_blocks: int = Field(0, ge=0, le=10000, description="0: the profile's")
    max_blocks: int = Field(0, ge=0, le=10000, description="0: the profile's")
    budget_minutes: float = Field(
        0.0, ge=0, description="measuring stops after this time; 0: the profile's, but not before `min_blocks`"
    )
    measure_flaws: bool = Field(
        True, description="whether the flaws of published set-ups are measured, where an experiment is about that"
    )
    seed: int = Field(1, ge=0, description="of request bodies, orders and resampling")
    run_id: str = Field("", description="name of the run; an interrupted run goes on under its name; empty: a new one")

    @property
    def effective_profile(self) -> Profile:
        """Return the usual profile with what the parameters override."""
        return self.profile_of(PROFILES)

    def profile_of(self, profiles: Mapping[str, Profile]) -> Profile:
        """Return one of an experiment's own profiles with what the parameters override."""
        chosen = profiles[self.profile]
        least = self.min_blocks or min(chosen.min_blocks, self.max_blocks or chosen.min_blocks)
        most = self.max_blocks or max(chosen.max_blocks, least)
        if least > most:
            raise WrkbookError(
                f"parameter min_blocks ({least}) is larger than max_blocks ({most})", "lower it, or raise max_blocks"
            )
        return replace(
            chosen,
            windows_count=self.windows_count or chosen.windows_count,
            warmup_s=0.0 if self.priming_s else chosen.warmup_s,
            min_blocks=least,
            max_blocks=most,
            budget_minutes=self.budget_minutes or chosen.budget_minutes,
            priming_s=self.priming_s,
            slice_s=slice_length_s(self.slices),
            sure_blocks=least if self.min_blocks or not self.budget_minutes else 1,
        )


class ComparedRuns(BaseModel):
    """The parameters of the notebook that compares two runs."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    run_a: str = Field(min_length=1, description="the run before the change")
    run_b: str = Field(min_length=1, description="the run after it")
    experiment: str = Field("", description="needed where several experiments have both runs")
    anyway: bool = Field(False, description="also when the two were not measured alike")


Model = TypeVar("Model", bound=BaseModel)


def check_parameters(values: Mapping[str, Any], notebook: str) -> Parameters:
    """Return the parameters of a notebook: its own defaults, and `values` in the place of some.

    Raises
    ------
    WrkbookError
        As :func:`validated`, for names that this notebook does not declare.
    """
    declared = declared_parameters(notebook)
    return validated(Parameters, {**declared, **values}, declared, f"{notebook}'s parameters")


def changed_parameters(values: Mapping[str, Any], notebook: str) -> dict[str, Any]:
    """Return those of `values` that a notebook declares with another default."""
    declared = declared_parameters(notebook)
    return {name: value for name, value in values.items() if name in declared and value != declared[name]}


def validated(
    model: type[Model], values: Mapping[str, Any], known: Collection[str] = (), whose: str = "the parameters"
) -> Model:
    """Return `values` as a `model`. The `known` names may be given (none: all its fields); `whose` introduces them in the error.

    Raises
    ------
    WrkbookError
        Naming each unknown parameter (with the nearest known one) and each value of a wrong type or out of bounds.
    """
    known = known or list(model.model_fields)
    problems = [unknown(name, known) for name in values if name not in known]
    # A whole number is a fine value for a parameter that takes any.
    floats = {name for name, field in model.model_fields.items() if field.annotation is float}
    kept = {
        name: float(value) if name in floats and type(value) is int else value
        for name, value in values.items()
        if name in known
    }
    try:
        parameters = model.model_validate(kept)
    except ValidationError as error:
        problems += [
            f"parameter {'.'.join(map(str, item['loc']))}: {item['msg'].removeprefix('Value error, ')}, not {item['input']!r}"
            for item in error.errors()
        ]
        raise WrkbookError("; ".join(problems), _remedy(known, whose)) from error
    for name, most in _MOST.items():
        problems += problems_of_sizes(name, getattr(parameters, name, []), most)
    if problems:
        raise WrkbookError("; ".join(problems), _remedy(known, whose))
    return parameters


def from_notebook(namespace: Mapping[str, Any], model: type[BaseModel] = Parameters) -> dict[str, Any]:
    """Return the parameters that a notebook's cells assigned: `namespace` is the notebook's ``globals()``.

    A name that papermill injected counts whether it is known or not, so that a misspelt one is an error.
    """
    injected = [
        name
        for source in namespace.get("In", [])
        if source.startswith("# Parameters\n")
        for name, _ in assigned(source)
    ]
    return {name: namespace[name] for name in [*model.model_fields, *injected] if name in namespace}


def _remedy(known: Iterable[str], whose: str) -> str:
    return f"{whose} are: {', '.join(known)}; its parameter cell explains each"
