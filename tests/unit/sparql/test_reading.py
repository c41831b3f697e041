"""What the text of a query means, and where it is wrong."""

from __future__ import annotations

import pytest
import rdflib

from streamreasoner.errors import ProgramError
from streamreasoner.sparql.algebra import (
    Alternative,
    Apply,
    BasicGraphPattern,
    Filter,
    Inverse,
    Negated,
    Repeat,
    TripleTerm,
    Union,
)
from streamreasoner.sparql.parse import parse_query

XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = "PREFIX : <http://e/>\n"


def pattern(text):
    """The pattern of a query for everything in braces."""
    return parse_query(f"{PREFIXES}SELECT * {{ {text} }}").select.pattern


def objects(text):
    """The objects of the triples in braces, as they are written in N-Triples."""
    return [each.object.term for each in pattern(text).triples]


def refused(text, **options):
    """The diagnostic of a query, and what it points to."""
    with pytest.raises(ProgramError) as caught:
        parse_query(text, **options)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "SR260"
    return diagnostic, text[diagnostic.span.start : diagnostic.span.end]


@pytest.mark.parametrize(
    ("text", "datatype"),
    [
        ("-1.6", "decimal"),
        ("-1e3", "double"),
        ("+1.5", "decimal"),
        ("+1", "integer"),
        ("-.5", "decimal"),
        ("-1.E-2", "double"),
        ("007", "integer"),
    ],
)
def test_numbers_keep_their_sign_and_form(text, datatype):
    """As objects, after a path, and in a list."""
    expected = f'"{text}"^^<{XSD}{datatype}>'
    assert objects(f"?s :p {text} . ?s :q {text}") == [expected, expected]
    assert expected in repr(pattern(f"?s :p (1 {text}) ; :q ?o"))
    assert expected in repr(pattern(f"VALUES ?x {{ {text} }}"))


def test_a_sign_after_an_operand_is_an_operator():
    """Whatever stands around it, and a product is of the number alone."""
    for text in ("?a-1", "?a -1", "?a - 1", "(?a)-1"):
        found = pattern(f"FILTER({text})").condition
        assert repr(found) == repr(pattern("FILTER(?a - 1)").condition)
    found = pattern("FILTER(?a -1*2+3 +4/5)").condition
    assert repr(found) == repr(pattern("FILTER(((?a - (1*2)) + 3) + (4/5))").condition)
    assert isinstance(pattern("FILTER(-?a)").condition, Apply)


@pytest.mark.parametrize(
    ("text", "iri"),
    [
        (r":a\~b", "http://e/a~b"),
        (r":\-a\.\#", "http://e/-a.#"),
        (":%41%3d", "http://e/%41%3d"),
        (":1:b.c", "http://e/1:b.c"),
        (":", "http://e/"),
        (r"<http://e/\u00E9\U0001F600>", "http://e/é😀"),
        ("<a>", "http://b/c/a"),
        (r"<\u0023x>", "http://b/c/d#x"),
        ("<>", "http://b/c/d"),
        ("<#x>", "http://b/c/d#x"),
    ],
)
def test_names_of_iris(text, iri):
    """Escapes are undone, percent-encoding stays, and relative ones are resolved."""
    query = parse_query(f"{PREFIXES}SELECT * {{ ?s ?p {text}. }}", base="http://b/c/d")
    (triple,) = query.select.pattern.triples
    assert triple.object.term == f"<{iri}>"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"it\'s \"so\""', r"it's \"so\""),
        (r"'\t\\n'", r"\t\\n"),
        ("'''a'b''c'''", "a'b''c"),
        (r'"\u0022\u005Cn"', r"\"\\n"),
        ('"""a\r\n"b"""', r"a\r\n\"b"),
        ('"#no comment"', "#no comment"),
    ],
)
def test_strings(text, value):
    """Escapes of all kinds, in quotation marks of all kinds."""
    assert objects(f"?s ?p {text}") == [f'"{value}"']


def test_prefixes_and_bases_are_read_in_order():
    """A prefix may be declared again, and each base resolves against the one before."""
    text = "base <http://a/> Prefix : <x/> BASE <b/> PREFIX y: <c> PREFIX : <d#> ASK {:p y:q <e>}"
    query = parse_query(text)
    assert query.prefixes == (("", "http://a/b/d#"), ("y", "http://a/b/c"))
    (triple,) = query.select.pattern.triples
    terms = [each.term for each in (triple.subject, triple.predicate, triple.object)]
    assert terms == ["<http://a/b/d#p>", "<http://a/b/cq>", "<http://a/b/e>"]


def test_a_byte_order_mark_is_white_space():
    """And neither it nor CR ends a line."""
    text = "\ufeffSELECT * # x }\rWHERE { ?a ?b <urn:c> . ?x ?y oops"
    diagnostic, found = refused(text)
    assert (found, diagnostic.span.line) == ("oops", 1)
    query = parse_query(text.replace("?x ?y oops", "}"))
    assert [each.name for each in query.select.variables] == ["a", "b"]


@pytest.mark.parametrize(
    "text", [r"\u0041SK {}", r"ASK { ?\u0061 ?b ?c }", r"ASK { ?a ?b ex:\u0061 }"]
)
def test_codepoint_escapes_stand_in_strings_and_iris_only(text):
    """As SPARQL 1.2 says; what they stand for is not read again."""
    diagnostic, found = refused(f"PREFIX ex: <urn:x:> {text}")
    assert found in {"\\", "?"}
    assert "in strings and in IRIs only" in diagnostic.help


def test_keywords_are_read_in_any_case_but_a():
    """And `a` is a predicate only."""
    upper = (
        "SELECT DISTINCT ?x WHERE { ?x a ?y FILTER NOT EXISTS { ?x ?z TRUE } } ORDER BY DESC(?x)"
    )
    lower = upper.replace("SELECT DISTINCT", "select distinct").replace("FILTER", "Filter")
    lower = lower.replace("NOT EXISTS", "not exists").replace("TRUE", "true")
    lower = lower.replace("WHERE", "where").replace("ORDER BY DESC", "order by desc")
    assert parse_query(upper) == parse_query(lower)
    assert refused("ASK { ?x A ?y }")[1] == "A"


def test_a_pattern_of_having_names_what_it_likes():
    """EXISTS looks for any match of the group's keys."""
    query = parse_query("SELECT ?s { ?s ?p ?o } GROUP BY ?s HAVING(EXISTS { ?s ?q 1 })")
    assert isinstance(query.select.pattern, Filter)


def test_an_empty_template_constructs_nothing():
    """And the short form has the pattern as its template."""
    assert parse_query("CONSTRUCT {} WHERE { ?s ?p ?o }").template == ()
    assert parse_query("CONSTRUCT WHERE {}").template == ()
    short = parse_query("CONSTRUCT WHERE { ?s ?p ?o . ?o ?q _:b }")
    assert short.template == short.select.pattern.triples
    assert parse_query("CONSTRUCT WHERE { _:a ?p ?o }").blank_nodes == {"blank.1"}


def test_a_describe_has_the_variables_that_it_names():
    """Or all of them with `*`."""
    query = parse_query("DESCRIBE ?x <urn:a> { ?x ?p ?o }")
    assert [each.name for each in query.select.variables] == ["x"]
    assert [each.term for each in query.described] == ["<urn:a>"]
    assert len(parse_query("DESCRIBE * { ?x ?p ?o }").select.variables) == 3
    assert parse_query("DESCRIBE <urn:a>").select.variables == ()


def test_objects_after_a_node_in_brackets_have_the_same_subject():
    """A list of objects belongs to the subject before it."""
    triples = pattern("?x :p [ :q 1 ], 2 .").triples
    assert [each.subject.name for each in triples] == ["x", "blank.1", "x"]


def test_paths():
    """A negated property set of both directions is two of them (section 18.2.2.3)."""
    (triple,) = pattern("?s !(:p|^:q|^a) ?o").triples
    match triple.predicate:
        case Alternative((Negated((p,)), Inverse(Negated((q, rdf_type))))):
            assert [p.term, q.term] == ["<http://e/p>", "<http://e/q>"]
            assert rdf_type.term.endswith("#type>")
        case other:
            pytest.fail(repr(other))
    (triple,) = pattern("?s ^(:p/:q)* ?o").triples
    assert isinstance(triple.predicate, Inverse)
    assert isinstance(triple.predicate.path, Repeat)
    (triple,) = pattern("?s !() ?o").triples
    assert triple.predicate == Negated(())


def test_long_queries_are_read():
    """Lists of any length are not nesting."""
    triples = " . ".join(f"?x{number} :p ?x{number + 1}" for number in range(10_000))
    assert len(pattern(triples).triples) == 10_000
    names = ", ".join(f":a{number}" for number in range(10_000))
    assert len(pattern(f"?s ?p ?o FILTER(?s IN ({names}))").condition.arguments) == 10_001
    rows = " ".join(f"({number} UNDEF)" for number in range(2_000))
    assert len(pattern(f"VALUES (?x ?y) {{ {rows} }}").rows) == 2_000
    for operator in ("||", "&&"):
        tests = f" {operator} ".join(f"?x = {number}" for number in range(2_000))
        assert isinstance(pattern(f"FILTER({tests})"), Filter)
    assert isinstance(pattern(" UNION ".join(["{ ?s ?p ?o }"] * 2_000)), Union)
    assert pattern(f"FILTER({'(' * 2_000}?x{')' * 2_000})").condition.name == "x"
    path = "/".join([":p"] * 2_000)
    assert len(pattern(f"?x {path} ?y").triples[0].predicate.steps) == 2_000


@pytest.mark.parametrize(
    "text",
    [
        f"{'{' * 200}{'}' * 200}",
        "{ SELECT * " * 200 + "{}" + "}" * 200,
        f"FILTER({'!' * 200}?x)",
        f"FILTER({'+'.join(['?x'] * 200)})",
        f"FILTER({'-'.join(['1'] * 200)})",
        f"FILTER({'*'.join(['?x'] * 200)})",
        f"FILTER({'abs(' * 200}?x{')' * 200})",
        f"FILTER{' EXISTS { FILTER' * 200}(?x){'}' * 200}",
        f"?x {'(' * 200}:p{')*' * 200} ?y",
        "OPTIONAL { ?x ?y ?z }" * 200,
        "OPTIONAL { ?x ?y ?z " * 200 + "}" * 200,
        "MINUS { ?x ?y ?z }" * 200,
        "".join(f"BIND(1 AS ?x{number})" for number in range(200)),
        "GRAPH ?g { ?x ?y ?z }" * 200,
        f"?x ?y {'[ :p ' * 200}1{' ]' * 200}",
        f"?x ?y {'( ' * 200}1{' )' * 200}",
        f"?x ?y {'<< :s :p ' * 200}1{' >>' * 200}",
        f"{'<< ' * 200}:s :p 1{' >> :p 1' * 200}",
        f"?x ?y 1 {'{| :p 1 ' * 200}{'|}' * 200}",
        f"?x ?y {'<<( :s :p ' * 200}1{' )>>' * 200}",
    ],
)
def test_what_is_nested_too_deeply_is_refused(text):
    """At its place, whatever nests."""
    diagnostic, _ = refused(f"{PREFIXES}SELECT * {{ {text} }}")
    assert "nested more than 100 deep" in diagnostic.message
    assert diagnostic.span.start > len(PREFIXES)


REFUSED = {
    # text: what the diagnostic points to, a part of the message, a part of the hint
    "SELECT * WHERE { ?s ?p ": ("p", "the text ends here", ""),
    "SELECT * WHERE { ?s ?p ?o": ("o", "the text ends here", "close the group"),
    "": ("", "the text ends here", "a query is"),
    "PREFIX : <urn:a>": (">", "the text ends here", "a query is"),
    r"ASK { ?s ?p <urn:\u005Cu0041> }": (r"<urn:\u005Cu0041>", "cannot contain", ""),
    'ASK { ?s ?p "x }': ('"', 'no closing `"` on this line', '"""'),
    "ASK { ?s ?p '''x' }": ("'''", "no closing `'''`", ""),
    r'ASK { ?s ?p "\d" }': (r"\d", "is not a character", r"\t"),
    "ASK { ?s ?p <urn:a }": ("<urn:a ", "cannot contain the character ' '", "%20"),
    "ASK { ?s ?p <urn:a": ("<urn:a", "no closing `>`", ""),
    "ASK { ?s ?p <a> }": ("<a>", "relative, without a base", "BASE"),
    "ASK { ?s :p ?o }": (":p", "prefix `:` is not declared", "PREFIX"),
    "PREIFX ex: <urn:a> ASK {}": ("PREIFX", "not SPARQL", "did you mean PREFIX?"),
    "selec ?x {}": ("selec", "expected a query", "did you mean SELECT?"),
    "ASK { ?s name ?o }": ("name", "expected a predicate", ""),
    "PREFIX ex <urn:a> ASK {}": ("ex", "expected a prefix", ""),
    "@prefix ex: <urn:a> . ASK {}": ("@prefix", "not SPARQL", "PREFIX ex:"),
    "SELECT ?a, ?b {}": (",", "not SPARQL", "no commas"),
    "SELECT COUNT(*) {}": ("COUNT", "not SPARQL", "(COUNT(*) AS ?n)"),
    "SELECT (COUNT(*)) {}": (")", "expected `AS`", "(COUNT(*) AS ?n)"),
    "ASK { ?s ?p ?o FILTER ?o > 1 }": ("?o", "not SPARQL", "in parentheses"),
    "ASK { ?s ?p ?o FILTER(?o == 1) }": ("==", "not SPARQL", "written `=`"),
    "ASK { ?s ?p ?o FILTER(?o <> 1) }": ("<>", "not SPARQL", "`!=`"),
    "ASK { ?s ?p ?o FILTER(?s<?o&&?o>1) }": ("<?o&&?o>", "expected an operator", "blank"),
    "ASK { ?s ?p ?o FILTER(?o > 1 and ?o < 2) }": ("and", "not SPARQL", "`&&`"),
    "ASK { ?s ?p ?o NOT EXISTS { ?o ?p ?s } }": ("NOT", "not SPARQL", "FILTER NOT EXISTS"),
    "ASK { ?s ?p ?o UNION { ?o ?p ?s } }": ("UNION", "not SPARQL", "each side has braces"),
    "ASK { ?s ?p ?o ?o ?p ?s }": ("?o", "not SPARQL", "with a dot"),
    "ASK { <<( ?s ?p ?o )>> . }": (".", "expected a predicate", "says nothing"),
    "ASK { <<( ?s ?p (1) )>> ?q ?z }": ("(", "not SPARQL", "in a triple term"),
    "ASK { << ?s [] ?o >> ?q ?z }": ("[", "not SPARQL", "in a triple term"),
    "ASK { ?s ?p ?o BIND(<< ?s ?p ?o >> AS ?t) }": ("<<", "not SPARQL", "`<<( ?s ?p ?o )>>`"),
    "ASK { ?s ?p/?q ?o {| ?x ?y |} }": ("/", "not SPARQL", ""),
    "ASK { ?s <urn:p>* ?o ~ ?r }": ("<urn:p>* ?o ~ ?r", "property path", "one predicate"),
    'ASK { ?s ?p "a"@en--up }': ('"a"@en--up', "ltr or rtl", ""),
    "VERSION 1.2 ASK {}": ("1.2", "expected a string", ""),
    "VERSION '''1.2''' ASK {}": ("VERSION '''1.2'''", "one quotation mark", '"1.2"'),
    'VERSION "1.3" ASK {}': ('VERSION "1.3"', "unknown", '"1.2"'),
    "DEFINE sql:x 1 ASK {}": ("DEFINE", "not SPARQL", "leave it out"),
    "CONSTRUCT { GRAPH ?g {?s ?p ?o} } {?s ?p ?o}": ("GRAPH", "not SPARQL", "without graphs"),
    "ASK { INCLUDE %x }": ("INCLUDE", "not SPARQL", "in place"),
    "ASK { LATERAL { SELECT * {} } }": ("LATERAL", "not SPARQL", "sub-query"),
    "ASK { ?s <urn:p>{2} ?o }": ("{", "not SPARQL", "write out the steps"),
    "SELECT ?x { ?x ?p ?o } LIMIT 1 ORDER BY ?x": ("ORDER", "not SPARQL", "the order is"),
    "SELECT ?x { ?x ?p ?o } ORDER ?x": ("?x", "expected `BY`", ""),
    "SELECT ?x { ?x ?p ?o } LIMIT 1.5": ("1.5", "LIMIT takes a whole number", ""),
    "SELECT ?x { ?x ?p ?o } LIMIT -1": ("-1", "not SPARQL", ""),
    "REGISTER RSTREAM <urn:out> AS SELECT * {}": ("REGISTER", "not SPARQL", "REGISTER … AS"),
    "ASK { ?s ?p ?o FILTER(foo(?o)) }": ("foo", "`foo` is not a function of SPARQL 1.2", "FLOOR"),
    "ASK { ?s ?p ?o FILTER(isTRIPLE(?o, 1)) }": ("isTRIPLE", "takes 1 argument, not 2", ""),
    "ASK { ?s ?p ?o FILTER(STRLEN(?o, 1) > 1) }": ("STRLEN", "takes 1 argument, not 2", ""),
    "ASK { ?s ?p ?o FILTER(REGEX(?o)) }": ("REGEX", "takes 2 to 3 arguments, not 1", ""),
    "ASK { ?s ?p ?o FILTER(BOUND(1)) }": ("BOUND", "takes a variable", ""),
    "ASK { ?s ?p ?o FILTER(STR(DISTINCT ?o)) }": ("STR", "is not an aggregate", ""),
    "SELECT (SUM(*) AS ?n) {}": ("SUM", "SUM has no `*`", ""),
    "SELECT (SUM(COUNT(?o)) AS ?n) {?s ?p ?o}": ("COUNT", "in another aggregate", "sub-query"),
    "ASK { ?s ?p ?o FILTER(COUNT(?o) > 1) }": ("COUNT", "HAVING", "sub-query"),
    "SELECT ?s {?s ?p ?o} GROUP BY (COUNT(?o))": ("COUNT", "HAVING", "sub-query"),
    "SELECT ?o {?s ?p ?o} GROUP BY ?s": ("?o", "neither grouped nor aggregated", "GROUP BY ?o"),
    "SELECT (STR(?o) AS ?t) {?s ?p ?o} GROUP BY ?s": ("?o", "neither grouped", "GROUP BY ?o"),
    "SELECT * {?s ?p ?o} GROUP BY ?s": ("GROUP", "SELECT * has no GROUP BY", "name"),
    "ASK { ?s ?p ?o BIND(1 AS ?o) }": ("?o", "?o is bound already", "a name of its own"),
    "SELECT (1 AS ?o) {?s ?p ?o}": ("?o", "?o is bound already", "a name of its own"),
    "SELECT (1 AS ?x) ?x {}": ("?x", "?x is twice in SELECT", "a name of its own"),
    "ASK { VALUES (?x ?x) {} }": ("?x", "?x is twice in VALUES", ""),
    "ASK { VALUES (?x ?y) { (1 2) (1) } }": ("(1)", "1 value for 2 variables", "UNDEF"),
    "CONSTRUCT { ?s <urn:p>* ?o } WHERE { ?s ?p ?o }": ("?s <urn:p>* ?o", "property path", ""),
    "INSERT DATA { <urn:a> <urn:b> 1 }": ("INSERT", "this is an update", "Reasoner.update"),
    "ASK { _:a ?p ?o OPTIONAL { _:a ?q ?o } }": ("_:a", "in two graph patterns", "variable"),
    "ASK { ?s ?p ?o FILTER(?o = 1": ("1", "the text ends here", ""),
    "SELECT (GROUP_CONCAT(?o, ' ') AS ?t) {?s ?p ?o}": ("GROUP_CONCAT", "not 2", "SEPARATOR"),
    "SELECT ?s {?s ?p ?o} GROUP BY ?s HAVING(?o > 1)": ("?o", "neither grouped", "GROUP BY ?o"),
    "SELECT ?s AS ?t {?s ?p ?o}": ("AS", "not SPARQL", "(?x AS ?y)"),
    "SELECT ?s {?s ?p ?o} ORDER BY -?o": ("-", "not SPARQL", "in parentheses"),
    "ASK { ?s ?p 'it''s' }": ("'s'", "not SPARQL", r"\'"),
    "ASK { ?s rdfs:label ?o }": ("rdfs:label", "not declared", "<http://www.w3.org/2000/01/rdf-"),
    "ASK { <urn:a>%GG ?p ?o }": ("%", "expected a predicate", ""),
    "ASK {} x": ("x", "not SPARQL", ""),
}


@pytest.mark.parametrize("text", REFUSED)
def test_mistakes_are_named_at_their_place(text):
    """With what to write instead."""
    place, message, hint = REFUSED[text]
    diagnostic, found = refused(text)
    assert (found, diagnostic.message) == (place, diagnostic.message)
    assert message in diagnostic.message
    assert hint in (diagnostic.help or "")
    assert "mean NAME" not in (diagnostic.help or "")


PATTERNS = {
    "_:a ?p ?v FILTER(?v > 1) _:a ?q 1": True,
    "_:a ?p ?v . _:a ?q 1": True,
    "_:a ?p ?v OPTIONAL { ?x ?y ?z } _:a ?q 1": False,
    "_:a ?p ?v BIND(1 AS ?w) _:a ?q 1": False,
    "_:a ?p ?v { _:a ?q 1 }": False,
    "{ _:a ?p ?v } _:a ?q 1": False,
    "{ _:a ?p ?v } UNION { _:a ?q 1 }": False,
    "GRAPH ?g { _:a ?p ?v } GRAPH ?g { _:a ?q 1 }": False,
    "_:a ?p ?v MINUS { _:a ?q 1 }": False,
    "_:a ?p ?v FILTER EXISTS { _:a ?q 1 }": False,
    "_:a ?p ?v { SELECT * { _:a ?q 1 } }": False,
    "_:a ?p ?v VALUES ?x { 1 } _:a ?q 1": False,
}


@pytest.mark.parametrize("text", PATTERNS)
def test_a_label_is_of_one_basic_graph_pattern(text):
    """FILTER alone does not end one (section 5.1.1); the later place is named."""
    query = f"ASK {{ {text} }}"
    if PATTERNS[text]:
        assert isinstance(parse_query(query).select.pattern, BasicGraphPattern | Filter)
    else:
        diagnostic, found = refused(query)
        assert found == "_:a"
        assert diagnostic.span.start == query.rindex("_:a")


def test_no_setting_of_another_library_changes():
    """Others may use rdflib at the same time."""
    before = rdflib.NORMALIZE_LITERALS
    parse_query("ASK { ?s ?p 01 }")
    assert rdflib.NORMALIZE_LITERALS is before
    assert str(rdflib.Literal("01", datatype=rdflib.XSD.integer)) == "1"


EXPANSIONS = {
    # what is written: the triples that it stands for
    "<< ?s ex:p ?o >> ex:q 1": "_:r rdf:reifies <<( ?s ex:p ?o )>> . _:r ex:q 1",
    "<< ?s ex:p ?o ~ ?r >>": "?r rdf:reifies <<( ?s ex:p ?o )>>",
    "<< ?s ex:p ?o ~ >>": "_:r rdf:reifies <<( ?s ex:p ?o )>>",
    "?s ex:p ?o ~ ex:r": "?s ex:p ?o . ex:r rdf:reifies <<( ?s ex:p ?o )>>",
    "?s ex:p ?o {| ex:q 1 |}": "?s ex:p ?o . _:r rdf:reifies <<( ?s ex:p ?o )>> . _:r ex:q 1",
    "?s ?p ?o ~ ?r {| ex:q 1 |}": "?s ?p ?o . ?r rdf:reifies <<( ?s ?p ?o )>> . ?r ex:q 1",
    "?s ?p 1 ~ ?a {| ex:q 1 |} {| ex:q 2 |} ~ ?b , 2": (
        "?s ?p 1 . ?a rdf:reifies <<( ?s ?p 1 )>> . ?a ex:q 1 . "
        "_:r rdf:reifies <<( ?s ?p 1 )>> . _:r ex:q 2 . ?b rdf:reifies <<( ?s ?p 1 )>> . ?s ?p 2"
    ),
    "<< << ?s a ?o >> ex:q [] >> ex:n <<( _:x ex:p <<( ex:a a 'x'@en--ltr )>> )>>": (
        "_:r rdf:reifies <<( _:i ex:q _:n )>> . _:i rdf:reifies <<( ?s a ?o )>> . "
        "_:r ex:n <<( _:x ex:p <<( ex:a a 'x'@en--ltr )>> )>>"
    ),
    "?s ?p << ?a ?b ?c ~ ?r >> {| ex:q ?z |}": (
        "?s ?p ?r . ?r rdf:reifies <<( ?a ?b ?c )>> . _:x rdf:reifies <<( ?s ?p ?r )>> . "
        "_:x ex:q ?z"
    ),
}


@pytest.mark.parametrize("written", EXPANSIONS)
def test_reifiers_and_annotations_stand_for_triples(written):
    """Of SPARQL 1.2, section 4.1; a node without a name is a blank node."""
    prefixes = "PREFIX ex: <urn:x:> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
    found, expected = (
        parse_query(f"{prefixes} SELECT * {{ {text} . }}")
        for text in (written, EXPANSIONS[written])
    )
    assert renumbered(found) == renumbered(expected)
    assert found.select.variables == expected.select.variables


def renumbered(query):
    """Its triples, with blank nodes numbered by the first triple that they are in."""
    numbers = {}
    triples = []
    for triple in query.select.pattern.triples:
        text = str(triple)
        for name in sorted(query.blank_nodes, key=text.find):
            if f"'{name}'" in text:
                numbers.setdefault(name, f"node {len(numbers)}")
                text = text.replace(f"'{name}'", f"'{numbers[name]}'")
        triples.append(text)
    return triples


def test_a_triple_term_without_variables_is_a_constant():
    """Unless no triple of RDF is so: such a one matches nothing, and is taken apart."""
    (first, second) = parse_query(
        'ASK { ?s ?p <<( <urn:a> a "x" )>> , <<( "x" a <urn:a> )>> }'
    ).select.pattern.triples
    assert first.object.term == (
        '<<( <urn:a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "x" )>>'
    )
    assert isinstance(second.object, TripleTerm)
