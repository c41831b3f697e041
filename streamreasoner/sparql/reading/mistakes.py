"""Messages of syntax errors. Invariant: they state what was found and what was expected."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

_SHOWN = 40
_LISTED = 6
_SIMILAR = 0.7
_FOUND = re.compile(r"[?$]?[\w:.\-]*\w|&&|\|\||[<>!=]=|\^\^|<<|\{\||\S", re.DOTALL)
_ILLEGAL = re.compile(r"[^<>\"{}|^`\\\x00-\x20]*")
_PAIRS = ("==", "{|")  # of which the grammar takes the first character
_QUOTES = re.compile(r"\"{3}|'{3}|\"|'")

# What several tokens together stand for, the larger first.
_GROUPS: tuple[tuple[frozenset[str], frozenset[str], str], ...] = (
    (
        frozenset({"VARIABLE", "PREFIXED", "STRING", "NAME", "!"}),
        frozenset({"(", "+", "-", "EXISTS", "NOT", "TRUE", "FALSE", "<<("}),
        "an expression",
    ),
    (
        frozenset({"VARIABLE", "PREFIXED", "STRING", "BLANK"}),
        frozenset({"(", "[", "TRUE", "FALSE", "<<", "<<("}),
        "a term",
    ),
    (frozenset({"PREFIXED", "STRING", "UNDEF"}), frozenset({"TRUE", "FALSE", "<<("}), "a value"),
    (frozenset({"PREFIXED", "TYPE", "VARIABLE"}), frozenset({"(", "^", "!"}), "a predicate"),
    (frozenset({"PREFIXED", "TYPE"}), frozenset({"(", "^", "!"}), "a path"),
    (frozenset({"PREFIXED", "VARIABLE"}), frozenset(), "a variable or an IRI"),
    (frozenset({"PREFIXED", "IRI"}), frozenset(), "an IRI"),
    (
        frozenset({"||", "&&"}),
        frozenset(["=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/", "IN", "NOT"]),
        "an operator",
    ),
    (frozenset({"*", "+", "?"}), frozenset({"/", "|"}), "a step of a path"),
    (frozenset({"NAME", "("}), frozenset({"EXISTS", "NOT", "PREFIXED"}), "a condition"),
    (frozenset({"SELECT", "CONSTRUCT"}), frozenset({"ASK", "DESCRIBE"}), "a query"),
    (
        frozenset({"INSERT", "DELETE"}),
        frozenset(["WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY"]),
        "an update",
    ),
    (
        frozenset({"OPTIONAL", "FILTER"}),
        frozenset(["BIND", "VALUES", "MINUS", "GRAPH", "SERVICE", "WINDOW", "{"]),
        "a clause such as FILTER or OPTIONAL",
    ),
    (
        frozenset({"GROUP", "LIMIT"}),
        frozenset({"HAVING", "ORDER", "OFFSET", "VALUES"}),
        "a clause such as GROUP BY or LIMIT",
    ),
)
_TOKENS = {
    "VARIABLE": "a variable",
    "IRI": "an IRI in angle brackets",
    "PREFIX_NAME": "a prefix such as `ex:`",
    "NUMBER": "a number",
    "STRING": "a string",
    "DURATION": "a duration such as PT10M",
}
_LEFT_OUT = frozenset({"IRI", "PREFIXED", "NUMBER", "SIGNED_NUMBER", "LANGUAGE", "BLANK", "^^"})

_HINTS = (
    (r"REGISTER\b", "leave out `REGISTER … AS`: the changes of the answers are the output"),
    (
        r"[RID]STREAM\b",
        "leave out the name of the stream: the changes of the answers are the output",
    ),
    (r"@prefix\b", "write `PREFIX ex: <http://example.org/>`, without a dot"),
    (r"@base\b", "write `BASE <http://example.org/>`, without a dot"),
    (r"VERSION\b", 'write `VERSION "1.2"`, before the query'),
    (r"[?$]?\\u", "codepoint escapes stand in strings and in IRIs only"),
    (r"DEFINE\b", "leave it out: SPARQL 1.1 has no DEFINE"),
    (r"(?:INCLUDE\b|%)", "sub-queries are written in place: `{ SELECT … }`"),
    (r"LATERAL\b", "SPARQL 1.1 has no LATERAL; write a sub-query"),
    (r"LET\b", "write `BIND (expression AS ?variable)`"),
    (r"BINDINGS\b", "write VALUES"),
    (r"(?:NOT\s+)?EXISTS\b", "write `FILTER EXISTS { … }` or `FILTER NOT EXISTS { … }`"),
    (r"NOT\b", "write `!(…)`, `?x NOT IN (…)` or `FILTER NOT EXISTS { … }`"),
    (r"AND\b", "write `&&`"),
    (r"OR\b", "write `||`"),
    (r"LIKE\b", 'write `regex(?text, "pattern")` or `contains(?text, "part")`'),
    (r"==", "equality is written `=`"),
    (r"<>", "inequality is written `!=`"),
    (r"UNION\b", "write `{ … } UNION { … }`: each side has braces"),
    (r"FROM\b", "FROM stands before WHERE"),
    (r"WITH\b", "sub-queries are written in place: `{ SELECT … }`"),
    (r"(?:COUNT|SUM|MIN|MAX|AVG|SAMPLE|GROUP_CONCAT)\s*\(", "write `(COUNT(*) AS ?n)`"),
)
_ORDER = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES")
_ORDER_HINT = f"the order is {', '.join(_ORDER)}; GROUP and ORDER are followed by BY"
_ALONE = (".", "}")
_ALONE_HINT = "write a predicate and an object, or `<< … >>`: a triple term alone says nothing"
_WORD = re.compile(r"\w+")
_REPEATED = re.compile(r"\{\s*(?:\d+\s*,?|,)\s*\d*\s*\}")
_UPDATES = ["INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"]


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong with a text.

    Attributes:
        message: What was found and expected.
        place: Where, as offsets.
        hint: What to write instead.
    """

    message: str
    place: tuple[int, int]
    hint: str | None = None


def describe(
    text: str, start: int, end: int, expected: AbstractSet[str], language: str = "SPARQL"
) -> Mistake:
    """The mistake at an offset.

    Args:
        text: The text.
        start: Where it cannot be read on.
        end: Where the token at the offset ends; the same if there is none.
        expected: What could stand there: names of tokens, or their text.
        language: What the text is to be.
    """
    rest = text[start:]
    wanted = _listed(expected)
    if not rest.strip():
        last = max(len(text.rstrip()) - 1, 0)
        return Mistake(f"the text ends here, {wanted}", (last, last + 1), _at_end(expected))
    if rest[0] in "\"'" and end == start:
        return _string(text, start)
    if rest[0] == "<" and end <= start + 1 and "IRI" in expected and not rest.startswith("<<"):
        return _iri(text, start)
    start -= text[start - 1 : start + 1] in _PAIRS
    word = _FOUND.match(text, start)
    end = max(end, word.end() if word else start + 1)
    found = text[start:end]
    shown = found if len(found) <= _SHOWN else f"{found[:_SHOWN]}…"
    message = f"this is not {language} from `{shown}` on: {wanted}"
    return Mistake(message, (start, end), _hint(text, start, expected))


def _string(text: str, start: int) -> Mistake:
    quotes = _QUOTES.match(text, start)
    assert quotes is not None  # noqa: S101 - the caller has seen one
    line = " on this line" if len(quotes[0]) == 1 else ""
    message = f"this string has no closing `{quotes[0]}`{line}"
    hint = 'write a string of several lines in `"""`, and a quotation mark in it as `\\"`'
    return Mistake(message, (start, quotes.end()), hint)


def _iri(text: str, start: int) -> Mistake:
    legal = _ILLEGAL.match(text, start + 1)
    end = legal.end() if legal else start + 1
    if end == len(text) or text[end] in "\r\n<":
        return Mistake("this IRI has no closing `>`", (start, end))
    message = f"an IRI cannot contain the character {text[end]!r}"
    hint = "write it percent-encoded, such as `%20`" if ord(text[end]) <= ord(" ") else None
    return Mistake(message, (start, end + 1), hint)


def _listed(expected: AbstractSet[str]) -> str:
    """What is expected, in words."""
    rest = set(expected) - {"$END", ""}
    names = []
    for needed, others, words in _GROUPS:
        if needed <= rest:
            names.append(words)
            rest -= needed | others | _LEFT_OUT
    names += [_TOKENS[name] for name in _TOKENS if name in rest]
    names += sorted(f"`{each}`" for each in rest - _TOKENS.keys() - _LEFT_OUT)
    if "$END" in expected:
        names.append("the end")
    if len(names) > _LISTED:
        names = [*names[:_LISTED], "others"]
    listed = " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
    return f"expected {listed}"


def _at_end(expected: AbstractSet[str]) -> str | None:
    if "SELECT" in expected:
        return "a query is `PREFIX ex: <http://example.org/> SELECT ?x WHERE { ?x a ex:Person }`"
    return "close the group with `}`" if "}" in expected else None


def _hint(text: str, start: int, expected: AbstractSet[str]) -> str | None:
    rest = text[start : start + 1000]
    for pattern, words in _HINTS:
        if re.match(pattern, rest, re.IGNORECASE):
            return words
    before = text[:start].rstrip()[-_SHOWN:].upper()
    name = _WORD.match(rest.upper())
    inner = before.rfind("<<") > before.rfind(">>")
    matches = (
        (name is not None and name[0] in _ORDER, _ORDER_HINT),
        (name is not None and name[0] in _UPDATES, "separate the operations of an update by `;`"),
        (
            rest.startswith(",") and not expected.isdisjoint({"WHERE", "LIMIT"}),
            "the variables of SELECT, GROUP BY and ORDER BY have no commas",
        ),
        (rest.startswith(_ALONE) and before.endswith(")>>"), _ALONE_HINT),
        (rest.startswith(("(", "[")) and inner, "a list or `[ … ]` cannot stand in a triple term"),
        (
            rest.startswith("<<") and "<<(" in expected,
            "a triple term as a value is `<<( ?s ?p ?o )>>`",
        ),
        (rest.startswith("<") and "=" in expected, "write a blank after the operator `<`"),
        (rest[0] == text[start - 1] in "\"'", "write a quotation mark in a string as `\\'`"),
        (name is not None and name[0] == "GRAPH", "a template here has triples, without graphs"),
        (name is not None and name[0] == "AS", "write `(?x AS ?y)`"),
        (before.endswith(("ORDER BY", "GROUP BY")), "write an expression there in parentheses"),
        (before.endswith("FILTER"), "write the condition of FILTER in parentheses"),
        (rest.startswith("?") and "AS" in expected, "write `(?x + 1 AS ?y)`"),
        (rest.startswith(")") and "AS" in expected, "name the value: `(COUNT(*) AS ?n)`"),
        (_REPEATED.match(rest) is not None, "write out the steps: `ex:p/ex:p?` for `ex:p{1,2}`"),
        ("." in expected and "PREFIXED" not in expected, "separate triples with a dot"),
    )
    hint = next((words for holds, words in matches if holds), None)
    if hint is not None or name is None:
        return hint
    known = expected - _TOKENS.keys() - _LEFT_OUT - {"NAME", "TYPE"}
    close = get_close_matches(name[0], known, 1, _SIMILAR)
    return f"did you mean {close[0]}?" if close else None
