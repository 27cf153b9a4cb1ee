"""The golden vectors: requests with the responses that the contract requires."""
