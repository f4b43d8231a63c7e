"""The agent hosts that gitmem works with, and how they call it."""
