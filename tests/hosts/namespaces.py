"""Four hosts on one machine: network namespaces with veth pairs on a switch, a link of 1 Gbit/s and 0.2 ms, and an sshd in each.

Their addresses exist in these namespaces only. Each host has a monotonic clock of its own, as machines do that were started apart.
"""

import contextlib
import ctypes
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from runners.core.project import PROJECT

HOSTS = {"controller": "10.123.0.1", "server": "10.123.0.2", "backend": "10.123.0.3", "generator": "10.123.0.4"}
SSH_PORT = 2222
# In each direction; netem is not in every kernel, and the token bucket delays nothing.
LINKS = (
    ["netem", "rate", "1gbit", "delay", "100us", "limit", "10000"],
    ["tbf", "rate", "1gbit", "burst", "128kb", "latency", "50ms"],
)
MONOTONIC_S = {"server": 5000, "backend": 90_000, "generator": 20}
_CLONE_NEWNET = 0x40000000


def refusal():
    """Why hosts cannot be made here; empty when they can."""
    if missing := [name for name in ("ip", "tc", "sshd", "ssh-keygen", "unshare") if not program(name)]:
        return f"{', '.join(missing)} missing: apt-get install iproute2 openssh-server"
    if os.geteuid() != 0:
        return "making network namespaces needs root here"
    name = f"wrkbook-{os.getpid()}-try"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if tried.returncode != 0:
        return f"network namespaces are not allowed here: {tried.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return "" if link() else "this kernel shapes no link"


@functools.cache
def link():
    """How this kernel shapes a link of 1 Gbit/s; empty where it cannot."""
    name = f"wrkbook-{os.getpid()}-link"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        for words in LINKS:
            command = ["tc", "-n", name, "qdisc", "add", "dev", "lo", "root", *words]
            if subprocess.run(command, capture_output=True).returncode == 0:
                return words
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)
    return []


def program(name):
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


class Network:
    """The hosts, while the context lasts. `folder` gets keys and the files of each sshd."""

    def __init__(self, folder):
        self.folder, self._stack, self._daemons = folder, contextlib.ExitStack(), {}

    def __enter__(self):
        with self._stack:
            self._make("switch")
            self._ip("switch", "link", "add", "bridge", "type", "bridge")
            self._ip("switch", "link", "set", "bridge", "up")
            for name, address in HOSTS.items():
                self._make(name)
                inside = [
                    "link",
                    "add",
                    "net0",
                    "type",
                    "veth",
                    "peer",
                    "name",
                    name,
                    "netns",
                    self.namespace("switch"),
                ]
                self._ip(name, *inside)
                self._ip("switch", "link", "set", name, "master", "bridge", "up")
                self._ip(name, "address", "add", f"{address}/24", "dev", "net0")
                self._ip(name, "link", "set", "net0", "up")
                self._ip(name, "link", "set", "lo", "up")
                self.shape(name, *link())
            self._make_keys()
            for name in MONOTONIC_S:
                self._start_sshd(name)
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def namespace(self, name):
        return f"wrkbook-{os.getpid()}-{name}"

    def shape(self, name, *words):
        """Give the packets that a host sends another rate or delay."""
        command = ["tc", "-n", self.namespace(name), "qdisc", "replace", "dev", "net0", "root", *words]
        subprocess.run(command, check=True)

    def connect(self, one, other):
        """Have two hosts reach each other over an unshaped veth pair of their own, past the switch."""
        self._ip(one, "link", "add", "direct", "type", "veth", "peer", "direct", "netns", self.namespace(other))
        for name, peer in ((one, other), (other, one)):
            self._ip(name, "link", "set", "direct", "up")
            self._ip(name, "route", "add", HOSTS[peer], "dev", "direct", "src", HOSTS[name])

    @contextlib.contextmanager
    def unplugged(self, name):
        """Have nothing reach a host or come from it, without a word to those who are connected."""
        self._ip("switch", "link", "set", name, "down")
        try:
            yield
        finally:
            self._ip("switch", "link", "set", name, "up")

    def command(self, name, *words):
        """The command that runs `words` on a host."""
        return ["ip", "netns", "exec", self.namespace(name), *words]

    def pids(self, name):
        """The processes on a host, without its sshd."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self.namespace(name)], capture_output=True, text=True, check=True
        )
        found = set()
        for pid in map(int, listed.stdout.split()):
            with contextlib.suppress(OSError):  # one that ends while it is read
                if not Path(f"/proc/{pid}/comm").read_text().startswith(("sshd", "unshare")):
                    found.add(pid)
        return found - {os.getpid()}

    @contextlib.contextmanager
    def inside(self, name):
        """Have this thread, and all that it starts, on a host."""
        there_file = Path("/run/netns", self.namespace(name))
        with Path("/proc/thread-self/ns/net").open() as own, there_file.open() as there:
            _enter(there)
            try:
                yield
            finally:
                _enter(own)

    def inventory(self, *, roles=None, controller="", **changes):
        """Write an inventory of the hosts `roles`; `changes` are host → its further lines. Returns the file."""
        roles = roles or {"server": ["server"], "backend": ["backend"]}
        lines = [
            f'controller = "{HOSTS["controller"]}"',
            f'ssh_config = "{self.folder}/ssh_config"',
            *controller.splitlines(),
        ]
        for name, own in roles.items():
            further = {"command": [sys.executable, "-m", "runners"], **changes.get(name, {})}
            lines += ["", "[[hosts]]", f'address = "{HOSTS[name]}"', f"roles = {own}"]
            further = {"ssh": name, **further}
            lines += [f"{key} = {json.dumps(value)}" for key, value in further.items()]
        file = Path(tempfile.mkdtemp(dir=self.folder), "hosts.toml")
        file.write_text("\n".join(lines) + "\n")
        return file

    def _make(self, name):
        namespace = self.namespace(name)
        subprocess.run(["ip", "netns", "add", namespace], check=True)
        self._stack.callback(self._delete, name)

    def _delete(self, name):
        for pid in self.pids(name) | ({self._daemons[name].pid} if name in self._daemons else set()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if name in self._daemons:
            self._daemons[name].wait()
        subprocess.run(["ip", "netns", "del", self.namespace(name)], check=True)

    def _ip(self, name, *words):
        subprocess.run(["ip", "-n", self.namespace(name), *words], check=True)

    def _make_keys(self):
        for name in ("user", "host"):
            key = str(self.folder / name)
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key], check=True)
        public = (self.folder / "host.pub").read_text()
        known = "".join(f"[{HOSTS[name]}]:{SSH_PORT} {public}" for name in MONOTONIC_S)
        (self.folder / "known_hosts").write_text(known)
        entries = [
            f"Host {name}\n  HostName {HOSTS[name]}\n  Port {SSH_PORT}\n  User root\n  IdentityFile {self.folder}/user\n"
            f"  UserKnownHostsFile {self.folder}/known_hosts\n"
            for name in MONOTONIC_S
        ]
        (self.folder / "ssh_config").write_text("".join(entries))

    def _start_sshd(self, name):
        config = self.folder / f"sshd_{name}"
        config.write_text(
            f"Port {SSH_PORT}\nListenAddress {HOSTS[name]}\nHostKey {self.folder}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {self.folder}/user.pub\nStrictModes no\nPermitRootLogin prohibit-password\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nSubsystem sftp internal-sftp\nLogLevel VERBOSE\n"
        )
        Path("/run/sshd").mkdir(exist_ok=True)  # where Debian's sshd separates its privileges
        clock = ["unshare", "--time", "--monotonic", str(MONOTONIC_S[name]), "--boottime", str(MONOTONIC_S[name])]
        daemon = [*clock, "--fork", "--kill-child", "--", program("sshd"), "-D", "-e", "-f", str(config)]
        with (self.folder / f"sshd_{name}.log").open("wb") as log:
            self._daemons[name] = subprocess.Popen(self.command(name, *daemon), stdout=log, stderr=log, cwd=PROJECT)
        deadline = time.monotonic() + 10
        while not self._reached(name):
            assert time.monotonic() < deadline, (self.folder / f"sshd_{name}.log").read_text()
            time.sleep(0.05)

    def _reached(self, name):
        with self.inside("controller"), contextlib.suppress(OSError):
            socket.create_connection((HOSTS[name], SSH_PORT), 1).close()
            return True
        return False


def _enter(namespace):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
