"""Answers of SPARQL engines to compare continuous ones with."""

from __future__ import annotations

from decimal import Decimal

import pyoxigraph
from sparql_strategies import EX, PREFIXES

from streamreasoner.rdf.terms import canonical, parse
from streamreasoner.rdf.triple_terms import triple_term
from streamreasoner.rdf.vocabulary import UNBOUND
from streamreasoner.sparql.parse import parse_query
from streamreasoner.values.numbers import number

_DIGITS = 12


def fact(terms):
    """Canonical terms of a triple or quad that is written with the prefixes of the queries."""
    *triple, graph = terms
    turtle = f"{PREFIXES}{' '.join(triple)} ."
    (found,) = pyoxigraph.parse(turtle, format=pyoxigraph.RdfFormat.TURTLE)
    names = [found.subject, found.predicate, found.object]
    texts = [canonical(written(each)) for each in names]
    return (*texts, f"<{EX}{graph[3:]}>") if graph else tuple(texts)


def written(term):
    """A term of Oxigraph in N-Triples."""
    if isinstance(term, pyoxigraph.Triple):
        return triple_term(*map(written, term))
    return str(term)


def store(facts):
    """Oxigraph's store of triples and quads, given as tuples of canonical terms."""
    found = pyoxigraph.Store()
    for fact in facts:
        text = " ".join(fact)
        (quad,) = pyoxigraph.parse(f"{text} .", format=pyoxigraph.RdfFormat.N_QUADS)
        found.add(quad)
    return found


def answers(found, query):
    """The answers of Oxigraph as a set of tuples of comparable terms; true or false of ASK."""
    results = found.query(query)
    if isinstance(results, pyoxigraph.QueryBoolean):
        return {()} if results else set()
    if isinstance(results, pyoxigraph.QueryTriples):
        return {tuple(map(comparable, map(written, triple))) for triple in results}
    columns = [each.name for each in parse_query(query).select.variables]
    known = {variable.value for variable in results.variables}
    solutions = list(results)
    # Garbage of another thread must not hold it: it may be freed by its own thread only.
    del results
    return {
        tuple(
            comparable(
                UNBOUND if name not in known or solution[name] is None else written(solution[name])
            )
            for name in columns
        )
        for solution in solutions
    }


def comparable(term):
    """A term, a number as its value: engines write the same number differently."""
    parsed = parse(canonical(term))
    if parsed.components is not None:
        return tuple(comparable(str(part)) for part in parsed.components)
    found = number(str(parsed))
    if found is None or parsed.value in {"NaN", "INF", "-INF"}:
        return str(parsed)
    return round(Decimal(parsed.value), _DIGITS).normalize() + 0
