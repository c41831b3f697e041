"""Rule sets of SPARQL-RL as texts, and the specification's algorithm: naive, and by stratum.

It follows the sections *Stratification Condition*, *Evaluation of a Rule* and *Evaluation of a Rule
Set* on sets of triples. A rule is (head, body, whether it matches the base graph alone). A term of
a pattern is a term of RDF, a triple term, a variable such as `?x`, or a blank node such as `_:x`.
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from rdflib import BNode, Graph, Literal, URIRef
from rdflib.term import Node

EX = "http://example.org/"
PREFIX = f"PREFIX : <{EX}>\n"


class TripleTerm(NamedTuple):
    """`<<( s p o )>>`, with variables or without."""

    subject: object
    predicate: object
    object: object


NODES = [URIRef(EX + name) for name in "ab"]
TERMS = [*NODES, Literal(1), Literal(2), Literal("x")]
PREDICATES = [URIRef(EX + name) for name in "pqr"]
NAMES = ("?x", "?y", "?z")
GROUND = [TripleTerm(node, PREDICATES[0], value) for node in NODES for value in TERMS[1:3]]
"""Of these, random rule sets and their data are made."""


class NoValueError(Exception):
    """An expression has no value."""


def written(term):
    """A term as it is in a text."""
    if isinstance(term, TripleTerm):
        return f"<<( {' '.join(map(written, term))} )>>"
    if isinstance(term, str) and term[:1] in "?_" and not isinstance(term, Node):
        return term
    return term.n3()


def is_variable(term):
    """Whether a pattern binds it; a blank node is a variable that only patterns name."""
    return not isinstance(term, Node | TripleTerm)


def names_in(term):
    """The variables of a term."""
    if isinstance(term, TripleTerm):
        return {name for part in term for name in names_in(part)}
    return {term} if is_variable(term) else set()


def names_of(patterns):
    """The variables that patterns bind."""
    return {name for each in patterns for term in each for name in names_in(term)}


def text_of(rules, data):
    """The rule set as a text."""

    def triples(patterns):
        return " . ".join(" ".join(map(written, each)) for each in patterns)

    def element(each):
        match each:
            case "pattern", pattern:
                return f"{triples([pattern])} ."
            case "filter", form, operands:
                return f"FILTER({form.format(*map(written, operands))})"
            case "set", form, operand:
                return f"SET(?n := {form.format(operand)})"
            case "not", inner, tests, of_data:
                mark = "DATA " if of_data else ""
                return f"NOT {mark}{{ {triples(inner)} {' '.join(map(element, tests))} }}"
            case _:
                raise AssertionError(each)

    parts = [f"DATA {{ {triples([each])} }}" for each in sorted(data, key=str)]
    for head, body, of_data in rules:
        where = "WHERE DATA" if of_data else "WHERE"
        parts.append(f"RULE {{ {triples(head)} }} {where} {{ {' '.join(map(element, body))} }}")
    return PREFIX + "\n".join(parts)


def matches(pattern, graph, solution):
    """The solutions that extend one by a triple that matches."""
    for triple in graph:
        found = dict(solution)
        if all(agrees(term, value, found) for term, value in zip(pattern, triple, strict=True)):
            yield found


def agrees(term, value, found):
    """Whether a term of a pattern matches one of RDF; its variables are then known."""
    if is_variable(term):
        return found.setdefault(term, value) == value
    if isinstance(term, TripleTerm) and isinstance(value, TripleTerm):
        return all(agrees(left, right, found) for left, right in zip(term, value, strict=True))
    return type(term) is type(value) and term == value


def test_value(form, operands, solution):
    """Whether a condition is true; raises NoValueError if it is neither."""
    left, right = (solution[each] if is_variable(each) else each for each in operands)
    if form == "isIRI({})":
        return isinstance(left, URIRef)
    both = [left, right]
    numbers = [each.value for each in both if isinstance(each, Literal) and each.datatype]
    texts = [str(each) for each in both if isinstance(each, Literal) and not each.datatype]
    if form == "{} < {}":
        if len(numbers) == len(both):
            return numbers[0] < numbers[1]
        if len(texts) == len(both):
            return texts[0] < texts[1]
        raise NoValueError
    equal = left == right
    return equal if form == "{} = {}" else not equal


test_value.__test__ = False


def value(form, operand, solution):
    """The value of an assignment; raises NoValueError if it has none."""
    term = solution[operand]
    if form == "{}":
        return term
    if form == "STR({})":
        if isinstance(term, BNode | TripleTerm):
            raise NoValueError
        return Literal(str(term))
    if isinstance(term, Literal) and term.datatype:
        return Literal(term.value + 1)
    raise NoValueError


def holds(tests, solution):
    """Whether all conditions are true; one with an error is not."""
    try:
        return all(test_value(form, operands, solution) for _, form, operands in tests)
    except NoValueError:
        return False


def solutions(body, graph, base):
    """The solutions of a body, element by element."""
    found = [{}]
    for element in body:
        match element:
            case "pattern", pattern:
                found = [new for each in found for new in matches(pattern, graph, each)]
            case "filter", _, _:
                found = [each for each in found if holds([element], each)]
            case "set", form, operand:
                kept = []
                for each in found:
                    try:
                        kept.append({**each, "?n": value(form, operand, each)})
                    except NoValueError:
                        continue
                found = kept
            case "not", inner, tests, of_data:
                read = base if of_data else graph

                def absent(each, inner=inner, tests=tests, read=read):
                    ways = [each]
                    for pattern in inner:
                        ways = [new for way in ways for new in matches(pattern, read, way)]
                    return not any(holds(tests, way) for way in ways)

                found = [each for each in found if absent(each)]
    return found


def derived(rule_, graph, base):
    """The triples of one evaluation of a rule, with new nodes for each solution."""
    head, body, of_data = rule_
    for solution in {
        frozenset(each.items()) for each in solutions(body, base if of_data else graph, base)
    }:
        terms = {**dict(solution), "_:n": BNode()}
        for template in head:
            made = tuple(instance(each, terms) for each in template)
            if None not in made and isinstance(made[1], URIRef):
                yield made


def instance(term, terms):
    """A term of a head for a solution; None if it is a triple term that no triple makes."""
    if not isinstance(term, TripleTerm):
        return terms.get(term, term) if is_variable(term) else term
    made = TripleTerm(*(instance(part, terms) for part in term))
    return made if isinstance(made.subject, URIRef | BNode) and None not in made else None


def unify(pattern, template):
    """Whether a pattern can match what a template generates, repeated variables included."""
    links = {}
    return all(
        together(sided(left, "p"), sided(right, "t"), links)
        for left, right in zip(pattern, template, strict=True)
    )


def sided(term, side):
    """A term whose variables have a side; the new node of a template stands for itself."""
    if isinstance(term, TripleTerm):
        return TripleTerm(*(sided(part, side) for part in term))
    if not is_variable(term):
        return term
    return ("new", "") if (side, term) == ("t", "_:n") else (side, term)


def root(term, links):
    """What a variable stands for."""
    while is_free(term) and term in links:
        term = links[term]
    return term


def together(first, second, links):
    """Whether two terms can be one, with what variables stand for."""
    first, second = root(first, links), root(second, links)
    if first == second:
        return True
    if is_free(second) and not is_free(first):
        first, second = second, first
    if is_free(first):
        if has_inside(second, first, links):
            return False
        links[first] = second
        return True
    if not isinstance(first, TripleTerm) or not isinstance(second, TripleTerm):
        return False
    return all(together(left, right, links) for left, right in zip(first, second, strict=True))


def has_inside(term, free, links):
    """Whether a variable is a part of a triple term."""
    return isinstance(term, TripleTerm) and any(
        root(part, links) == free or has_inside(root(part, links), free, links) for part in term
    )


def is_free(term):
    """Whether it is a variable with its side."""
    return isinstance(term, tuple) and not isinstance(term, TripleTerm) and term[0] != "new"


def is_run_once(rule_):
    """Whether it assigns, or has new nodes in its head."""
    head, body, _ = rule_
    return (
        any(each[0] == "set" for each in body)
        or any("_:n" in each for each in head)
        or any(isinstance(term, TripleTerm) and names_in(term) for each in head for term in each)
    )


def needed(body, *, of_data):
    """The patterns of a body that match more than the base graph; whether they are in NOT."""
    for element in [] if of_data else body:
        match element:
            case "pattern", pattern:
                yield pattern, False
            case "not", inner, _, False:
                yield from ((pattern, True) for pattern in inner)


def strata(rules):
    """The number of each rule's stratum; None if the rules have no strata."""
    edges = [
        (number, other, negated or is_run_once(rules[number]))
        for number, (_, body, of_data) in enumerate(rules)
        for pattern, negated in needed(body, of_data=of_data)
        for other, (head, _, _) in enumerate(rules)
        if any(unify(pattern, template) for template in head)
    ]
    levels = [0] * len(rules)
    for _ in range(len(rules) + 1):
        before = list(levels)
        for number, other, closed in edges:
            levels[number] = max(levels[number], levels[other] + closed)
        if levels == before:
            return levels
    return None


def inference_graph(rules, data, base):
    """The triples of DATA and those that rules derive, without those of the base graph."""
    levels = strata(rules)
    graph = base | data
    for level in sorted(set(levels)):
        here = [each for each, at in zip(rules, levels, strict=True) if at == level]
        once = [
            triple for each in here if is_run_once(each) for triple in derived(each, graph, base)
        ]
        graph = graph | set(once)
        for _ in count():
            new = {t for each in here if not is_run_once(each) for t in derived(each, graph, base)}
            if new <= graph:
                break
            graph = graph | new
    return graph - base


def texts(triples):
    """Triples as texts; a new node of the algorithm has a label."""
    return {tuple(map(written, triple)) for triple in triples}


def rdf(triples):
    """A graph of rdflib for triples of texts: a term that is not a blank node is its text."""
    graph = Graph()
    for triple in triples:
        graph.add(tuple(BNode(e[2:]) if e.startswith("_:") else Literal(e) for e in triple))
    return graph
