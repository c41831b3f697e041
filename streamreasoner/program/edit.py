"""Programs with statements added or removed. Invariant: a result is checked as a whole, or refused.

A program is a set of statements here: what it has already is not added again, and what is removed
is gone, so that a removal undoes an addition however often that was made.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING

from streamreasoner.analysis.arity import arities
from streamreasoner.analysis.strata.run_once import cycles_of_added
from streamreasoner.counts import counted
from streamreasoner.errors import ProgramError
from streamreasoner.lang.ast import (
    Annotate,
    Columns,
    Constant,
    Expires,
    Graphs,
    Hidden,
    Input,
    Message,
    Output,
    Rule,
    Span,
)
from streamreasoner.lang.diagnostic import refuse
from streamreasoner.lang.printer import print_directive, print_rule
from streamreasoner.program.checked import check_all, check_text
from streamreasoner.program.imports import is_of_query, with_imports
from streamreasoner.program.sources import RULE_SET, read_query, read_source, suffix_of
from streamreasoner.program.text import canonical_text
from streamreasoner.rdf.graph_mode import GraphMode
from streamreasoner.rdf.terms import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from streamreasoner.lang.ast import Directive, Program
    from streamreasoner.lang.parser import ParsedText
    from streamreasoner.program.checked import CheckedProgram

    Statement: TypeAlias = "Rule | Directive | tuple[type[Directive], str]"
    """A rule, fact or directive; of @input, @output and @hidden each predicate by itself."""

_MOST_LISTED = 20
OTHER_EXPIRIES = (
    "The new program has other @expires than the one in effect. What expires is fixed when a state "
    "begins: keep the @expires as they are, or start from scratch with the new program."
)


def with_rules(
    checked: CheckedProgram, text: str, source: str, media_type: str | None = None
) -> CheckedProgram:
    """Return a program extended by the statements of another text that it does not have.

    Args:
        checked: The current program.
        text: Rules, facts and directives, with their own prefixes.
        source: Name of the text in diagnostics.
        media_type: What tells its language; by default the name does.

    Raises:
        ProgramError: With a diagnostic for every mistake in the text, or in the combined program.
    """
    added = _read(text, _unused(source, checked), source, media_type)
    # A message has the rules of a rule set, and the name of its file.
    return _extended(checked, added, is_rule_set=added.is_rule_set or source.endswith(RULE_SET))


def with_settings(
    checked: CheckedProgram, graphs: str | None = None, annotations: str | None = None
) -> CheckedProgram:
    """Return a program that says what settings say; without any, the same.

    Args:
        checked: The program.
        graphs: How graphs count; see `program.graphs.modes`.
        annotations: The IRI of the graph of annotations; see `program.graphs.annotations`.

    Raises:
        ProgramError: The program says otherwise, or a setting says nothing.
    """
    first, *others = checked.programs
    place = Span(first.source, 1, 1, 1, 1, 0, 0)
    said: list[Directive] = []
    if graphs is not None:
        if graphs not in [*GraphMode]:
            raise ProgramError(f"Graphs count as {', '.join(GraphMode)}; {graphs!r} says nothing.")
        said.append(Graphs(GraphMode(graphs), place))
    if annotations is not None:
        said.append(Annotate(Constant(canonical(f"<{annotations}>"), place), place))
    if not said:
        return checked
    return check_all([replace(first, directives=(*first.directives, *said)), *others])


def with_query(checked: CheckedProgram, name: str, text: str, source: str) -> CheckedProgram:
    """Return a program extended by a query, whose answers are facts of a predicate.

    Args:
        checked: The current program, which does not have the predicate.
        name: The predicate.
        text: The query, in SPARQL.
        source: Name of the text in diagnostics.

    Raises:
        ProgramError: With a diagnostic for every mistake in the query, or in the combined program.
    """
    if (why := why_taken(checked, name)) is not None:
        raise ProgramError(why)
    return _extended(checked, read_query(_str(text), _unused(source, checked), name))


def without_query(checked: CheckedProgram, name: str, text: str, source: str) -> CheckedProgram:
    """Return a program without the rules of a query.

    Raises:
        ProgramError: The query has mistakes, or the program does not have its rules.
    """
    return _reduced(checked, read_query(_str(text), source, name))


def why_taken(checked: CheckedProgram, name: str) -> str | None:
    """Why a query cannot have a name; None if no predicate of the program has it."""
    for predicate in checked.arities:
        if is_of_query(predicate, name):
            return (
                f"The program has the predicate '{predicate}' already, so the query cannot be "
                f"named '{name}'. To change a query, first remove the one that has the name, by "
                "the text that it was added with; or give the new one another name."
            )
    return None


def without_rules(
    checked: CheckedProgram, text: str, source: str, media_type: str | None = None
) -> CheckedProgram:
    """Return a program without the statements of a text; see `with_rules`.

    A rule matches if it is written alike: variable names and the spelling of constants count, white
    space and prefixes do not. With the last rule of a predicate its directives go. What the text
    imports stays, as other rules may need it, unless it has nothing but imports. What it declares
    of predicates that have other rules stays, unless it has no rules.

    Raises:
        ProgramError: The text has mistakes, or holds a rule that the program does not.
    """
    return _reduced(checked, _read(text, source, source, media_type))


def _extended(
    checked: CheckedProgram, added: ParsedText, *, is_rule_set: bool = False
) -> CheckedProgram:
    sources = {program.source for program in checked.programs}
    known = {each for program in checked.programs for each in _statements(program)}
    readings = [each for each in with_imports(added) if each.program.source not in sources]
    new = (replace(each, program=_without(each.program, known)) for each in readings)
    extended = check_all(
        checked.programs,
        [each for each in new if each.diagnostics or any(_statements(each.program))],
    )
    if is_rule_set:
        sets = {each.program.source for each in readings if each.is_rule_set}
        rules = [rule for each in extended.programs for rule in each.rules]
        cycles = [*cycles_of_added(rules, {added.program.source, *sets})]
        if cycles:
            raise refuse(cycles, extended.texts)
    return extended


def _reduced(checked: CheckedProgram, text: ParsedText) -> CheckedProgram:
    readings = (text,) if any(_statements(text.program)) else with_imports(text)
    if mistakes := [each for reading in readings for each in reading.diagnostics]:
        raise refuse(mistakes, {each.program.source: each.program.text for each in readings})
    known = {each for program in checked.programs for each in _statements(program)}
    if missing := [each for reading in readings for each in _missing(reading.program, known)]:
        raise ProgramError(
            f"The program has no such {_kind(missing)}:\n{_listed(missing)}\n"
            "Write each as it stands in the program, rules with the same variables. A query is "
            "removed by the text that it was added with."
        )
    rules: set[Statement] = {rule for each in readings for rule in each.program.rules}
    left = _heads(_without(program, rules) for program in checked.programs)
    removed = {
        each
        for reading in readings
        for each in _statements(reading.program)
        if not (rules and isinstance(each, tuple) and each[1] in left)
    }
    remaining = [_without(program, removed) for program in checked.programs]
    gone = _heads(checked.programs) - left
    remaining = [_without_declarations_of(program, gone) for program in remaining]
    known_arities = arities(remaining)
    lost = {name: n for name, n in checked.arities.items() if name not in known_arities}
    return check_all([_with_arities(program, lost) for program in remaining])


def _read(text: str, name: str, source: str, media_type: str | None) -> ParsedText:
    return read_source(_str(text), name, source if media_type is None else suffix_of(media_type))


def _str(text: str) -> str:
    if not isinstance(text, str):
        raise ProgramError(f"Rules to add or remove must be a str, got {type(text).__name__}.")
    return text


def canonical_program(checked: CheckedProgram, source: str) -> CheckedProgram:
    """Return the same program, parsed from its canonical text.

    The result does not depend on how the program was split into files, so later changes to it are
    deterministic.

    Args:
        checked: Any program.
        source: Name of the text in diagnostics.
    """
    return check_text(canonical_text(checked.programs), source)


def _unused(source: str, checked: CheckedProgram) -> str:
    """Return a name that no text of the program has, so that diagnostics quote the right text."""
    names = {program.source for program in checked.programs}
    numbered = (f"{source} ({number})" for number in count(2))
    return next(name for name in chain([source], numbered) if name not in names)


def _statements(program: Program) -> Iterator[Statement]:
    """What a program states, apart from how it is written and what it imports."""
    yield from program.rules
    for directive in program.directives:
        match directive:
            case Input(signatures) | Output(signatures) | Hidden(signatures):
                yield from ((type(directive), each.predicate) for each in signatures)
            case Message() | Columns() | Expires() | Graphs() | Annotate():
                yield directive
            case _:
                pass


def _missing(program: Program, known: set[Statement]) -> list[Rule | Directive]:
    """The rules that are not known; of a text without rules, the directives."""
    if program.rules:
        return [rule for rule in dict.fromkeys(program.rules) if rule not in known]
    return [
        directive
        for directive in program.directives
        if not known.issuperset(_statements(replace(program, directives=(directive,))))
    ]


def _kind(missing: Sequence[Rule | Directive]) -> str:
    return "rule" if isinstance(missing[0], Rule) else "declaration"


def _listed(missing: Sequence[Rule | Directive]) -> str:
    lines = [
        f"  {print_rule(each) if isinstance(each, Rule) else print_directive(each)}"
        for each in missing[:_MOST_LISTED]
    ]
    more = len(missing) - len(lines)
    return "\n".join([*lines, f"  and {more} more"] if more else lines)


def _without(program: Program, statements: set[Statement]) -> Program:
    rules = tuple(rule for rule in program.rules if rule not in statements)
    kept = (_kept(directive, statements) for directive in program.directives)
    directives = tuple(directive for directive in kept if directive is not None)
    return replace(program, rules=rules, directives=directives)


def _kept(directive: Directive, statements: set[Statement]) -> Directive | None:
    """What is left of a directive; an @expires stays, as it cannot have been added to a state."""
    match directive:
        case Input(signatures) | Output(signatures) | Hidden(signatures):
            kind = type(directive)
            left = tuple(each for each in signatures if (kind, each.predicate) not in statements)
            return replace(directive, signatures=left) if left else None
        case Message() | Columns() | Graphs() | Annotate():
            return None if directive in statements else directive
        case _:
            return directive


def _heads(programs: Iterable[Program]) -> set[str]:
    return {head.predicate for program in programs for rule in program.rules for head in rule.heads}


def _without_declarations_of(program: Program, gone: set[str]) -> Program:
    """Omit what declares predicates that have lost their last rule."""
    named = (each for each in program.directives if isinstance(each, Message | Columns))
    about = {each for each in named if each.atom.predicate in gone}
    return _without(program, {*about, *((Hidden, predicate) for predicate in gone)})


def _with_arities(program: Program, lost: Mapping[str, int]) -> Program:
    """Write the arity of a predicate that is only declared: what is published stays the same."""
    directives = tuple(
        replace(
            directive,
            signatures=tuple(
                replace(each, arity=lost.get(each.predicate, each.arity))
                for each in directive.signatures
            ),
        )
        if isinstance(directive, Input | Output | Hidden)
        else directive
        for directive in program.directives
    )
    return replace(program, directives=directives)


def other_arity(predicate: str, arity: int, known: int) -> str:
    """The error message for a program that changes the arity of a predicate."""
    return (
        f"'{predicate}' has {counted(arity, 'argument')} in the new program, but {known} in the "
        "state. Rename the predicate."
    )


def other_role(predicate: str, *, is_constraint: bool) -> str:
    """The error message for a program that makes a predicate a constraint, or one no constraint."""
    now, before = "a constraint", "an ordinary predicate"
    if not is_constraint:
        now, before = before, now
    return (
        f"'{predicate}' is {now} in the new program, but was {before} before. Rename the predicate."
    )
