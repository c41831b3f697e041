"""Messages of syntax errors. Invariant: they state what was found and what was expected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Set as AbstractSet

_TERM = frozenset({"VARIABLE", "IRI", "PREFIXED", "STRING", "INTEGER"})
_NAMED_TOKENS = (
    ("VARIABLE", "a term"),
    ("COMPARATOR", "a comparison operator"),
    ("PREFIX_NAME", "a prefix such as `ex:`"),
)
_TERM_TOKENS = (
    ("NAME", "a predicate"),
    ("IRI", "an IRI in angle brackets"),
    ("STRING", "a quoted name"),
    ("INTEGER", "a number"),
)
_PUNCTUATION = (":-", ",", "|", ".", "(", ")", "]", "^^")
_SHOWN = 30
_LONGEST_NAME = 200

TRIPLE_TERM = (
    "a triple term is written `<<( ex:s ex:p ?o )>>`: three terms, without commas; name what is"
    " computed, `?o = …`"
)

_HINTS = (
    (re.compile(r":="), "an assignment is written with `=`, as in `?y = ?x + 1`"),
    (re.compile(r"is\b"), "an assignment is written with `=`, as in `?y = ?x + 1`"),
    (re.compile(r"\^(?!\^)"), "a power is written `?x ** 2`"),
    (re.compile(r"(?:mod|div)\b"), "the operators are `+ - * / % **`"),
    (re.compile(r"and\b"), "the literals of a body are separated by commas"),
    (
        re.compile(r"\*\s*\)"),
        "name a variable: `count(?x)` counts matches for any value of ?x",
    ),
    (re.compile(r"\?-"), "there are no queries: derive a predicate, and name it in @output"),
    (re.compile(r"\.[a-z]"), "the only declarations are @input and @output"),
    (re.compile(r"==|=\s*="), "equality is written with one `=`"),
    (re.compile(r"!|~|¬"), "negation is written `not edge(?x, ?y)`"),
    (re.compile(r"<<"), TRIPLE_TERM),
    (re.compile(r"<>"), "inequality is written `!=`"),
    (re.compile(r"=<"), "write `<=`"),
    (re.compile(r"=>"), "write `>=`"),
    (re.compile(r"<-|←|->|→"), "a rule is written `head :- body .`"),
    (re.compile(r"&&?|∧|;"), "the literals of a body are separated by commas"),
    (re.compile(r"\|\|"), "a disjunction is written `(a(?x) | b(?x))`"),
    (
        re.compile(r"@[A-Za-z]*"),
        (
            "directives are @prefix, @base, @input, @output, @hidden, @graphs, @annotate, @import, "
            "@query, @expires, @message and @columns"
        ),
    ),
    (re.compile(r"\{|\}"), "triples are written `[?s, ?p, ?o]`"),
    (re.compile(r":-"), "end the rule before this one with a dot"),
)
TRIPLE = "a triple is written in brackets: `[ex:a, a, ex:B]`"
_AT_THE_START = (
    (
        re.compile(r"<[^<>\s\"]*>|_:|(?:[A-Za-z][\w.\-]*)?:(?![-=])"),
        TRIPLE,
    ),
)
_AFTER_NOT = (
    (re.compile(r"\("), "derive the part in parentheses into a predicate, and negate that"),
    (
        re.compile(""),
        "`not` stands before an atom or a test; the opposite of `=` is `!=`, of `<` is `>=`",
    ),
)
_AFTER_MARK = (
    (
        re.compile(r"\["),
        "a constraint is a predicate, as in `!late(?x) :- order(?x), not shipped(?x) .`",
    ),
)
_IN_A_TRIPLE_TERM = ((re.compile(""), TRIPLE_TERM),)
_NOT_BEFORE = re.compile(r"\bnot$")
_NAME_BEFORE = re.compile(r"(?<!\w)[A-Za-z]\w*$")
_LITERAL = re.compile(r"[A-Za-z]\w*\s*\(|\[|\?|not\b")
_UNCLOSED = re.compile(r"[\"'<]")
_CLOSED = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|<[^<>\s\"]*>")
_TERM_AHEAD = re.compile(r"[?\w\"'<:+\-]")
_SPARQL = re.compile(r"\s*(?P<name>[\w.\-]*:)?\s*(?P<iri><[^<>\s]*>)")


def code(text: str, position: int, expected: Collection[str]) -> str:
    """Return the diagnostic code of a mistake at `position` of `text`."""
    rest = text[position:]
    if rest.startswith("@") and "@prefix" in expected:
        return "SR105"
    if (
        _UNCLOSED.match(rest)
        and not _CLOSED.match(rest)
        and not re.match(r"<[\s=\-0-9?<]|<>", rest)
    ):
        return "SR103"
    return "SR101"


def unclosed(text: str, position: int) -> str:
    """Return the message for an unterminated string or IRI."""
    if text[position] == "<":
        return "this IRI has no closing `>` on this line"
    return f"this string has no closing `{text[position]}`"


def message(found: str, expected: Collection[str]) -> str:
    """Return `found …, expected …`; `expected` holds terminal names and literal tokens."""
    shown = found if len(found) <= _SHOWN else found[:_SHOWN] + "…"
    names = _expected(expected)
    listed = " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return f"found `{shown}`, expected {listed}" if names else f"`{shown}` is not allowed here"


def hint(text: str, position: int, expected: AbstractSet[str]) -> str | None:
    """Return a hint for the mistake at `position`, if it is a common one."""
    rest = text[position:]
    if text[position - 1 : position + 1] in ("==", "=<", "=>", "<>", "||"):
        rest = text[position - 1] + rest
    if rest.startswith(":-") and "." not in expected:
        return None
    before = text[:position].rstrip()[-_LONGEST_NAME:]
    for pattern, words in _hints(before, expected):
        if pattern.match(rest):
            return words
    if "." in expected and "," in expected and _LITERAL.match(rest):
        return "separate literals with a comma, and end the rule before with a dot"
    if "," in expected and expected & {")", "]"} and _TERM_AHEAD.match(rest):
        return "separate arguments with a comma"
    if text[position - 1 : position] == "_":
        return "names begin with a letter, variables with `?`"
    return None


def _hints(before: str, expected: AbstractSet[str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Beginnings of what may stand after a text, and what each is a mistake for."""
    if _NOT_BEFORE.search(before):
        return _AFTER_NOT
    if before.endswith("!"):
        return _AFTER_MARK
    if before.rfind("<<(") > before.rfind(")>>"):
        return _IN_A_TRIPLE_TERM
    return (*_AT_THE_START, *_HINTS) if "@prefix" in expected else _HINTS


def directive_like(name: str, rest: str) -> str | None:
    """Return the directive that `PREFIX ex: <…>` or `BASE <…>` stands for, as in SPARQL."""
    iri = _SPARQL.match(rest)
    if iri is None or name.lower() not in {"prefix", "base"}:
        return None
    parts = (f"@{name.lower()}", iri["name"], iri["iri"], ".")
    return " ".join(part for part in parts if part is not None)


def name_before(text: str, position: int) -> str | None:
    """Return the name that ends before `position`, ignoring blanks, if any."""
    # Only the last characters, as a search would try every position of a long text.
    match = _NAME_BEFORE.search(text[:position].rstrip()[-_LONGEST_NAME:])
    return None if match is None else match[0]


def _expected(expected: Collection[str]) -> list[str]:
    is_term = _TERM.issubset(expected)
    names = [words for name, words in _NAMED_TOKENS if name in expected]
    if "not" in expected:
        names = ["a literal"]
    if not is_term:
        names += [words for name, words in _TERM_TOKENS if name in expected]
    if "@prefix" in expected:
        return ["a rule or a directive"]
    marks = [mark for mark in _PUNCTUATION if mark in expected and not (mark == "(" and is_term)]
    return names + [f"`{mark}`" for mark in marks]
