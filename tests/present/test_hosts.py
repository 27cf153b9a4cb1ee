"""The picture of a run's hosts, and words for every limit."""

from typing import get_args

import pytest

from runners.core.records import Bottleneck
from runners.core.run_manifest import HostFacts, LinkFacts
from runners.present.endpoints.charts import _SHORT
from runners.present.endpoints.tables import LIMITS
from runners.present.hosts import hosts_map
from runners.present.kit.frames import _WORDS

LINK = LinkFacts(rate_bps=956e6, rtt_s=1.2e-4)


def host(name, roles, cpus="0-3"):
    return HostFacts(
        name=name,
        roles=roles,
        cpus=dict.fromkeys(roles, cpus),
        machine={},
        fingerprint="0123456789ab",
        builds={},
        clock_offset_s=0.0,
    )


def test_the_load_generator_stands_before_the_link_and_the_server_behind_it():
    shown = hosts_map(
        [host("backend", ["backend"]), host("server", ["server"], "2"), host("generator", ["generator"])], LINK
    )
    places = [shown.html.index(f"{word} (machine") for word in ("generator", "server", "backend")]
    assert places == sorted(places)
    assert places[0] < shown.html.index("956 Mbit/s</span>") < places[1]
    assert "CPU 2<" in shown.html
    assert "CPUs 0-3<" in shown.html
    assert "round trip" in shown.text


def test_one_host_with_all_roles_has_a_box_for_each():
    shown = hosts_map([host("server+generator", ["generator", "server"])], LINK)
    assert shown.html.count("CPUs 0-3<") == 2


@pytest.mark.parametrize("limit", get_args(Bottleneck))
def test_every_limit_has_words_wherever_it_is_named(limit):
    assert limit in LIMITS
    assert limit in {*_WORDS, "backend"}
    assert limit in {*_SHORT, "unsaturated"}
