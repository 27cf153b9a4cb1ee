"""The contract of the servers, for programs: request bodies, the reference decoder, golden vectors, and the checker."""
