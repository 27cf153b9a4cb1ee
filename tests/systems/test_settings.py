"""What is enabled for a backend is read from the files that it is started with."""

import re

from runners.core.workloads import WORKLOADS
from runners.systems.backend import backend_facts, stated_settings
from runners.systems.catalogue import Catalogue
from runners.systems.server_manifest import POOL_PER_CPU

STATEMENTS = {each.name: each.statement for each in WORKLOADS.values() if each.statement}
CONFIGURATION = """# a comment = no setting
port_less = 5
name = 'quo # ted'   # why
empty = ''
  indented = 1
"""


def test_settings_come_without_comments_and_quotes(tmp_path):
    (tmp_path / "base.conf").write_text(CONFIGURATION)
    server = Catalogue().server("postgresql").model_copy(update={"folder": tmp_path, "settings": "base.conf"})
    assert stated_settings(server) == {"port_less": "5", "name": "quo # ted", "empty": ""}


def test_a_server_that_names_no_file_has_no_settings():
    assert stated_settings(Catalogue().server("gin")) == {}


def test_the_database_s_own_settings_are_all_stated():
    server = Catalogue().server("postgresql")
    written = re.findall(r"^(\w+) = ", (server.folder / server.settings).read_text(), re.MULTILINE)
    assert list(stated_settings(server)) == written
    assert stated_settings(server)["jit"] == "off"


def test_the_pool_grows_with_the_servers_cpus():
    facts = backend_facts(Catalogue().server("postgresql"), [0, 1, 2])
    assert facts.pool_count == 3 * POOL_PER_CPU
    assert facts.title == "PostgreSQL"


def test_the_pools_of_a_block_fit_into_the_database_however_many_cpus_there_are():
    most = int(stated_settings(Catalogue().server("postgresql"))["max_connections"])
    systems_count = 7
    for cpus_count in (1, 24, 25, 64, 256):
        facts = backend_facts(Catalogue().server("postgresql"), range(cpus_count))
        assert facts.pool_count == facts.pool_per_cpu_count * cpus_count
        assert facts.pool_count >= cpus_count
        assert facts.pool_count * systems_count < most


def test_the_statements_that_reports_show_are_those_that_the_database_counts():
    text = (Catalogue().server("postgresql").folder / "counters.sql").read_text()
    patterns = dict(re.findall(r"\('(\w+)', '(\^.*\$)'\)", text))
    assert patterns.keys() == STATEMENTS.keys()
    for kind, statement in STATEMENTS.items():
        assert re.search(patterns[kind], statement, re.IGNORECASE), kind
