"""HTTP/1.1 byte by byte: requests, responses, and a kept connection."""
