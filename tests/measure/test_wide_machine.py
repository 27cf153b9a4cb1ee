"""A machine with 128 CPUs, made up below a folder: what is sampled of 64 server threads, how large it is, and that it is right."""

import os

import pytest

from runners.analyse.tables import load_results
from runners.analyse.usage import window_usage
from runners.machine.pinning_plan import PinningPlan
from runners.machine.topology import format_cpu_list
from runners.measure import sampling
from runners.measure.sampling import MOST_PROBES, busy_spread, evenly_spread, probed_cpus, snapshot
from tests.analyse import synthetic

SERVER_PID, GENERATOR_PID, TICKS_PER_S = 1000, 2000, os.sysconf("SC_CLK_TCK")
STATUS = "Name:\tworker\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n"
HOT, COLD = 1.0, 0.5
"""Busy shares: of the first server CPU, and of the others."""


class Machine:
    """A ``/proc`` of two roles on CPUs of their own, with a thread on each; time passes as :meth:`at` says."""

    def __init__(self, root, monkeypatch, server_cpus, generator_cpus):
        self.root, self.server, self.generator = (
            root,
            range(server_cpus),
            range(server_cpus, server_cpus + generator_cpus),
        )
        self.reads, self.allowed = [], {0: {0}}
        for pid, cpus in ((SERVER_PID, self.server), (GENERATOR_PID, self.generator)):
            for place, cpu in enumerate(cpus):
                self.allowed[pid + place] = set(cpus)
                self._write(
                    f"{pid}/task/{pid + place}/status",
                    "Name:\tworker\nvoluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t3\n",
                )
                self._write(f"{pid}/task/{pid + place}/stat", self._stat(cpu))
            self._write(f"{pid}/status", "VmHWM:\t2048 kB\nVmRSS:\t1024 kB\n")
            self._write(f"{pid}/stat", self._stat(0))
        read = sampling.bytes_of
        monkeypatch.setattr(sampling, "bytes_of", lambda path: self.reads.append(path) or read(path))
        monkeypatch.setattr(sampling, "PROC", root)
        monkeypatch.setattr(
            sampling, "process_cpu_s", lambda pid: self.at_s * (len(self.server) if pid == SERVER_PID else 1)
        )
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: self.allowed[pid])
        self.at(0.0)

    def _write(self, name, text):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def _stat(self, cpu):
        return " ".join(["1 (a worker) S", *["0"] * 35, str(cpu), "0"])

    def at(self, at_s):
        """Let the machine be so many seconds old."""
        self.at_s, lines = at_s, []
        for cpu in (*self.server, *self.generator):
            busy = round((HOT if cpu == 0 else COLD) * at_s * TICKS_PER_S)
            lines.append(f"cpu{cpu} {busy} 0 0 {round(at_s * TICKS_PER_S) - busy} 0 0 0 0 0 0")
        self._write("stat", "\n".join(["cpu 0", *lines, "intr 0"]))

    def sample(self):
        return snapshot({"server": ([SERVER_PID], self.server), "generator": ([GENERATOR_PID], self.generator)}, {})

    def record(self):
        """A trial whose window was sampled three times on this machine."""
        record = synthetic.trial(1, "fast+a", "decode-10", [20_000.0])
        record.cpus = {"server": format_cpu_list(self.server), "generator": format_cpu_list(self.generator)}
        window, samples = record.windows[-1], []
        for at_s in (10.0, 10.4, 10.8):
            self.at(at_s)
            samples.append((*self.sample(), at_s))
        window.samples = [sample.model_copy(update={"at_s": at_s}) for sample, _, at_s in samples]
        window.busy = {"server": busy_spread(samples[0][1], samples[-1][1], self.server)}
        return record


@pytest.fixture
def machine(tmp_path, monkeypatch):
    return lambda server, generator, name="proc": Machine(tmp_path / name, monkeypatch, server, generator)


def test_the_use_of_64_cpus_is_that_of_all_of_them_together(machine):
    record = machine(64, 63).record()
    raw, result = list(load_results(record))[-1]
    server, generator = window_usage(record, raw, result.requests_count)
    assert server.busy_fraction == pytest.approx((HOT + 63 * COLD) / 64, abs=0.01)
    assert generator.busy_fraction == pytest.approx(COLD, abs=0.01)
    assert server.used_fraction == pytest.approx(1.0)
    assert (server.threads_count, generator.threads_count) == (64, 63)
    assert server.unpinned_threads_count == generator.unpinned_threads_count == 0


def test_one_hot_cpu_of_64_is_seen_in_three_numbers(machine):
    record = machine(64, 63).record()
    raw, result = list(load_results(record))[-1]
    server = window_usage(record, raw, result.requests_count)[0]
    assert server.busy_most_fraction == pytest.approx(HOT, abs=0.01)
    assert server.busy_median_fraction == server.busy_least_fraction == pytest.approx(COLD, abs=0.05)


def test_a_record_of_127_cpus_is_no_larger_than_one_of_two(machine):
    narrow, wide = (len(machine(*cpus, str(cpus)).record().model_dump_json()) for cpus in ((1, 1), (64, 63)))
    assert wide <= 1.1 * narrow


def test_a_thread_costs_one_short_file(machine):
    wide = machine(64, 63)
    wide.sample()
    processes_count = 2
    assert len(wide.reads) == 64 + 63 + processes_count


def test_a_thread_that_may_run_elsewhere_is_named_among_64(machine):
    wide = machine(64, 63)
    wide.allowed[SERVER_PID + 5] = {5, 100}
    sample, _ = wide.sample()
    (found,) = sample.server.unpinned_threads
    assert (found.thread, found.cpu, found.allowed) == ("worker", 5, "5,100")


def test_probes_are_on_a_few_cpus_of_each_role_the_first_among_them():
    wide = PinningPlan(tuple(range(64)), tuple(range(64, 127)), (127,))
    probed = probed_cpus(wide)
    assert len(probed) == 2 * MOST_PROBES
    assert {0, 64} <= set(probed)
    assert probed_cpus(PinningPlan((0,), (1,), (1,))) == [0, 1]
    assert evenly_spread(range(10), 5) == [0, 2, 4, 6, 8]
