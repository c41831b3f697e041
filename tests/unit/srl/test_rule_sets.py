"""Rule sets of SPARQL-RL: what they derive, from scratch and after insertions and deletions."""

from __future__ import annotations

import random
import re
from uuid import UUID

import pyoxigraph
import pytest
from rdflib import BNode, Graph, Literal, URIRef
from rdflib.term import Node

from streamreasoner import Reasoner, Term, Update
from streamreasoner.errors import ProgramError
from streamreasoner.facts import decode_facts
from streamreasoner.program.checked import check_source, check_text
from streamreasoner.program.edit import canonical_program, with_rules
from streamreasoner.program.sources import RULES
from streamreasoner.program.text import canonical_text

EX = "http://example.org/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
PREFIXES = f"PREFIX : <{EX}>\nPREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"

CASES = {
    "recursion": (
        "RULE { ?x :r ?y } WHERE { ?x :e ?y } RULE { ?x :r ?z } WHERE { ?x :r ?y . ?y :e ?z }",
        ":a :e :b . :b :e :c .",
        ":a :r :b, :c . :b :r :c .",
    ),
    "recursion through a path": (
        "RULE { ?x :e ?z } WHERE { ?x :e/^:f ?z }",
        ":a :e :b . :c :f :b .",
        ":a :e :c .",
    ),
    "data are derived, and rules read them": (
        "DATA { :a :e :b } RULE { ?y :f ?x } WHERE { ?x :e ?y }",
        "",
        ":a :e :b . :b :f :a .",
    ),
    "what the data has is not inferred": ("DATA { :a :e :b }", ":a :e :b .", ""),
    "WHERE DATA reads what is asserted alone": (
        "DATA { :a :e :b } RULE { ?x :seen true } WHERE DATA { ?x :e ?y NOT { ?x :f ?y } }",
        ":c :e :d .",
        ":a :e :b . :c :seen true .",
    ),
    "NOT DATA may negate what the rule derives": (
        "RULE { ?x :km ?k } WHERE { ?x :miles ?m NOT DATA { ?x :km ?y } SET(?k := ?m * 2) }",
        ":a :miles 1 . :b :miles 2 ; :km 3 .",
        ":a :km 2 .",
    ),
    "NOT of a conjunction with a local variable and a filter": (
        "RULE { ?x :alone true } WHERE { ?x :e ?y NOT { ?x :k ?z . ?z :age ?n FILTER(?n > 5) } }",
        ":a :e 1 ; :k :p . :p :age 7 . :b :e 1 ; :k :q . :q :age 3 .",
        ":b :alone true .",
    ),
    "NOT whose filter reads a variable of outside": (
        "RULE { ?x :best ?n } WHERE { ?x :n ?n NOT { ?y :n ?m FILTER(?m > ?n) } }",
        ":a :n 1 . :b :n 3 . :c :n 2 .",
        ":b :best 3 .",
    ),
    "NOT is about the variables before it": (
        "RULE { :x :found ?s } WHERE { NOT { ?s :q ?y } ?s :p ?o }",
        ":a :p 1 .",
        ":x :found :a .",
    ),
    "an empty NOT never holds": ("RULE { :x :found :y } WHERE { NOT { } }", "", ""),
    "an error of SET drops the solution": (
        "RULE { ?x :half ?h } WHERE { ?x :n ?n SET(?h := 1 / ?n) }",
        ":a :n 2 . :b :n 0 . :c :n 'x' .",
        ":a :half 0.5 .",
    ),
    "an error of FILTER does not keep it": (
        "RULE { ?x :ok true } WHERE { ?x :n ?n FILTER(1 / ?n) }",
        ":a :n 2 . :b :n 0 .",
        ":a :ok true .",
    ),
    "patterns join terms, also those that SET assigns": (
        "RULE { ?x :same true } WHERE { ?x :n ?n SET(?m := ?n + 0) ?x :o ?m }",
        ":a :n 1 ; :o 1 . :b :n 1 ; :o 1.0 .",
        ":a :same true .",
    ),
    "filters compare values": (
        "RULE { ?x :same true } WHERE { ?x :n ?n ; :o ?m FILTER(?n = ?m) }",
        ":a :n 1 ; :o 1.0 . :b :n 1 ; :o 2 .",
        ":a :same true .",
    ),
    "unequal terms of unknown datatypes are an error": (
        "RULE { ?x :differ true } WHERE { ?x :n ?n ; :o ?m FILTER(?n != ?m) }",
        ":a :n 1 ; :o 2 . :b :n 'x'^^:t ; :o 'y'^^:t .",
        ":a :differ true .",
    ),
    "blank nodes of a body are variables": (
        "RULE { ?s :q ?o } WHERE { ?s :p _:b . _:b :p ?o NOT { ?o :p _:b } }",
        ":a :p :b . :b :p :c . :c :p :d . :d :p :c .",
        ":a :q :c .",
    ),
    "heads make a node for each solution": (
        "RULE { ?x :has [ :of ?x ] } WHERE { ?x :p ?y }",
        ":a :p 1, 2 .",
        ":a :has [ :of :a ], [ :of :a ] .",
    ),
    "equal rules make nodes of their own": (
        "RULE { _:n :of ?x } WHERE { ?x :p 1 } RULE { _:n :of ?x } WHERE { ?x :p 1 }",
        ":a :p 1 .",
        "[] :of :a . [] :of :a .",
    ),
    "heads and bodies have collections": (
        "RULE { ?x :list (1 ?x) } WHERE DATA { ?x :of ( 2 ) }",
        ":a :of ( 2 ) .",
        ":a :list (1 :a) .",
    ),
    "a triple whose predicate is not an IRI is not derived": (
        "RULE { :x ?o :y . :x :kept ?o } WHERE { :a :p ?o }",
        ":a :p :q, 1 .",
        ":x :q :y ; :kept :q, 1 .",
    ),
}


def graph_of(turtle):
    """A graph of rdflib."""
    graph = Graph()
    graph.parse(data=f"@prefix : <{EX}> . {turtle}", format="turtle")
    return graph


def inferred(reasoner, base):
    """What is present and not asserted, as a graph."""
    graph = Graph()
    for triple in reasoner.facts("triple"):
        if triple not in base:
            nodes = (each if isinstance(each, Node) else Literal(each) for each in triple)
            graph.add(tuple(nodes))
    return graph


def reasoner_of(rules):
    """A reasoner for a rule set."""
    return Reasoner(check_source(PREFIXES + rules, "rules.srl"))


def rdf(graph):
    """Triples as rdflib has them in facts."""
    return [tuple(triple) for triple in graph]


@pytest.mark.parametrize(("rules", "data", "expected"), CASES.values(), ids=CASES)
def test_the_inference_graph_is_that_of_the_specification(rules, data, expected):
    """It has the triples of DATA and those that rules derive, without those of the base graph."""
    reasoner, base = reasoner_of(rules), rdf(graph_of(data))
    reasoner.apply([Update("triple", triple) for triple in base])

    found = inferred(reasoner, set(reasoner_facts(base)))
    assert found.isomorphic(graph_of(expected)), found.serialize(format="nt")


def reasoner_facts(triples):
    """The triples as a reasoner without rules has them."""
    plain = Reasoner(check_text(""))
    plain.apply([Update("triple", triple) for triple in triples])
    return [*plain.facts("triple")]


@pytest.mark.parametrize(("rules", "data"), [case[:2] for case in CASES.values()], ids=CASES)
def test_one_triple_at_a_time_is_evaluation_from_scratch(rules, data):
    """After each insertion and each deletion, all facts are those of a new reasoner."""
    reasoner, base = reasoner_of(rules), rdf(graph_of(data))
    order = random.Random(data)
    order.shuffle(base)
    steps = [(triple, 1) for triple in base]
    order.shuffle(base)
    steps += [(triple, -1) for triple in base]
    present = []
    for triple, multiplicity in steps:
        reasoner.apply([Update("triple", triple, multiplicity)])
        present = [*present, triple] if multiplicity > 0 else [t for t in present if t != triple]
        fresh = reasoner_of(rules)
        fresh.apply([Update("triple", each) for each in present])
        assert set(reasoner.facts("triple")) == set(fresh.facts("triple"))


def test_new_nodes_come_back_as_they_were():
    """A node that is derived again, or by the rule among others, is the same one."""
    rule = "RULE { ?x :has [] } WHERE { ?x :p ?y }"
    fact = Update("triple", rdf(graph_of(":a :p 1 ."))[0])
    one, other = reasoner_of(rule), reasoner_of(f"RULE {{ :x :y :z }} WHERE {{ }} {rule}")
    one.apply([fact])
    first = nodes(one)
    one.apply([Update("triple", fact.args, -1)])
    assert nodes(one) == set()
    one.apply([fact])
    other.apply([fact])

    assert nodes(one) == first == nodes(other) != set()


def test_names_are_those_of_a_solution_wherever_the_rule_stands():
    """BNODE, UUID and STRUUID give each solution its own, whatever is before them in the text."""
    rule = (
        'RULE { ?x :n ?b ; :m ?c ; :u ?u ; :v ?v } WHERE { ?x :p ?y SET(?b := BNODE("l"))'
        " SET(?c := BNODE()) SET(?u := UUID()) SET(?v := CONCAT(STRUUID(), STRUUID())) }"
    )
    one, other = reasoner_of(rule), reasoner_of(f"# A comment.\n{rule}")
    facts = [Update("triple", triple) for triple in rdf(graph_of(":a :p 1, 2 . :b :p 1 ."))]
    one.apply(facts)
    other.apply(facts)

    assert set(one.facts("triple")) == set(other.facts("triple"))
    assert len([*one.facts("triple")]) == 15
    for name in "nmuv":
        values = {fact[2] for fact in one.facts("triple") if fact[1] == URIRef(EX + name)}
        assert len(values) == 3
    uuids = [fact[2] for fact in one.facts("triple") if fact[1] == URIRef(f"{EX}u")]
    assert all(UUID(str(each)).version == 8 for each in uuids)
    texts = [str(fact[2]) for fact in one.facts("triple") if fact[1] == URIRef(f"{EX}v")]
    assert all(UUID(each[:36]) != UUID(each[36:]) for each in texts)


def nodes(reasoner):
    """The blank nodes that are objects."""
    return {triple[2] for triple in reasoner.facts("triple") if isinstance(triple[2], BNode)}


def test_a_rule_set_as_text_of_rules_is_the_same_program():
    """What `rules add` sends has the hash of the rule set."""
    for rules, _, _ in CASES.values():
        checked = check_source(PREFIXES + rules, "rules.srl")
        assert check_text(canonical_text(checked.programs)).hash == checked.hash


def test_imports_are_paths_or_rulesets(tmp_path):
    """A document is read once, however it is imported; a ruleset is named by its name."""
    other = tmp_path / "other.srl"
    other.write_text(f"{PREFIXES}IMPORTS <main.srl> RULE :o {{ ?x :b ?y }} WHERE {{ ?x :a ?y }}")
    main = tmp_path / "main.srl"
    iri = other.as_uri()
    main.write_text(f"IMPORTS <other.srl> IMPORTS <{iri}> IMPORTS <rho-df>")
    checked = check_source(main.read_text(), str(main))

    assert len(checked.programs) == 3
    assert [rule.name for rule in checked.rules if rule.name == f"{EX}o"] == [f"{EX}o"]


TRIPLE_TERMS = {
    "a pattern inside a triple term joins": (
        "RULE { ?s ?p ?o } WHERE { ?r rdf:reifies <<( ?s ?p ?o )>> ; :by ?w . ?w :is :trusted }",
        (
            ":r rdf:reifies <<( :a :p :b )>> ; :by :w . :q rdf:reifies <<( :a :p :c )>> ; :by :v ."
            " :w :is :trusted ."
        ),
        ":a :p :b .",
    ),
    "a reified triple and an annotation of a body": (
        "RULE { ?x :sure ?y } WHERE { ?x :p ?y ~ ?r {| :score ?n |} FILTER(?n > 1) }",
        ":a :p :b ~ :r {| :score 2 |} . :a :p :c {| :score 1 |} . << :a :p :d ~ :q >> :score 3 .",
        ":a :sure :b .",
    ),
    "annotations of a head are of a node for each solution": (
        "RULE { ?x :q ?y {| :from ?x |} } WHERE { ?x :p ?y }",
        ":a :p :b .",
        ":a :q :b {| :from :a |} .",
    ),
    "triple terms in triple terms": (
        "RULE { :x :says <<( ?x :says <<( ?y :p ?z )>> )>> } WHERE { ?x :said <<( ?y :p ?z )>> }",
        ":a :said <<( :b :p 1 )>>, <<( :b :q 1 )>> .",
        ":x :says <<( :a :says <<( :b :p 1 )>> )>> .",
    ),
    "NOT of a triple term, and a variable that it has twice": (
        "RULE { ?x :new true } WHERE { ?x :p ?y NOT { ?r rdf:reifies <<( ?x ?q ?x )>> } }",
        ":a :p 1 . :b :p 1 . :r rdf:reifies <<( :a :q :a )>>, <<( :b :q :a )>> .",
        ":b :new true .",
    ),
    "DATA has reifiers, and base directions": (
        (
            "DATA { :a :p 'x'@ar--rtl ~ :r {| :by :w |} } RULE { ?x :dir ?d }"
            " WHERE { ?x :p ?y SET(?d := LANGDIR(?y)) }"
        ),
        "",
        ":a :p 'x'@ar--rtl ~ :r {| :by :w |} ; :dir 'rtl' .",
    ),
    "functions of triple terms": (
        (
            "RULE { ?x :is ?s ; :made ?t } WHERE { ?x :of ?o FILTER(isTRIPLE(?o))"
            " SET(?s := SUBJECT(?o)) SET(?t := <<( ?s :of ?x )>>) }"
        ),
        ":a :of <<( :b :p :c )>>, :d .",
        ":a :is :b ; :made <<( :b :of :a )>> .",
    ),
    "a triple term that no triple makes is in no triple": (
        (
            "RULE { :x :made <<( ?y :p :z )>> ; :kept true } WHERE { ?x :p ?y }"
            " RULE { :x :never true } WHERE { ?x :q <<( 1 :p :z )>> }"
            " RULE { :x :ever true } WHERE { ?x :p ?y NOT { ?x :q <<( 1 :p :z )>> } }"
        ),
        ":a :p 1, :b .",
        ":x :made <<( :b :p :z )>> ; :kept true ; :ever true .",
    ),
    "what is inside a triple term tells dependencies apart": (
        (
            "RULE { :x :q <<( :a :p :c )>> } WHERE { :x :q <<( :a :p :b )>>"
            " NOT { :x :q <<( :a :p :d )>> } }"
        ),
        ":x :q <<( :a :p :b )>> .",
        ":x :q <<( :a :p :c )>> .",
    ),
}


def texts_of(turtle):
    """The triples of a graph of RDF 1.2."""
    prefixes = f"PREFIX : <{EX}> PREFIX rdf: <{RDF}> "
    quads = pyoxigraph.parse(prefixes + turtle, format=pyoxigraph.RdfFormat.TURTLE)
    return {tuple(map(text_of, (quad.subject, quad.predicate, quad.object))) for quad in quads}


def text_of(term):
    """A term as N-Triples has it."""
    if isinstance(term, pyoxigraph.Triple):
        return f"<<( {' '.join(map(text_of, term))} )>>"
    return str(term)


def present(reasoner):
    """The triples that are present, as texts."""
    facts = reasoner.session.engine.facts("triple")
    return {fact.arguments for fact in decode_facts("triple", facts, reasoner.session.dictionary)}


def without_labels(triples):
    """The triples with equal labels of blank nodes: each case has one node at the most."""
    return {tuple(re.sub(r"_:[\w.]*\w", "_:b", term) for term in triple) for triple in triples}


@pytest.mark.parametrize(("rules", "data", "expected"), TRIPLE_TERMS.values(), ids=TRIPLE_TERMS)
def test_triple_terms_are_matched_and_made(rules, data, expected):
    """From scratch, after each insertion, and after each deletion."""
    text = f"{PREFIXES}PREFIX rdf: <{RDF}> {rules}"
    base = sorted(texts_of(data))
    reasoner = Reasoner.from_rules(text, media_type="application/sparql-rl")
    reasoner.apply([])
    for triple in base:
        reasoner.apply([Update("triple", tuple(map(Term.parse, triple)))])
    found = present(reasoner) - set(base)
    assert without_labels(found) == without_labels(texts_of(expected))
    for count, triple in enumerate(base, start=1):
        reasoner.apply([Update("triple", tuple(map(Term.parse, triple)), -1)])
        fresh = Reasoner.from_rules(text, media_type="application/sparql-rl")
        fresh.apply([Update("triple", tuple(map(Term.parse, each))) for each in base[count:]])
        assert present(reasoner) == present(fresh)


def test_imported_rule_sets_are_stratified_as_one(tmp_path):
    """A cycle through two documents is refused, with the lines of both."""
    other, main = tmp_path / "other.srl", tmp_path / "main.srl"
    other.write_text(f"{PREFIXES}RULE {{ ?x :q ?n }} WHERE {{ ?x :p ?n }}")
    rule = "RULE { ?x :p ?n } WHERE { ?x :q ?m SET(?n := ?m + 1) }"
    main.write_text(f"{PREFIXES}IMPORTS <other.srl> {rule}")
    with pytest.raises(
        ProgramError, match=r"main.srl:3:.* SR304 .*\n.*\n.*\n.*line 3 of .*other.srl"
    ):
        Reasoner.from_rules(main)
    with pytest.raises(ProgramError, match="SR304"):
        Reasoner.from_rules(f'@import "{main}" . @import "{other}" .')
    main.write_text(f"{PREFIXES}IMPORTS <other.srl> {rule.replace('WHERE', 'WHERE DATA')}")
    Reasoner.from_rules(main)


INCREASED = "RULE { ?x :p ?n } WHERE { ?x :q ?m SET(?n := ?m + 1) }"
COPIED = "RULE { ?x :q ?n } WHERE { ?x :p ?n }"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (INCREASED, COPIED),
        (COPIED, INCREASED),
        ("RULE { ?x :p [] } WHERE { ?x :q ?m }", COPIED),
        ("RULE { ?x :p <<( ?x :r ?m )>> } WHERE { ?x :q ?m }", COPIED),
    ],
)
def test_added_rule_sets_are_stratified_with_the_program(first, second):
    """A cycle through a rule that runs once, also where rules are all that is left of the first."""
    first, second = (f"{PREFIXES}{text}" for text in (first, second))
    for program in (
        Reasoner.from_rules(first, **RULE_SET).program,
        canonical_program(check_source(first, "first.srl"), "program"),
    ):
        with pytest.raises(ProgramError, match=r"second.srl:3:.* SR304 with the rules of the prog"):
            with_rules(program, second, "second.srl")
        rules = canonical_text(check_source(second, "second.srl").programs)
        with pytest.raises(ProgramError, match=r"runs once: \[\?x, <"):
            with_rules(program, rules, "second.srl", RULES)
        # Rules of the rule language may recurse in this way.
        with_rules(program, rules, "second.dl")


POLICY = f"PREFIX : <{EX}> DATA {{ :a :p [] }} RULE :r {{ ?y :q ?x }} WHERE {{ ?x :p ?y }}"
RULE_SET = {"media_type": "application/sparql-rl; version=1.2"}


def test_a_text_is_a_rule_set_by_its_media_type_or_name():
    """As a program, added and removed; what is not a type of rules is refused by name."""
    whole = {*Reasoner.from_rules(POLICY, **RULE_SET).facts()}
    reasoner = Reasoner.from_rules("")
    reasoner.add_rules(POLICY, **RULE_SET)
    assert {*reasoner.facts()} == whole
    reasoner.remove_rules(POLICY, **RULE_SET)
    assert not {*reasoner.facts()}
    reasoner.add_rules(POLICY, "policy.srl")
    assert len({*reasoner.facts()}) == len(whole) == 2
    reasoner.remove_rules(POLICY, "policy.srl")
    assert not {*reasoner.facts()}
    with pytest.raises(ProgramError, match=r"not of the media type 'text/css', but text/plain"):
        Reasoner.from_rules(POLICY, media_type="text/css")
    with pytest.raises(ProgramError, match="if this is SPARQL-RL, let the name of its file end"):
        Reasoner.from_rules(POLICY)


def test_a_rule_set_is_removed_without_the_data_of_another():
    """What DATA is derived from belongs to its document."""
    reasoner = Reasoner.from_rules("")
    other = f"PREFIX : <{EX}> DATA {{ :b :q :c }}"
    reasoner.add_rules(POLICY, "policy.srl")
    reasoner.add_rules(other, "other.srl")
    reasoner.remove_rules(POLICY, "policy.srl")

    assert [*reasoner.facts()] == [(URIRef(EX + "b"), URIRef(EX + "q"), URIRef(EX + "c"))]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("IMPORTS <http://example.org/rules>", "SR270"),
        ("IMPORTS <missing.srl>", "SR222"),
        ('VERSION "1.1"', "SR270"),
        ("DATA { :a :b ?c }", "SR270"),
        ("RULE { :a :b/:c :d } WHERE { }", "SR270"),
        ("RULE { } WHERE { ?x :b* ?y }", "SR270"),
        ("RULE { } WHERE { ?x :b ?y FILTER EXISTS { ?x :c ?y } }", "SR270"),
        ("RULE { } WHERE { ?x :b ?y FILTER(bound(?x)) }", "SR270"),
        ("RULE { } WHERE { ?x :b ?y FILTER(count(?x) > 1) }", "SR270"),
        ("RULE { } WHERE { NOT { NOT { ?x :b ?y } } }", "SR270"),
        ("RULE { :x :y ?z } WHERE { NOT { ?x :b ?z } }", "SR271"),
        ("RULE { ?x ?x :b } WHERE { ?x :b ?y NOT { :a :a :b } }", "SR304"),
        ("RULE { ?x :b <<( ?x :c ?y )>> } WHERE { ?x :b ?y }", "SR304"),
        ("RULE { ?x :b <<( _:n :c :d )>> } WHERE { ?x :b <<( ?y :c :d )>> }", "SR304"),
        ("RULE { ?x :b <<( ?y :c ?x )>> } WHERE { ?y :b ?x . ?x :b <<( ?x :c ?y )>> }", "SR304"),
        ("DATA { :a :b <<( ?x :c :d )>> }", "SR270"),
        ("RULE { ?x :b/:c ?y ~ } WHERE { ?x :b ?y }", "SR270"),
        ("RULE { } WHERE { ?x :b 'x'@en--up }", "SR270"),
        ("RULE { ?x :at ?n } WHERE { ?x :b ?y SET(?n := NOW()) }", "SR272"),
        ("RULE { ?x :at ?n } WHERE { ?x :b ?y SET(?n := RAND()) }", "SR270"),
    ],
)
def test_what_is_refused_has_a_code(text, code):
    """What is not in the grammar, not well-formed, not stratified or not in a file is refused."""
    with pytest.raises(ProgramError) as caught:
        check_source(PREFIXES + text, "rules.srl")
    assert {item.code for item in caught.value.diagnostics} == {code}


@pytest.mark.parametrize(
    "text",
    [
        "",
        'VERSION "1.2" PREFIX x: <http://example.org/x> BASE <http://example.org/>',
        "rule :r { } where data { } data { } prefix y: <http://example.org/y>",
        "DATA { 1 :p (:a [ :b () ]) , [] ; a :C }",
        # No term has itself inside.
        "RULE { ?x :b <<( ?x :c :d )>> } WHERE { ?z :a ?x . ?y :b ?y }",
        "RULE { ?x :y $z } WHERE { $x :y/(^:w/a) ?z . FILTER(isIRI(?x)) . ?z :v 1 . }",
    ],
)
def test_what_the_specification_accepts(text):
    """Prologues stand anywhere, and keywords have any case."""
    check_source(PREFIXES + text, "rules.srl")


def test_nodes_are_made_at_sixteen_levels_and_refused_beyond():
    """Each level has its node; a rule set that may need more is refused before it loses one."""

    def rules(levels):
        return "\n".join(
            f"RULE {{ ?x :p{level} _:b }} WHERE {{ ?y :p{level - 1} ?x }}"
            for level in range(1, levels + 1)
        )

    reasoner = reasoner_of(rules(16))
    reasoner.apply([Update("triple", triple) for triple in rdf(graph_of(":a :p0 :b ."))])
    assert len([*reasoner.facts("triple")]) == 17
    with pytest.raises(
        ProgramError, match="SR272 the nodes that this rule makes may be of 17 levels"
    ):
        reasoner_of(rules(17))
    sets = " ".join(f"SET(?b{number} := BNODE())" for number in range(17))
    with pytest.raises(ProgramError, match="SR272 the nodes that this rule makes may be of 17"):
        reasoner_of(f"RULE {{ ?x :b ?b16 }} WHERE {{ ?x :p ?y {sets} }}")
