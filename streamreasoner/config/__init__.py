"""Configuration: one TOML file, overridden by environment variables, checked once."""

from __future__ import annotations

from streamreasoner.config.load import Config, load, parse

__all__ = ["Config", "load", "parse"]
