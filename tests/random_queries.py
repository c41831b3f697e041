"""Random graphs and random queries in SPARQL, as Hypothesis strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

XSD = "http://www.w3.org/2001/XMLSchema#"
NODES = [f"<http://e.x/{name}>" for name in "abc"]
PREDICATES = [f"<http://e.x/{name}>" for name in "pq"]
LITERALS = [
    f'"1"^^<{XSD}integer>',
    f'"2"^^<{XSD}integer>',
    f'"2.5"^^<{XSD}decimal>',
    f'"true"^^<{XSD}boolean>',
    '"x"',
    '"xy"@en',
]
GRAPHS = [f"<http://e.x/g{number}>" for number in range(2)]
VARIABLES = ["?a", "?b", "?c"]

REIFIES = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"
_TRIPLE = "<<( {} {} {} )>>".format
TRIPLE_TERMS = [_TRIPLE(node, PREDICATES[0], value) for node in NODES for value in NODES[:2]]
TRIPLE_TERMS += [_TRIPLE(NODES[0], PREDICATES[0], LITERALS[0])]
TRIPLE_TERMS += [_TRIPLE(NODES[1], PREDICATES[1], inner) for inner in TRIPLE_TERMS[:2]]
TRIPLES = st.one_of(
    st.tuples(
        st.sampled_from(NODES), st.sampled_from(PREDICATES), st.sampled_from(NODES + LITERALS)
    ),
    st.tuples(
        st.sampled_from(NODES),
        st.sampled_from([REIFIES, REIFIES, PREDICATES[0]]),
        st.sampled_from(TRIPLE_TERMS),
    ),
)
QUADS = st.tuples(TRIPLES, st.sampled_from(GRAPHS)).map(lambda each: (*each[0], each[1]))

_NODE = st.sampled_from([*VARIABLES, *VARIABLES, *NODES])
_OBJECT = st.sampled_from([*VARIABLES, *VARIABLES, *NODES, *LITERALS])
_VARIABLE = st.sampled_from(VARIABLES)


def _joined(separator: str, *parts: SearchStrategy[str]) -> SearchStrategy[str]:
    return st.tuples(*parts).map(separator.join)


_PATHS = st.recursive(
    st.sampled_from(PREDICATES),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("?*+")).map(lambda each: f"({each[0]}){each[1]}"),
        inner.map(lambda path: f"^({path})"),
        _joined("/", inner, inner).map("({})".format),
        _joined("|", inner, inner).map("({})".format),
        st.lists(st.sampled_from(PREDICATES), min_size=1, max_size=2).map(
            lambda parts: f"!({'|'.join(parts)})"
        ),
    ),
    max_leaves=4,
)
_TERMS = st.sampled_from([*VARIABLES, *VARIABLES, *NODES, *LITERALS, *TRIPLE_TERMS[4:]])


def _compared(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    """Comparisons; those by order are of two terms.

    pyoxigraph finds a term without an order, such as an IRI, as great as itself. By 17.3 of the
    specification, this is an error, which shows in `!(?a < ?a)` and `?a <= ?a`.
    """
    equal = st.tuples(inner, st.sampled_from(["=", "!="]), inner).map(" ".join)
    ordered = st.tuples(inner, st.sampled_from(["<", ">", "<=", ">="]), inner).map(
        lambda each: f"(!sameTerm({each[0]}, {each[2]}) && {' '.join(each)})"
    )
    return equal | ordered


_FUNCTIONS = ["STR", "LANG", "DATATYPE", "UCASE", "STRLEN", "SUBJECT", "PREDICATE", "OBJECT"]
_VALUES = st.recursive(
    _TERMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda e: f"({' '.join(e)})"),
        st.tuples(st.sampled_from(_FUNCTIONS), inner).map(lambda each: f"{each[0]}({each[1]})"),
        st.tuples(inner, inner).map(lambda each: f"TRIPLE({each[0]}, {PREDICATES[0]}, {each[1]})"),
        st.tuples(inner, inner).map(lambda each: f"COALESCE({each[0]}, {each[1]})"),
        st.tuples(_compared(inner), inner, inner).map(
            lambda each: f"IF({each[0]}, {each[1]}, {each[2]})"
        ),
    ),
    max_leaves=3,
)


def _conditions(groups: SearchStrategy[str]) -> SearchStrategy[str]:
    return st.recursive(
        st.one_of(
            _compared(_VALUES),
            _VARIABLE.map("BOUND({})".format),
            st.tuples(st.sampled_from(["isIRI", "isLITERAL", "isNUMERIC", "isTRIPLE"]), _TERMS).map(
                lambda each: f"{each[0]}({each[1]})"
            ),
            st.tuples(_TERMS, st.sampled_from(["IN", "NOT IN"]), _TERMS, _TERMS).map(
                lambda each: f"{each[0]} {each[1]} ({each[2]}, {each[3]})"
            ),
            st.tuples(_TERMS, _TERMS).map(lambda each: f"sameTerm({each[0]}, {each[1]})"),
            # Not of texts with a language: pyoxigraph has no truth value for them.
            _VARIABLE.map(lambda variable: f'LANG({variable}) = "" && {variable}'),
            groups.map("EXISTS {{ {} }}".format),
            groups.map("NOT EXISTS {{ {} }}".format),
        ),
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(
                lambda each: f"({' '.join(each)})"
            ),
            inner.map("!({})".format),
        ),
        max_leaves=3,
    )


def _values_block(rows: list[tuple[str, str]]) -> str:
    return f"VALUES (?a ?b) {{ {' '.join(f'({a} {b})' for a, b in rows)} }}"


_CONSTANTS = st.sampled_from([*NODES, *LITERALS, *TRIPLE_TERMS[5:], "UNDEF"])
_BLOCKS = st.lists(st.tuples(_CONSTANTS, _CONSTANTS), max_size=3).map(_values_block)
_SUBSELECTS = st.tuples(st.sampled_from(["", "DISTINCT "]), st.sampled_from(["?a", "?a ?b"]))


def _triples(verbs: SearchStrategy[str], objects: SearchStrategy[str]) -> SearchStrategy[str]:
    part = _joined(" ", _NODE, st.sampled_from([*PREDICATES, "?b"]), _OBJECT)
    triple_term = st.one_of(part, _joined(" ", _NODE, st.just(PREDICATES[1]), part.map(_QUOTED)))
    described = _joined(" ", st.sampled_from(PREDICATES), _NODE)
    patterns = st.one_of(
        _joined(" ", _NODE, verbs, objects),
        _joined(" ", _NODE, verbs, objects),
        _joined(" ", _NODE, verbs, triple_term.map(_QUOTED)),
        st.tuples(triple_term, _NODE).map(lambda each: f"<< {each[0]} ~ {each[1]} >>"),
        st.tuples(part, described).map(lambda each: f"<< {each[0]} >> {each[1]}"),
        st.tuples(part, described).map(lambda each: f"{each[0]} {{| {each[1]} |}}"),
        st.tuples(part, _NODE).map(lambda each: f"{each[0]} ~ {each[1]}"),
    ).map("{} .".format)
    return st.lists(patterns, min_size=1, max_size=3).map(" ".join)


_QUOTED = "<<( {} )>>".format


_BGPS = _triples(st.sampled_from([*PREDICATES, "?b"]), _OBJECT)


def _groups(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    conditions = _conditions(inner)
    return st.one_of(
        st.tuples(_BGPS, conditions).map(lambda each: f"{each[0]} FILTER({each[1]})"),
        st.tuples(inner, conditions).map(lambda each: f"{{ {each[0]} }} FILTER({each[1]})"),
        _joined(" ", inner, inner.map("OPTIONAL {{ {} }}".format)),
        _joined(" ", inner, inner.map("MINUS {{ {} }}".format)),
        st.tuples(inner, inner).map(lambda each: f"{{ {each[0]} }} UNION {{ {each[1]} }}"),
        st.tuples(inner, inner).map(lambda each: f"{{ {each[0]} }} {{ {each[1]} }}"),
        st.tuples(inner, _VALUES).map(lambda each: f"{{ {each[0]} }} BIND({each[1]} AS ?n)"),
        _joined(" ", inner, _BLOCKS),
        # pyoxigraph ignores a GRAPH around another one.
        st.tuples(
            st.sampled_from([*GRAPHS, *VARIABLES]), inner.filter(lambda each: "GRAPH" not in each)
        ).map(lambda each: f"GRAPH {each[0]} {{ {each[1]} }}"),
        st.tuples(_SUBSELECTS, inner).map(
            lambda each: f"{{ SELECT {each[0][0]}{each[0][1]} WHERE {{ {each[1]} }} }}"
        ),
    )


_COUNTS = st.sampled_from(["COUNT(*)", "COUNT(?b)", "COUNT(DISTINCT ?b)", "SUM(?c)", "MAX(?b)"])


def _counting(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    counted = st.tuples(_COUNTS, inner).map(
        lambda each: f"{{ SELECT ?a ({each[0]} AS ?m) WHERE {{ {each[1]} }} GROUP BY ?a }}"
    )
    return st.one_of(_groups(inner), counted)


def _named(
    extend: Callable[[SearchStrategy[str]], SearchStrategy[str]],
) -> Callable[[SearchStrategy[str]], SearchStrategy[str]]:
    """The same; Hypothesis prints its name instead of all that it is made of."""

    def extended(inner: SearchStrategy[str]) -> SearchStrategy[str]:
        strategy = extend(inner)

        @st.composite
        def groups(draw: st.DrawFn) -> str:
            return draw(strategy)

        return groups()

    return extended


def _queries(groups: SearchStrategy[str], modifiers: list[str]) -> SearchStrategy[str]:
    projections = st.sampled_from(["*", "?a ?b ?c"])
    return st.tuples(st.sampled_from(modifiers), projections, groups).map(
        lambda each: f"SELECT {each[0]}{each[1]} WHERE {{ {each[2]} }}"
    )


QUERIES = _queries(st.recursive(_BGPS, _named(_counting), max_leaves=4), ["", "DISTINCT "])
"""Texts of queries with SELECT, without property paths."""

PATH_QUERIES = _queries(
    st.recursive(
        _triples(st.one_of(st.sampled_from(PREDICATES), _PATHS), _NODE),
        _named(_groups),
        max_leaves=3,
    ),
    ["DISTINCT "],
)
"""Texts of queries with SELECT DISTINCT and property paths."""
