"""What the kernel says of heat, clock and memory, on a made-up machine and on this one."""

from runners.core.sample import Pressure
from runners.measure.sampling import pressure


def write(root, name, text):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_the_counters_of_the_given_cpus_are_added_and_the_lowest_clock_counts(tmp_path):
    for cpu, (throttled, clock_khz) in enumerate([(3, 2_000_000), (4, 1_500_000), (100, 800_000)]):
        folder = f"sys/devices/system/cpu/cpu{cpu}"
        write(tmp_path, f"{folder}/thermal_throttle/core_throttle_count", f"{throttled}\n")
        write(tmp_path, f"{folder}/cpufreq/scaling_cur_freq", f"{clock_khz}\n")
    write(
        tmp_path, "proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0 total=9\n"
    )
    write(tmp_path, "proc/vmstat", "nr_free_pages 5\npswpin 10\npswpout 32\n")
    assert pressure([0, 1], tmp_path) == Pressure(
        throttled_count=7, clock_hz=1_500_000_000, memory_stall_s=2.5, swapped_pages_count=42
    )


def test_what_a_machine_does_not_show_is_unknown(tmp_path):
    assert pressure([0], tmp_path) == Pressure()


def test_this_machine_can_be_read():
    assert pressure([0]).swapped_pages_count is not None
