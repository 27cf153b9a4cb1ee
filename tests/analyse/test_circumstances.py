"""What differs between a published measurement and this run, in words from the data."""

from types import SimpleNamespace

from runners.analyse.claims.flaws import circumstances, load_flaws
from runners.analyse.claims.register import load_claims
from runners.analyse.published import sources
from runners.core.records import System

CLAIMS = {claim.id: claim for claim in load_claims()}
RUN = SimpleNamespace(
    machine={"cpu": "AMD EPYC"},
    systems={"net-http": System("net-http"), "express": System("express")},
    manifest=SimpleNamespace(
        versions={
            "components": {
                "net-http": {"Go": "1.27"},
                "express": {"Express": "5.3"},
                "gin": {"Go": "1.27"},
                "drogon": {"simdjson": "4.6"},
            }
        }
    ),
)


def of(name, run=RUN):
    return circumstances(CLAIMS[name], sources()[CLAIMS[name].source], run, load_flaws())


def test_cpus_and_versions_stand_beside_each_other_for_the_servers_of_the_claim_alone():
    found = of("go-over-node-throughput-at-20")
    assert found["published_cpu"] == "Intel(R) Xeon(R) CPU E3-1230 v3 @ 3.30GHz"
    assert found["cpu"] == "AMD EPYC"
    assert found["published_versions"] == "Go go tip aka go 1.8, Node.js v4.2.6"
    assert found["versions"] == "Go 1.27, Express 5.3"


def test_what_a_source_does_not_state_is_said_to_be_not_stated():
    found = of("go-sql1-over-json")
    assert (found["published_cpu"], found["published_versions"], found["flaws"]) == ("not stated", "not stated", "")


def test_the_known_flaws_that_touch_a_claim_are_named():
    assert "simdjson: views, nothing validated" in of("decode-10-drogon-simdjson-over-gin-json")["flaws"]


def test_without_a_run_nothing_is_measured():
    found = of("go-sql1-over-json", None)
    assert (found["cpu"], found["versions"]) == ("", "")
