"""Split text into commands. Invariant: the inputs of a text, joined by line breaks, are the text.

A command is one line, unless it is unfinished: a parenthesis is open, the line ends with a comma,
or the final dot of a rule or the WHERE of an update is missing. A blank line always ends a command;
in a script, so does a line that begins with the name of a command.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from streamreasoner.lang.statements import is_blank, is_open, is_terminated, is_unfinished
from streamreasoner.shell.command import ALIASES, CATALOGUE, ArgumentKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WORD = re.compile(r"\s*(@?[A-Za-z](?:\w|-(?=\w))*)")
_PROLOGUE = re.compile(
    r"(?:\s*(?:PREFIX\s+[^\s:]*:\s*<[^<>]*>|BASE\s*<[^<>]*>|VERSION\s*[\"'][^\"']*[\"']))*\s*",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(r"\b(?:INSERT|DELETE)\s*\{", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)
_COMMAND_START = re.compile(r"@?[A-Za-z][\w-]*(?:\s|\.?$)")


def first_word(text: str) -> tuple[str, int]:
    """The command that a text begins with, aliases resolved, and the offset of the rest.

    An unknown word is returned unchanged; the word is empty if the text begins with none.
    """
    match = _WORD.match(text)
    if match is None:
        return "", len(text) - len(text.lstrip())
    return ALIASES.get(match[1], match[1]), match.end()


def is_complete(text: str) -> bool:
    """Whether a command is complete, so that it can be executed."""
    if text.rpartition("\n")[2].strip() == "" or is_blank(text):
        return True
    word, end = first_word(text)
    argument_kind = CATALOGUE[word].argument_kind if word in CATALOGUE else ArgumentKind.NOTHING
    rest = text[end:]
    if argument_kind in (ArgumentKind.NOTHING, ArgumentKind.WORD):
        return True
    # A dot inside an unfinished long string ends nothing.
    if is_unfinished(rest):
        return False
    if argument_kind is ArgumentKind.REQUEST:
        return not (is_open(rest) or _awaits_more(rest))
    awaits_dot = argument_kind is ArgumentKind.RULES or (
        argument_kind is ArgumentKind.FACTS and is_blank(rest)
    )
    return is_terminated(rest) or not (awaits_dot or is_open(rest))


def _awaits_more(request: str) -> bool:
    """Whether a request of SPARQL Update whose braces are closed needs another part."""
    if request.rstrip().endswith(";") or _PROLOGUE.fullmatch(request) is not None:
        return True
    templates = list(_TEMPLATE.finditer(request))
    return bool(templates) and _WHERE.search(request, templates[-1].end()) is None


def inputs(lines: Iterable[str]) -> Iterator[str]:
    """Commands, comments and blank lines, each without the line break at its end."""
    buffered: list[str] = []
    for line in (line.rstrip("\r\n") for line in lines):
        if buffered and _COMMAND_START.match(line) and first_word(line)[0] in CATALOGUE:
            # An unfinished command must not swallow the commands after it.
            yield "\n".join(buffered)
            buffered = []
        if not is_blank(line):
            buffered.append(line)
            if not is_complete("\n".join(buffered)):
                continue
        elif buffered and line.strip():
            buffered.append(line)
            continue
        if buffered:
            yield "\n".join(buffered)
        if is_blank(line):
            yield line
        buffered = []
    if buffered:
        yield "\n".join(buffered)
