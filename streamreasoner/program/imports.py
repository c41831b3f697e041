"""The files a program is made of. Invariant: each file is read once, however often it is imported.

An import names a packaged ruleset, or a path relative to the importing file. Cyclic imports are
fine: a program is the set of rules of its files, in any order. Errors are described in words, never
by an errno.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from streamreasoner import rulesets
from streamreasoner.lang import limits
from streamreasoner.lang.ast import Import
from streamreasoner.lang.diagnostic import Diagnostic
from streamreasoner.program.sources import read_source

if TYPE_CHECKING:
    from streamreasoner.lang.parser import ParsedText


def with_imports(main: ParsedText) -> tuple[ParsedText, ...]:
    """Return `main` and everything it imports, directly or transitively, breadth first.

    A file that cannot be read is a diagnostic of the file that imports it.
    """
    seen = {_key(main.program.source)}
    queue = deque([main])
    readings = []
    while queue:
        reading = queue.popleft()
        failures = []
        for directive in reading.program.directives:
            if not isinstance(directive, Import):
                continue
            source = _source(directive.name, reading.program.source)
            if _key(source) in seen:
                continue
            try:
                text = _text(directive.name, source)
            except (OSError, ValueError) as error:
                failures.append(_failure(directive, source, error))
            else:
                seen.add(_key(source))
                queue.append(read_source(text, source))
        if failures:
            diagnostics = (*reading.diagnostics, *failures)
            reading = replace(reading, diagnostics=diagnostics, complete=False)
        readings.append(reading)
    return tuple(readings)


def _source(name: str, importer: str) -> str:
    """Return the name of an imported text in diagnostics: a path, or a ruleset in brackets."""
    return f"<{name}>" if name in rulesets.names() else str(Path(importer).parent / name)


def _key(source: str) -> str:
    """Return one key for all names of a file."""
    try:
        return str(Path(source).resolve())
    except (OSError, ValueError):
        return source


def _text(name: str, source: str) -> str:
    return rulesets.text(name) if name in rulesets.names() else read_file(Path(source))


def _failure(directive: Import, source: str, error: OSError | ValueError) -> Diagnostic:
    if not isinstance(error, FileNotFoundError):
        return Diagnostic("SR222", f"file '{source}' {reason(error)}", directive.span)
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
    if path.stat().st_size > limits.FILE_BYTES:
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
