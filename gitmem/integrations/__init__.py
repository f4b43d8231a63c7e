"""Doors for agents: what their hosts call, and what they are told in return."""
