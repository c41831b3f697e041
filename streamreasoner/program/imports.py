"""The files a program is made of. Invariant: each file is read once, however often it is imported.

An import names a packaged ruleset, or a path relative to the importing file. Cyclic imports are
fine: a program is the set of rules of its files, in any order. A query is read for each predicate
that its answers have. Errors are described in words, never by an errno.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from streamreasoner import rulesets
from streamreasoner.lang import limits
from streamreasoner.lang.ast import Atom, Import, Query
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.lang.traversal import walk
from streamreasoner.program.sources import (
    SHAPES,
    not_stratified_together,
    read_query,
    read_shapes,
    read_source,
)

if TYPE_CHECKING:
    from streamreasoner.lang.ast import Program
    from streamreasoner.lang.parser import ParsedText


def with_imports(main: ParsedText) -> tuple[ParsedText, ...]:
    """Return `main` and everything it imports, directly or transitively, breadth first.

    A file that cannot be read is a diagnostic of the file that imports it.
    """
    seen = {_key(main.program.source)}
    queue = deque([main])
    readings = []
    queries: list[tuple[Query, ParsedText]] = []
    shapes: dict[str, str] = {}
    while queue:
        reading = queue.popleft()
        failures = []
        for directive in reading.program.directives:
            if not isinstance(directive, Import | Query):
                continue
            source, key = _source(directive, reading.program.source)
            if key in seen:
                continue
            try:
                text = _text(directive, source)
            except (OSError, ValueError) as error:
                failures.append(_failure(directive, source, error))
                continue
            seen.add(key)
            match directive:
                case Query():
                    answers = read_query(text, source, directive.predicate)
                    queries.append((directive, answers))
                    queue.append(answers)
                case _ if source.endswith(SHAPES):
                    # Shapes of one file may be described in another.
                    shapes[source] = text
                case _:
                    queue.append(read_source(text, source))
        if failures:
            diagnostics = (*reading.diagnostics, *failures)
            reading = replace(reading, diagnostics=diagnostics, complete=False)
        readings.append(reading)
    readings += read_shapes(shapes) if shapes else ()
    taken = [_taken(query, answers, readings) for query, answers in queries]
    problems = [each for each in taken if each is not None]
    if problems := [*problems, *not_stratified_together(readings)]:
        readings[0] = replace(readings[0], diagnostics=(*readings[0].diagnostics, *problems))
    return tuple(readings)


def _taken(query: Query, answers: ParsedText, readings: list[ParsedText]) -> Diagnostic | None:
    """Report a query whose answers, or parts of it, would be mixed with other facts."""
    for other in readings:
        if other.program is answers.program:
            continue
        derived = {head.predicate for rule in other.program.rules for head in rule.heads}
        parts = [name for name in used_predicates(other.program) if name != query.predicate]
        for name in (*derived, *parts):
            if is_of_query(name, query.predicate):
                return Diagnostic(
                    "SR262",
                    f"'{name}' of the query is a predicate of other rules in "
                    f"{other.program.source}, too",
                    query.span,
                    "give the query another name",
                )
    return None


def is_of_query(name: str, query: str) -> bool:
    """Whether a predicate has the answers of a query, or is one of its parts."""
    return name == query or name.startswith(f"{query}__")


def used_predicates(program: Program) -> dict[str, None]:
    """The predicates of a program's rules, in textual order."""
    return {
        atom.predicate: None
        for rule in program.rules
        for literal in (*rule.heads, *rule.body)
        for atom in walk(literal)
        if isinstance(atom, Atom)
    }


def _source(directive: Import | Query, importer: str) -> tuple[str, str]:
    """The name of a text in diagnostics, and what tells it apart: a path, a ruleset in brackets."""
    if isinstance(directive, Query):
        source = str(Path(importer).parent / directive.file)
        return source, f"{directive.predicate}:{_key(source)}"
    name = directive.name
    source = f"<{name}>" if name in rulesets.names() else str(Path(importer).parent / name)
    return source, _key(source)


def _key(source: str) -> str:
    """Return one key for all names of a file."""
    try:
        return str(Path(source).resolve())
    except (OSError, ValueError):
        return source


def _text(directive: Import | Query, source: str) -> str:
    is_ruleset = isinstance(directive, Import) and directive.name in rulesets.names()
    return rulesets.text(source[1:-1]) if is_ruleset else read_file(Path(source))


def _failure(directive: Import | Query, source: str, error: OSError | ValueError) -> Diagnostic:
    if not isinstance(error, FileNotFoundError):
        return Diagnostic("SR222", f"file '{source}' {reason(error)}", directive.span)
    if isinstance(directive, Query):
        hint = "a path is relative to the file that names it"
        return Diagnostic("SR222", f"there is no file '{source}'", directive.span, hint)
    known = rulesets.names()
    message = f"there is no file '{source}'"
    if not Path(directive.name).suffix:
        message += " and no ruleset with that name"
    files = (path.name for path in Path(source).parent.glob("*.dl"))
    close = get_close_matches(Path(directive.name).name, sorted({*known, *files}), 1)
    hint = f"a path is relative to the file that imports it; the rulesets are {', '.join(known)}"
    if close:
        hint = f"did you mean '{Path(directive.name).with_name(close[0])}'? If not, {hint}"
    return Diagnostic("SR222", message, directive.span, hint)


def read_file(path: Path) -> str:
    """Return the text of a rule file, without a byte order mark.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is too large or not UTF-8, or the path is invalid; `reason` describes which.
    """
    if path.suffix != SHAPES and path.stat().st_size > limits.FILE_BYTES:
        raise ValueError(
            f"it has more than {limits.FILE_BYTES:,} bytes; "
            "put its facts into a file of facts, or its rules into several files"
        )
    return path.read_text(encoding="utf-8-sig")


def reason(error: OSError | ValueError) -> str:
    """Return an error of `read_file` as a predicate: `cannot be read: ...`."""
    match error:
        case UnicodeDecodeError():
            return f"is not UTF-8 text (byte {error.start}); save it as UTF-8"
        case OSError():
            return f"cannot be read: {error.strerror}"
        case _:
            return f"cannot be read: {error}"
