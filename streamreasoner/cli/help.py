"""How `--help` shows options. Invariant: a flag has no type, as it takes no value."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption


class Command(TyperCommand):
    """A command whose flags have no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with `--help`."""
        return _without_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose flags have no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with `--help`."""
        return _without_types(super().get_params(ctx))


def _without_types(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if isinstance(each, TyperOption) and each.is_bool_flag:
            each.metavar = ""
    return parameters
