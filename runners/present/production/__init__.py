"""The report about the shape of production: compression, encryption, and a mix of endpoints."""
