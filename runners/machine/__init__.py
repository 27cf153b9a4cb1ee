"""The computer: its topology, the plan of who runs where, and the facts that a reviewer needs."""
