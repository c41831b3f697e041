"""`python -m streamreasoner` is the command line."""

from __future__ import annotations

from streamreasoner.cli import main

main()
