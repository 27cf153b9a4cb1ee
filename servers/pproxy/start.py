"""Starts pproxy as published: a single-threaded program, in as many processes as there are CPUs for it."""

import asyncio
import os
import socket
import sys

from pproxy.server import main

port, backend_port, processes = map(int, sys.argv[1:])
address, backend = os.environ["LISTEN_ADDRESS"], os.environ["BACKEND_ADDRESS"]
# The processes share the port with one another, by SO_REUSEPORT, but not with a program that had it before.
with socket.socket() as probe:
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind((address, port))
for _ in range(processes - 1):
    if os.fork() == 0:
        break

tasks = set()


def keep(loop, coroutine, **settings):
    """Make a task that lives until it is done. pproxy keeps none: the collector of this Python takes connections in use."""
    task = asyncio.Task(coroutine, loop=loop, **settings)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task


# It expects the event loop that Python before 3.14 made by itself.
loop = asyncio.new_event_loop()
loop.set_task_factory(keep)
asyncio.set_event_loop(loop)
shared = ["--reuse"] if processes > 1 else []
main([*shared, "-l", f"tunnel://{address}:{port}", "-r", f"tunnel://{backend}:{backend_port}"])
