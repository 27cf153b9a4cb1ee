"""A server that serves /ping as the contract says, and breaks in a chosen way once it has been verified.

``server.py --port PORT --fault NAME``; a program of its own, for the sandbox.
"""

import os
import resource
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from email.utils import formatdate

# More than are sent before a window, fewer than any window has.
_VERIFIED = 10
_RIGHT = b"Hello, World!"
_served_count = 0
_leaked = []


def response(fault: str, serial: int) -> tuple[str, bytes]:
    """The status line and body of a request."""
    if serial < _VERIFIED:
        return "200 OK", _RIGHT
    match fault:
        case "exits":
            print("I have had enough", file=sys.stderr, flush=True)
            os._exit(7)
        case "hangs":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "fails":
            return "500 Internal Server Error", _RIGHT
        case "lies":
            return "200 OK", b"Hello, Wurld!"
        case "cuts short":
            return "200 OK", b"Hello"
        case "leaks":
            try:
                _leaked.append(bytearray(64 << 20))
            except MemoryError:
                os.kill(os.getpid(), signal.SIGKILL)  # as the kernel does when memory is short
        case "shouts":
            os.write(2, b"\x1b[31mshouting " * 100_000 + b"at the end\n")
    return "200 OK", _RIGHT


def serve(connection: socket.socket, fault: str) -> None:
    """Serve the requests of one connection until its client ends it, in whichever way."""
    global _served_count
    received = b""
    with connection, suppress(ConnectionError):
        while True:
            while b"\r\n\r\n" not in received:
                more = connection.recv(65536)
                if not more:
                    return
                received += more
            _, _, received = received.partition(b"\r\n\r\n")
            _served_count += 1
            status, body = response(fault, _served_count)
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
            head += f"Date: {formatdate(usegmt=True)}\r\n\r\n"
            connection.sendall(head.encode() + body)


def main() -> None:
    """Listen, late or never if that is the fault."""
    port, fault = int(sys.argv[2]), sys.argv[4]
    if fault == "ignores SIGTERM":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if fault == "leaks":
        resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
    if fault == "ends at once":
        sys.exit("no licence found \x1b]0;owned\x07")
    if fault == "listens late":
        time.sleep(1.0)
    while fault == "never listens":
        time.sleep(1.0)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection, fault), daemon=True).start()


if __name__ == "__main__":
    main()
