"""A small TCP proxy that relays as it should, or has one fault."""

import contextlib
import select
import socket
import threading
from contextlib import contextmanager

LOOPBACK = "127.0.0.1"
CORRUPTED_AT = 5000
MOST_CONNECTIONS = 150
# On a busy machine 200 connections take seconds to open: the first of them must not be idle for too long meanwhile.
LONGEST_SILENCE_S = 6.0


@contextmanager
def relay_with(backend_port, fault=""):
    """The port of a relay to `backend_port` that runs meanwhile."""
    listener = socket.create_server((LOOPBACK, 0), backlog=1024)
    relay = Relay(backend_port, fault)
    threading.Thread(target=relay.accept_forever, args=[listener], daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        # Wakes the thread up, which close() alone would not.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


class Relay:
    def __init__(self, backend_port, fault):
        self.backend_port, self.fault = backend_port, fault
        self.alive = 0
        self.refused = []

    def accept_forever(self, listener):
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self.relay, args=[client], daemon=True).start()

    def relay(self, client):
        self.alive += 1
        try:
            if self.fault == "few connections" and self.alive > MOST_CONNECTIONS:
                self.refused.append(client)
                return
            first = client.recv(1) if self.fault == "connects late" else b""
            try:
                backend = socket.create_connection((LOOPBACK, self.backend_port))
            except ConnectionError:
                self.refused.append(client) if self.fault == "hangs without a backend" else client.close()
                return
            self.carry_both_ways(client, backend, first)
        finally:
            self.alive -= 1

    def carry_both_ways(self, client, backend, first):
        for end in (client, backend):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.fault == "closes what is idle":
                end.settimeout(LONGEST_SILENCE_S)
        backend.sendall(first)
        back = threading.Thread(target=self.carry, args=[backend, client, False])
        back.start()
        self.carry(client, backend, True)
        back.join()
        client.close()
        backend.close()

    def carry(self, source, target, is_request):
        carried = 0
        try:
            if self.fault == "keeps everything" and not is_request:
                self.keep_everything(source, target)
            while data := source.recv(65536):
                if self.fault == "changes a byte" and is_request and carried <= CORRUPTED_AT < carried + len(data):
                    changed = bytearray(data)
                    changed[CORRUPTED_AT - carried] ^= 1
                    data = bytes(changed)
                carried += len(data)
                target.sendall(data)
            if self.fault == "drops half-closed connections":
                source.shutdown(socket.SHUT_RDWR)
                target.shutdown(socket.SHUT_RDWR)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            if self.fault != "says nothing of resets":
                for end in (source, target):
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)

    def keep_everything(self, source, target):
        """Reads on while the target takes nothing, without any bound."""
        kept, ended = bytearray(), False
        while kept or not ended:
            readable, writable, _ = select.select([] if ended else [source], [target] if kept else [], [])
            if readable:
                data = source.recv(65536)
                kept += data
                ended = not data
            if writable:
                del kept[: target.send(kept[:65536], socket.MSG_DONTWAIT)]
