"""The duties of a TCP proxy: a rig with both ends, the cases, and the check."""
