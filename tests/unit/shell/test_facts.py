"""Text of facts."""

from __future__ import annotations

from streamreasoner.facts import Fact
from streamreasoner.shell.output import FactPrinter

RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
TWO = '"2"^^<http://www.w3.org/2001/XMLSchema#integer>'


def test_a_fact_is_printed_in_the_rule_language():
    """IRIs are shortened, numbers unquoted, triples in brackets."""
    printer = FactPrinter({"e": "http://e/"})
    terms = ("<http://e/a>", RDF_TYPE, TWO)

    assert printer.text(Fact("triple", terms)) == "[e:a, a, 2]"
    assert printer.text(Fact("f", ('"x"', "<http://f/a>"))) == 'f("x", <http://f/a>)'
    assert printer.text(Fact("f", ())) == "f()"
