"""The reference decoder of request bodies: strict JSON, the batch, and its bounds."""
