"""The parts of an installation: how each is added to a host's file, and removed again."""
