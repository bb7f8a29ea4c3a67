"""What all tests share: property tests without a time limit, for a busy machine is no failure."""

from hypothesis import settings

settings.register_profile("vidc", deadline=None)
settings.load_profile("vidc")
