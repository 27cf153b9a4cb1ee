"""A pinning plan, with its reasons and threats in words.

Both are computed from the finished plan and the topology, so that they hold for sets that the user gave, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runners.core.units import listing
from runners.machine.topology import Core, format_cpu_list, parse_cpu_list

CpusOfRoles = Mapping[str, Sequence[int]]
"""Role → its CPUs."""

_MOST_NAMED = 3
_NAMES = {
    "server": "the servers",
    "generator": "the load generator",
    "housekeeping": "the notebook",
    "backend": "the backend",
}
_ROLES = tuple(_NAMES)


@dataclass(frozen=True)
class PinningPlan:
    """CPU sets by role. `housekeeping` is for the notebook and its sampling; with two CPUs it shares the generator's.

    `backend` is empty where nothing runs behind the servers. `why` is role → the reason for its CPUs, and `threats` are what the plan
    could not avoid, each a sentence.
    """

    server: tuple[int, ...]
    generator: tuple[int, ...]
    housekeeping: tuple[int, ...]
    backend: tuple[int, ...] = ()
    why: Mapping[str, str] = field(default_factory=dict, compare=False)
    threats: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def recorded(cls, lists: Mapping[str, str], threats: Iterable[str]) -> PinningPlan:
        """Return the plan that a record holds as CPU lists by role."""
        roles = {role: parse_cpu_list(text) for role, text in lists.items() if text}
        server, generator, rest, backend = (roles.get(role, ()) for role in _ROLES)
        return cls(server, generator, rest, backend, threats=tuple(threats))

    @property
    def roles(self) -> dict[str, tuple[int, ...]]:
        """Return each role's CPUs; without a backend where nothing runs behind the servers."""
        planned = zip(_ROLES, (self.server, self.generator, self.housekeeping, self.backend), strict=True)
        return {role: cpus for role, cpus in planned if cpus or role != "backend"}

    def as_dict(self) -> dict[str, str]:
        """Return each role's CPUs in the kernel's notation."""
        return {role: format_cpu_list(cpus) for role, cpus in self.roles.items()}

    @property
    def measured(self) -> tuple[int, ...]:
        """Return the CPUs of all roles that take part in a window, each once."""
        return tuple(sorted({*self.server, *self.generator, *self.backend}))


def explained(plan: PinningPlan, cores: Sequence[Core], given: Mapping[str, str]) -> PinningPlan:
    """Return a plan with its reasons and threats; `given` is role → CPU list of the user, empty where it was planned."""
    found = _threats(plan.roles, cores)
    return replace(plan, why=_reasons(plan.roles, cores, given), threats=tuple(text for text in found if text))


def _reasons(roles: CpusOfRoles, cores: Sequence[Core], given: Mapping[str, str]) -> dict[str, str]:
    """Return role → why it has these CPUs."""
    found = {
        "server": f"{_described(roles['server'], cores)}, so that the load generator gets as many cores or more",
        "generator": f"{_described(roles['generator'], cores)}{_beside_servers(roles, cores)}",
        "housekeeping": _shares(roles, "housekeeping")
        or f"{_described(roles['housekeeping'], cores)}, for the notebook, its samples and the system",
    }
    if "backend" in roles:
        found["backend"] = (
            _shares(roles, "backend") or f"{_described(roles['backend'], cores)}, apart from the other roles"
        )
    for role in found:
        if given.get(role):
            found[role] = f"{_described(roles[role], cores)}, as the parameter {role}_cpus says"
    return found


def _threats(roles: CpusOfRoles, cores: Sequence[Core]) -> list[str]:
    """Return what the plan could not avoid, each a sentence: shared CPUs and cores, and cores that differ or are far apart."""
    servers, generator = cores_of(roles["server"], cores), cores_of(roles["generator"], cores)
    measured = [role for role in roles if role != "housekeeping"]
    nodes = sorted({core.node for role in measured for core in cores_of(roles[role], cores)})
    found = [sharing(roles), _split_cores(roles, cores)]
    if len({core.kind for core in servers}) > 1:
        found.append(
            "The servers run on cores of different kinds: how much a server gets done depends on which threads get the fast ones."
        )
    if len(generator) < len(servers):
        found.append(
            f"The load generator has fewer cores than the servers ({len(generator)} and {len(servers)}): it may be the limit."
        )
    elif min(core.kind for core in generator) > max(core.kind for core in servers):
        found.append("The load generator runs on slower cores than the servers: it may be the limit of fast ones.")
    if len(nodes) > 1:
        found.append(
            f"The NUMA nodes {listing(list(map(str, nodes)))} hold {listing([_NAMES[role] for role in measured])}: "
            "their traffic crosses between nodes."
        )
    return found


def sharing(roles: CpusOfRoles) -> str:
    """Return which roles share the load generator's CPUs, as a sentence; empty where none does."""
    shared = {
        role: common
        for role, cpus in roles.items()
        if role not in ("server", "generator") and (common := set(cpus) & set(roles.get("generator", ())))
    }
    if not shared:
        return ""
    names = listing([_NAMES[role] for role in shared])
    cpus = format_cpu_list(set().union(*shared.values()))
    return (
        f"CPU {cpus} has several roles: {names} {'share' if len(shared) > 1 else 'shares'} it with the load generator."
    )


def _split_cores(roles: CpusOfRoles, cores: Sequence[Core]) -> str:
    """Return the threat that the SMT siblings of a core measure different things; empty where none do."""
    measured = {role: set(cpus) for role, cpus in roles.items() if role != "housekeeping"}
    split = {
        core: [role for role, cpus in measured.items() if cpus & set(core.cpus)]
        for core in cores
        if len({frozenset(cpus & set(core.cpus)) for cpus in measured.values()} - {frozenset()}) > 1
    }
    if not split:
        return ""
    names = listing([_NAMES[role] for role in measured if any(role in found for found in split.values())])
    cpus = format_cpu_list(cpu for core in split for cpu in core.cpus)
    return f"The hardware threads of one core have different roles: {names} share the execution units of CPU {cpus}."


def _shares(roles: CpusOfRoles, role: str) -> str:
    same = set(roles[role]) == set(roles["generator"])
    return "too few cores for its own: it shares those of the load generator" if same else ""


def _beside_servers(roles: CpusOfRoles, cores: Sequence[Core]) -> str:
    """Return how the load generator's caches relate to the servers'."""
    own, servers = ({core.l3 for core in cores_of(roles[role], cores)} for role in ("generator", "server"))
    if None in own | servers:
        return ""
    if own.isdisjoint(servers):
        return f", with {'an L3 cache' if len(own) == 1 else 'L3 caches'} of its own"
    return ", in the servers' L3 cache"


def _described(cpus: Collection[int], cores: Sequence[Core]) -> str:
    """Return the cores of a role in words: ``6 cores (12 CPUs) of the fastest kind on NUMA node 0 in 2 of 4 L3 caches``."""
    own = cores_of(cpus, cores)
    threads_count = sum(len(core.cpus) for core in own)
    whole = _count(len(own), "core") + (f" ({_count(len(cpus), 'CPU')})" if len(cpus) != len(own) else "")
    part = f"{len(cpus)} of {threads_count} hardware threads of {_count(len(own), 'core')}"
    words = [whole if len(cpus) == threads_count else part]
    kinds, nodes = {core.kind for core in own}, sorted({core.node for core in own})
    caches = {core.l3 for core in own if core.l3 is not None}
    if len({core.kind for core in cores}) > 1:
        one = "of the fastest kind" if kinds == {min(core.kind for core in cores)} else "of a slower kind"
        words.append(one if len(kinds) == 1 else "of different kinds")
    if len({core.node for core in cores}) > 1:
        words.append(
            f"on NUMA {'node' if len(nodes) == 1 else 'nodes'} {listing(list(map(str, nodes)))}"
            if len(nodes) <= _MOST_NAMED
            else f"on {len(nodes)} NUMA nodes"
        )
    if (known := len({core.l3 for core in cores if core.l3 is not None})) > 1 and caches:
        words.append(f"in {len(caches)} of {known} L3 caches")
    return " ".join(words)


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def cores_of(cpus: Iterable[int], cores: Sequence[Core]) -> list[Core]:
    """Return the cores that have any of `cpus`."""
    own = set(cpus)
    return [core for core in cores if own & set(core.cpus)]
