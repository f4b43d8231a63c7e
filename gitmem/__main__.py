"""`python -m gitmem`."""

from __future__ import annotations

from gitmem.cli import main

if __name__ == "__main__":
    main()
