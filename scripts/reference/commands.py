"""The command line as a page: every command with its arguments and options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from streamreasoner.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator


def commands() -> str:
    """A section for each group of commands, a part for each command."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    root: Any = typer.main.get_command(app)
    for name, command in root.commands.items():
        panel = command.rich_help_panel
        inner = getattr(command, "commands", None)
        for each, leaf in {"": command}.items() if inner is None else inner.items():
            groups.setdefault(panel, []).append((f"{name} {each}".strip(), leaf))
    parts = []
    for panel, found in groups.items():
        parts.append(f"## {panel}\n")
        parts += [_command(name, command) for name, command in sorted(found, key=lambda x: x[0])]
    return "\n".join(parts)


def _command(name: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option"]
    usage = " ".join(
        ["streamreasoner", name, *(["[OPTIONS]"] if options else []), *map(_placeholder, arguments)]
    )
    lines = [f"### {name}", "", f"`{usage}`", "", _prose(command.help or ""), ""]
    rows = [*map(_argument, arguments), *map(_option, options)]
    if rows:
        lines += ["| | | default |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _placeholder(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs != 1 else "")
    return name if argument.required else f"[{name}]"


def _argument(argument: Any) -> str:
    return f"| `{_placeholder(argument)}` | {_cell(argument.help)} | {_default(argument)} |"


def _option(option: Any) -> str:
    names = ", ".join(f"`{each}`" for each in [*option.opts, *option.secondary_opts])
    return f"| {names} | {_cell(option.help)} | {_default(option)} |"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = getattr(parameter.default, "value", parameter.default)
    shown = value is not None and not callable(value) and value not in {False, ()}
    return f"`{value}`" if shown and str(value) else ""


def _cell(text: str | None) -> str:
    return (
        " ".join((text or "").split()).replace("|", "\\|").replace("\\[", "[").replace("<", "&lt;")
    )


def _prose(text: str) -> str:
    """Paragraphs of a docstring, without its sections."""
    paragraphs: Iterator[str] = (" ".join(each.split()) for each in re.split(r"\n\s*\n", text))
    kept = [each for each in paragraphs if not each.startswith(("Args:", "Raises:"))]
    return "\n\n".join(each.replace("<", "&lt;") for each in kept)
