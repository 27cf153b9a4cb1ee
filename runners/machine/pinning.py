"""The pinning plan: the CPU sets of servers, load generator, backend, and the rest, from the topology.

``docs/method.md`` has the rules as a table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from runners.core.errors import WrkbookError
from runners.machine.pinning_plan import PinningPlan, cores_of, explained
from runners.machine.topology import Core, format_cpu_list, parse_cpu_list

# Of so many cores of one kind, one in four is the backend's own; with fewer it shares those of the load generator.
_CORES_FOR_A_BACKEND = 4
# The load generator gets L3 caches of its own where that leaves the servers this share of the cores that they could have.
_LEAST_SHARE = 0.5


def check_cpus(name: str, text: str, usable: set[int]) -> tuple[int, ...]:
    """Parse the CPU list of the parameter `name` and check it against the usable CPUs.

    Raises
    ------
    WrkbookError
        When it is no such list, or names a CPU that is not usable.
    """
    try:
        cpus = parse_cpu_list(text)
    except ValueError as error:
        raise WrkbookError(f"parameter {name}: {error}") from error
    if missing := sorted(set(cpus) - usable):
        raise WrkbookError(
            f"parameter {name}: CPU {format_cpu_list(missing)} does not exist here or may not be used",
            f"usable CPUs: {format_cpu_list(usable)}",
        )
    return cpus


def plan_with_backend(
    cores: Sequence[Core], server_cpus: str = "", generator_cpus: str = "", backend_cpus: str = ""
) -> PinningPlan:
    """Plan the CPU sets as :func:`plan_pinning` does, with CPUs for the backend.

    CPUs that the user gave may be the generator's as well, but not the servers'.

    Raises
    ------
    WrkbookError
        As :func:`plan_pinning`, and when the backend's set overlaps the servers'.
    """
    backend: tuple[int, ...] = ()
    if backend_cpus:
        backend = check_cpus("backend_cpus", backend_cpus, set(_cpus(cores)))
    elif not (server_cpus or generator_cpus):
        backend = _cpus(_for_a_backend(cores))
    apart = len(cores) - len(cores_of(backend, cores)) > 1 and not (server_cpus or generator_cpus)
    plan = plan_pinning(cores, server_cpus, generator_cpus, backend if apart else ())
    if shared := set(backend) & set(plan.server):
        raise WrkbookError(
            f"the backend and the servers overlap on CPU {format_cpu_list(shared)}",
            "give backend_cpus and server_cpus CPUs that differ, or leave both empty to have them planned",
        )
    housekeeping = tuple(cpu for cpu in plan.housekeeping if cpu not in backend) or plan.generator
    given = {"server": server_cpus, "generator": generator_cpus, "backend": backend_cpus}
    return explained(replace(plan, backend=backend or plan.generator, housekeeping=housekeeping), cores, given)


def plan_pinning(
    cores: Sequence[Core], server_cpus: str = "", generator_cpus: str = "", backend: Collection[int] = ()
) -> PinningPlan:
    """Plan the CPU sets from the usable cores; a set that the user gave is taken as it is, and CPUs of the `backend` are left out.

    Raises
    ------
    WrkbookError
        When there is one CPU only, or a given set overlaps the other or names CPUs that are not there.
    """
    usable = set(_cpus(cores))
    server = check_cpus("server_cpus", server_cpus, usable) if server_cpus else ()
    generator = check_cpus("generator_cpus", generator_cpus, usable) if generator_cpus else ()
    if shared := set(server) & set(generator):
        raise WrkbookError(
            f"parameters server_cpus and generator_cpus overlap on CPU {format_cpu_list(shared)}",
            "give each its own CPUs, or leave both empty to have them planned",
        )
    left = [core for core in cores if not set(core.cpus) & {*server, *generator, *backend}]
    if not server and not generator:
        server, generator = _split(left, {core.node for core in _home(cores)})
    elif not server:
        server = _cpus(_beside(generator, cores, left))
    elif not generator:
        generator = _cpus(_opposite(server, cores, left))
    if not server or not generator:
        raise WrkbookError(
            f"{len(usable)} usable CPU(s) leave none for the {'generator' if server else 'server'}",
            "wrkbook needs at least two CPUs: one for the server, one for the load generator",
        )
    rest = usable - {*server, *generator, *backend}
    plan = PinningPlan(server, generator, tuple(sorted(rest)) or generator)
    return explained(plan, cores, {"server": server_cpus, "generator": generator_cpus})


def _split(cores: Sequence[Core], nodes: Collection[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the CPUs of servers and load generator, both planned, on a NUMA node."""
    if len(cores) == 1 and len(cores[0].cpus) > 1:
        # The SMT siblings of one core are all that there is: better than nothing, and a threat.
        half = len(cores[0].cpus) // 2
        return cores[0].cpus[:half], cores[0].cpus[half:]
    if len(cores) < 2:
        return (), ()
    node = [core for core in cores if core.node in nodes]
    quick = frozenset(_fastest(node))
    home = node if len(node) > 1 else list(cores)
    # One core is for the notebook, which has those of other NUMA nodes where there are any.
    spared = len(home) > 2 and len(home) == len(cores)
    by_count, by_caches = _by_count(home, quick, spared), _by_caches(home, quick)
    servers, others = by_caches if len(by_caches[0]) >= _LEAST_SHARE * len(by_count[0]) else by_count
    generator = _by_kinds(others, len(servers))
    if spared and len(servers) + len(generator) == len(home):
        if len(generator) > len(servers):
            generator.pop()
        elif len(servers) > 1:
            servers.pop()
    return _cpus(servers), _cpus(generator)


def _home(cores: Sequence[Core]) -> list[Core]:
    """Return the cores of the NUMA node that has most cores of the fastest kind."""
    most = Counter(core.node for core in _fastest(cores))
    node = max(sorted(most), key=lambda each: most[each], default=0)
    return [core for core in cores if core.node == node]


def _fastest(cores: Sequence[Core]) -> list[Core]:
    best = min((core.kind for core in cores), default=0)
    return [core for core in cores if core.kind == best]


def _domains(cores: Sequence[Core], quick: frozenset[Core]) -> list[list[Core]]:
    """Return the cores by L3 cache, those with most quick cores first; without L3 caches the package counts."""
    groups = defaultdict[tuple[int, int], list[Core]](list)
    for core in cores:
        groups[core.package, -1 if core.l3 is None else core.l3].append(core)
    return sorted(groups.values(), key=lambda group: -len(quick & set(group)))


def _by_count(home: Sequence[Core], quick: frozenset[Core], spared: bool) -> tuple[list[Core], list[Core]]:
    """Return as many quick cores as leave the load generator as many, in as few L3 caches as possible, and the other cores."""
    first = [core for domain in _domains(home, quick) for core in domain if core in quick]
    servers = first[: max(1, (len(home) - spared) // 2)]
    return servers, [core for core in home if core not in servers]


def _by_caches(home: Sequence[Core], quick: frozenset[Core]) -> tuple[list[Core], list[Core]]:
    """Return the quick cores of whole L3 caches, as many as leave the load generator as many cores in others, and those cores.

    Without such a split there are none.
    """
    servers, with_cache = list[Core](), [domain for domain in _domains(home, quick) if domain[0].l3 is not None]
    others = [core for domain in with_cache for core in domain]
    for domain in with_cache:
        own, rest = [core for core in domain if core in quick], [core for core in others if core not in domain]
        if own and len(servers) + len(own) <= len(rest):
            servers, others = servers + own, rest
    return (servers, others) if servers else ([], [])


def _by_kinds(cores: Iterable[Core], wanted_count: int) -> list[Core]:
    """Return whole kinds of cores, from the fastest on, until there are as many cores as wanted; the slowest are last."""
    found = list[Core]()
    for group in _kinds(cores):
        found += group if len(found) < wanted_count else []
    return found


def _kinds(cores: Iterable[Core]) -> list[list[Core]]:
    """Return the cores by kind, the fastest first."""
    by_kind = defaultdict[int, list[Core]](list)
    for core in cores:
        by_kind[core.kind].append(core)
    return [by_kind[kind] for kind in sorted(by_kind)]


def _for_a_backend(cores: Sequence[Core]) -> list[Core]:
    """Return a quarter of the cores of the fastest kind that has enough of them on the servers' NUMA node, else on another node."""
    home = _home(cores)
    enough = [group for group in _kinds(home) if len(group) >= _CORES_FOR_A_BACKEND]
    elsewhere = [core for core in cores if core not in home]
    if not enough and len(home) > 1 and len(elsewhere) > 1:  # one of them is the notebook's
        enough = _kinds(_home(elsewhere))
    return enough[0][-max(1, len(enough[0]) // _CORES_FOR_A_BACKEND) :] if enough else []


def _beside(generator: Sequence[int], cores: Sequence[Core], left: Sequence[Core]) -> list[Core]:
    """Return cores for the servers beside CPUs of the load generator that the user gave."""
    near = _fastest(_home(left))
    most = max(1, len(cores_of(generator, cores)))
    return near[: max(1, min(most, len(near) - (len(near) == len(left) > 1)))]


def _opposite(server: Sequence[int], cores: Sequence[Core], left: Sequence[Core]) -> list[Core]:
    """Return cores for the load generator beside CPUs of the servers that the user gave: on their NUMA nodes where those suffice."""
    own = cores_of(server, cores)
    near = [core for core in left if core.node in {each.node for each in own}]
    found = _by_kinds(near if len(near) >= len(own) else left, len(own))
    return found[:-1] if len(found) == len(left) > max(2, len(own)) else found


def _cpus(cores: Iterable[Core]) -> tuple[int, ...]:
    return tuple(sorted(cpu for core in cores for cpu in core.cpus))
