"""Rules by text, path or ruleset name. Invariant: all of them pass the same checks."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from streamreasoner import rulesets
from streamreasoner.errors import ProgramError
from streamreasoner.program.checked import check_shapes, check_source, check_text
from streamreasoner.program.edit import with_settings
from streamreasoner.program.imports import read_file, reason
from streamreasoner.program.sources import SUFFIXES, suffix_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamreasoner.program.checked import CheckedProgram


def load_program(
    rules: str | Path,
    graphs: str | None = None,
    media_type: str | None = None,
    annotations: str | None = None,
) -> CheckedProgram:
    """Read and check rules.

    Imports are resolved against the folder of the rule file, or the working directory.

    Args:
        rules: A path, the name of a packaged ruleset such as `rho-df`, or the text itself. A str
            is text if it is empty or contains white space, a parenthesis or a bracket; otherwise
            it is a ruleset if one has this name, otherwise a path. Files of shapes end in
            `.ttl`, those of SPARQL-RL in `.srl`, those of a query in `.rq`.
        graphs: How graphs count, as `@graphs` says it in the rules.
        media_type: Of which type a text is; a str is always a text then.
        annotations: The IRI of the graph of annotations, as `@annotate` says it.

    Raises:
        ProgramError: The rules have mistakes, or there is no such file or ruleset.
    """
    if not isinstance(rules, str | Path):
        raise ProgramError(
            f"Rules are a text, a path or the name of a ruleset, not {type(rules).__name__}."
        )
    program = _load(rules) if media_type is None else _typed(rules, media_type)
    return with_settings(program, graphs, annotations)


def _load(rules: str | Path) -> CheckedProgram:
    if isinstance(rules, Path):
        return check_source(read_rules(rules), str(rules))
    if not rules or any(character in " \t\r\n([" for character in rules):
        return _text_or_path(rules)
    if rules in rulesets.names():
        return check_text(rulesets.text(rules), f"{rules}.dl")
    path = Path(rules)
    if path.suffix not in SUFFIXES and not path.exists() and len(path.parts) == 1:
        raise ProgramError(_unknown(rules))
    return check_source(read_rules(path), rules)


def is_unchanged(program: CheckedProgram, rules: str | Path) -> bool:
    """Whether a program that was loaded from rules would be the same again."""
    names = rulesets.names()
    packaged = {"<rules>", *(f"<{name}>" for name in names)}
    files = program.programs[isinstance(rules, str) and rules in names :]
    try:
        return all(
            each.source in packaged or read_file(Path(each.source)) == each.text for each in files
        )
    except (OSError, ValueError):
        return False


def _typed(rules: str | Path, media_type: str) -> CheckedProgram:
    suffix = suffix_of(media_type)
    if isinstance(rules, Path):
        return check_source(read_rules(rules), str(rules), suffix)
    return check_source(rules, "<rules>", suffix)


def load_shapes(paths: Iterable[Path]) -> CheckedProgram:
    """Read and check files of shapes as one program: shapes of one may be of another.

    Raises:
        ProgramError: The shapes have mistakes, or there is no such file.
    """
    return check_shapes({str(path): read_rules(path) for path in paths})


def _text_or_path(rules: str) -> CheckedProgram:
    """Load a str with blanks or parentheses; text on one line never ends like a path."""
    if "\n" not in rules and rules.endswith(SUFFIXES):
        return check_source(read_rules(Path(rules)), rules)
    return check_text(rules)


def _unknown(name: str) -> str:
    known = rulesets.names()
    close = get_close_matches(name.lower().replace("_", "-"), known, 1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return (
        f"There is no ruleset and no rule file '{name}'.{hint}"
        f" The rulesets are {', '.join(known)}; a rule file is given by its path."
    )


def read_rules(path: Path) -> str:
    """Return the text of a rule file.

    Raises:
        ProgramError: It cannot be read.
    """
    try:
        return read_file(path)
    except FileNotFoundError:
        raise ProgramError(
            f"There is no rule file '{path}'. Give the path of a file, or one of the rulesets"
            f" {', '.join(rulesets.names())}."
        ) from None
    except (OSError, ValueError) as error:
        raise ProgramError(f"Rule file '{path}' {reason(error)}.") from None
