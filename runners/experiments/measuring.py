"""Measure a planned run: on this machine, or over hosts; what differs between the two is the :class:`Site`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from runners.analyse.tables import measured_windows
from runners.core.errors import WrkbookError
from runners.core.project import MEASURING, exclusive
from runners.core.run_manifest import RunManifest
from runners.core.status_line import note, steps
from runners.experiments.begun import check_same
from runners.experiments.plan import idle_other, manifest_of
from runners.experiments.site import Site
from runners.machine.speed_probe import SpeedProbes
from runners.measure.build_times import record_build_times
from runners.measure.conformance import build_all, image_to_run, verify_server
from runners.measure.design import BlockSettings
from runners.measure.fixed_rates import plan_rates, with_rates
from runners.measure.load import LoadContext
from runners.measure.load_levels import plan_levels, search_ranges
from runners.measure.machine_survey import SURVEY_S, survey
from runners.measure.roles import OneMachine
from runners.measure.run import blocks_to_stop, measure
from runners.measure.run_plan import USABLE_CPUS, RunPlan
from runners.measure.sampling import probed_cpus
from runners.store.runs import being_measured, kept, mark_void
from runners.systems.build import Artifact
from runners.systems.sandbox import ensure_cpus

WAITING = "another wrkbook is measuring on this machine"


def measure_run(plan: RunPlan, selected_runs: dict[str, str] | None) -> RunPlan:
    """Build and verify the servers, then measure; return the plan with the rates that were planned.

    Raises
    ------
    WrkbookError
        When an image cannot be made, a server does not build, none conforms, a host is gone, or the ledger cannot be written.
    """
    with _site(plan) as site:
        run = plan.run
        if run.exists:
            check_same(run, plan.parameters)
            note(kept(run))
        else:
            plan = _opened(plan, site, selected_runs)
        settings = _settings(plan, site, frozenset(run.read().nonconforming))
        with being_measured(run):
            sound = measure(run, settings, measured_windows, plan.parameters.precision, plan.threshold)
            mark_void(run, void=not sound)
        if plan.times_builds and not plan.parameters.hosts:
            record_build_times(run, plan.servers, site.image, plan.pinning)
    return plan


@contextmanager
def _site(plan: RunPlan) -> Iterator[Site]:
    if plan.parameters.hosts:
        from runners.experiments.over_hosts import hosts_of  # with Dask: a second

        with exclusive(MEASURING, WAITING), hosts_of(plan) as site:
            yield site
        return
    image = image_to_run(plan.catalogue, plan.built, plan.generators)
    artifacts = build_all(plan.catalogue, plan.built, image)
    ensure_cpus({*plan.pinning.measured, *plan.pinning.housekeeping})
    os.sched_setaffinity(0, plan.pinning.housekeeping)
    try:
        with exclusive(MEASURING, WAITING), SpeedProbes(probed_cpus(plan.pinning)) as probes:
            yield Site(
                image,
                artifacts,
                probes,
                OneMachine(),
                lambda: _nonconforming(plan, artifacts),
                lambda: survey(probes, plan.pinning.measured, max(plan.idle_s, SURVEY_S)),
                {tool.name: artifacts[tool.built_by].folder for tool in plan.generators if tool.built_by},
            )
    finally:
        os.sched_setaffinity(0, USABLE_CPUS)


def _opened(plan: RunPlan, site: Site, selected_runs: dict[str, str] | None) -> RunPlan:
    """Verify the servers, plan what depends on the machine, and write down what the run is."""
    nonconforming = site.nonconforming()
    measured = [server.label for server in plan.servers]
    if set(measured) <= set(nonconforming):
        name, difference = next(iter(nonconforming.items()))
        raise WrkbookError(f"no server can be measured; {name} {difference}", f"./wrkbook verify {name}")
    settings = _settings(plan, site, frozenset(nonconforming))
    rates = plan_rates(settings, plan.fixed_rate_loads, plan.parameters) if plan.fixed_rate_loads else None
    if plan.load_levels:
        rates = plan_levels(settings, plan.load_levels)
    plan = replace(plan, design=with_rates(plan.design, rates))
    manifest = manifest_of(plan, site.image, site.artifacts, nonconforming, site.survey())
    known = {"rates": rates, "selected_runs": selected_runs, **site.about}
    plan.run.open(RunManifest.model_validate(manifest.model_copy(update=known).model_dump()))
    return plan


def _nonconforming(plan: RunPlan, artifacts: dict[str, Artifact]) -> dict[str, str]:
    """Server → first difference from the contract, for those that must not be measured."""
    found = {}
    measured = {server.label: artifacts[server.label] for server in plan.servers}
    for name, artifact in steps(list(measured.items()), "Verifying the servers"):
        if findings := verify_server(artifact, plan.pinning.server, plan.pinning.backend, again=False):
            found[name] = f"does not keep the contract: {findings[0]}"
    return found


def _settings(plan: RunPlan, site: Site, nonconforming: frozenset[str]) -> BlockSettings:
    tools = {generator.name: generator for generator in plan.generators}
    return BlockSettings(
        design=plan.design,
        artifacts=site.artifacts,
        source=LoadContext(tools, site.image, plan.pinning, site.probes, site.tools),
        profile=plan.profile,
        connections=plan.connections,
        threads=plan.threads,
        body_style=plan.parameters.body_style,
        seed=plan.parameters.seed,
        nonconforming=nonconforming,
        generator=plan.generators[0].name,
        idle_other=idle_other(plan.run),
        search_ranges=search_ranges(plan.design, plan.run.read().rates if plan.run.exists else None),
        poisson=plan.parameters.arrivals == "poisson",
        # The ratio of two builds needs more blocks than their percentiles do, and the time goes into it.
        percentile_blocks=blocks_to_stop(plan.design) if plan.design.pairs else math.inf,
        roles=site.roles,
    )
