"""Settings of all tests."""

from hypothesis import settings

# The machine may be busy: how long an example takes says nothing about whether it is right.
settings.register_profile("wrkbook", deadline=None)
settings.load_profile("wrkbook")
