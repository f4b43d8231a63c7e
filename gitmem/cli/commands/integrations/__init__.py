"""Commands for agent hosts: install, doctor, hooks, servers, the schedule."""
