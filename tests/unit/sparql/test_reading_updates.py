"""What the text of an update means, and where it is wrong."""

from __future__ import annotations

import pytest

from streamreasoner.errors import ProgramError, TermError
from streamreasoner.lang.ast import Constant, Variable
from streamreasoner.sparql.algebra import BasicGraphPattern, Graph, Join
from streamreasoner.sparql.parse import parse_query, parse_update
from streamreasoner.sparql.update import (
    Clear,
    Create,
    DeleteData,
    Graphs,
    InsertData,
    Load,
    Modify,
    Transfer,
)

PREFIXES = "PREFIX : <http://e/>\n"


def operations(text):
    """The operations of a request."""
    return parse_update(PREFIXES + text).operations


def iri(name):
    """A constant of the prefix, or None."""
    return None if name is None else Constant(f"<http://e/{name}>", None)


def shown(quads):
    """Quads as texts."""
    return [
        tuple(
            None if each is None else each.term if isinstance(each, Constant) else f"?{each.name}"
            for each in (quad.subject, quad.predicate, quad.object, quad.graph)
        )
        for quad in quads
    ]


def test_data_are_quads():
    """Of the default graph and of named ones, with new blank nodes in what is inserted."""
    insert, delete = operations(
        "INSERT DATA { :a :p 1, _:b . GRAPH :g { _:b :q [] } :c :p -1 } ;"
        "DELETE DATA { GRAPH :g { :a :p (), 'x'@EN } }"
    )
    assert isinstance(insert, InsertData)
    integer = "^^<http://www.w3.org/2001/XMLSchema#integer>"
    assert shown(insert.quads) == [
        ("<http://e/a>", "<http://e/p>", f'"1"{integer}', None),
        ("<http://e/a>", "<http://e/p>", "?blank.1", None),
        ("?blank.1", "<http://e/q>", "?blank.2", "<http://e/g>"),
        ("<http://e/c>", "<http://e/p>", f'"-1"{integer}', None),
    ]
    assert isinstance(delete, DeleteData)
    nil = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#nil>"
    assert shown(delete.quads) == [
        ("<http://e/a>", "<http://e/p>", nil, "<http://e/g>"),
        ("<http://e/a>", "<http://e/p>", '"x"@en', "<http://e/g>"),
    ]


def test_templates_and_their_pattern():
    """WITH, USING, and what is deleted and inserted, for the solutions of WHERE."""
    (found,) = operations(
        "WITH :w DELETE { ?s :p ?o } INSERT { GRAPH ?g { ?s :q _:b } }"
        " USING :u USING NAMED :n USING NAMED :m WHERE { ?s :p ?o GRAPH ?g { ?o :r ?z } }"
    )
    assert isinstance(found, Modify)
    assert shown(found.delete) == [("?s", "<http://e/p>", "?o", None)]
    assert shown(found.insert) == [("?s", "<http://e/q>", "?blank.1", "?g")]
    assert (found.graph, found.using, found.using_named) == (
        iri("w"),
        (iri("u"),),
        (iri("n"), iri("m")),
    )
    assert [each.name for each in found.select.variables] == ["s", "o", "g", "z"]


def test_delete_where_is_a_pattern_and_its_template():
    """In each graph by itself."""
    (short,) = operations("DELETE WHERE { ?s :p ?o GRAPH ?g { ?s ?q 1 } GRAPH :h { ?s ?q 2 } }")
    (long,) = operations(
        "DELETE { ?s :p ?o GRAPH ?g { ?s ?q 1 } GRAPH :h { ?s ?q 2 } }"
        " WHERE { ?s :p ?o GRAPH ?g { ?s ?q 1 } GRAPH :h { ?s ?q 2 } }"
    )
    assert short == long
    match short.select.pattern:
        case Join(Join(BasicGraphPattern(), Graph(Variable("g"))), Graph(Constant())):
            pass
        case other:
            pytest.fail(repr(other))


@pytest.mark.parametrize("silent", ["", "SILENT "])
def test_operations_on_graphs(silent):
    """Each form, with SILENT and without."""
    quiet = bool(silent)
    expected = {
        "LOAD {}:f": Load(iri("f"), None, quiet, None),
        "LOAD {}:f INTO GRAPH :g": Load(iri("f"), iri("g"), quiet, None),
        "CLEAR {}GRAPH :g": Clear("CLEAR", iri("g"), quiet, None),
        "clear {}default": Clear("CLEAR", Graphs.DEFAULT, quiet, None),
        "DROP {}NAMED": Clear("DROP", Graphs.NAMED, quiet, None),
        "DROP {}ALL": Clear("DROP", Graphs.ALL, quiet, None),
        "CREATE {}GRAPH :g": Create(iri("g"), quiet, None),
        "ADD {}:a TO GRAPH :b": Transfer("ADD", iri("a"), iri("b"), quiet, None),
        "MOVE {}DEFAULT TO :b": Transfer("MOVE", None, iri("b"), quiet, None),
        "COPY {}GRAPH :a TO DEFAULT": Transfer("COPY", iri("a"), None, quiet, None),
    }
    for text, operation in expected.items():
        assert operations(text.format(silent)) == (operation,)
    assert len(operations(" ; ".join(each.format(silent) for each in expected))) == len(expected)


def test_a_request_is_a_sequence():
    """Each operation may have declarations before it, and the last semicolon may be missing."""
    assert operations("") == ()
    first, second = operations("CREATE GRAPH :g ; PREFIX : <urn:> BASE <tag:x> CREATE GRAPH :g;")
    assert (first.graph.term, second.graph.term) == ("<http://e/g>", "<urn:g>")
    assert parse_update("CLEAR GRAPH <#a>", base="urn:b").operations[0].graphs.term == "<urn:b#a>"


REFUSED = {
    "INSERT DATA { ?x :p 1 }": ("?x", "a variable in INSERT DATA"),
    "INSERT DATA { GRAPH ?g { :a :p 1 } }": ("?g", "a variable in INSERT DATA"),
    "INSERT DATA { :a :p/:q 1 }": (":a :p/:q 1", "property path"),
    "DELETE DATA { :a :p _:b }": ("_:b", "a blank node in DELETE DATA"),
    "DELETE WHERE { :a :p [] }": ("[]", "a blank node in DELETE WHERE"),
    "DELETE { ?x :p (1) } WHERE { ?x :p ?y }": ("(1)", "a blank node in DELETE"),
    "INSERT DATA { _:b :p 1 } ; INSERT DATA { _:b :p 1 }": ("_:b", "two graph patterns"),
    "INSERT DATA { GRAPH :g { GRAPH :h { :a :p 1 } } }": ("GRAPH", "not SPARQL"),
    "INSERT { :a :p 1 }": ("}", "the text ends here"),
    "CREATE GRAPH :g CREATE GRAPH :h": ("CREATE", "not SPARQL"),
    "SELECT * { ?s ?p ?o }": ("SELECT", "this is a query"),
    "INSERT DATA { :a :p ?x": ("x", "the text ends here"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_mistakes_are_named_at_their_place(text):
    """Of what an operation cannot have."""
    place, message = REFUSED[text]
    with pytest.raises(ProgramError) as caught:
        operations(text)
    (diagnostic,) = caught.value.diagnostics
    whole = PREFIXES + text
    assert whole[diagnostic.span.start : diagnostic.span.end] == place
    assert message in diagnostic.message


@pytest.mark.parametrize("base", ["doc", "//e/a", "http://e/a b"])
def test_a_base_is_an_absolute_iri(base):
    """Of queries and of updates."""
    for parse in (parse_query, parse_update):
        with pytest.raises(TermError, match=r"is relative|is not valid"):
            parse("ASK {}", base=base)
