"""Requests without TLS: httpx else reads all certificates for each of them, 17 ms of CPU time."""

from functools import partial

import httpx

WITHOUT_TLS = {"verify": False, "trust_env": False}
request = partial(httpx.request, **WITHOUT_TLS)
get, post = partial(request, "GET"), partial(request, "POST")
