"""RDF Patch as Apache Jena writes and reads it."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from streamreasoner.errors import DataError
from streamreasoner.io.formats.rdf_patch import read_facts
from streamreasoner.io.formats.reading.document import Document
from streamreasoner.rdf.dictionary import Dictionary

PATCH = r'''
H id <uuid:1>. H "prev" <uuid:0> .
TB .
PA "ex" <http://ex/> <u:g> .
PA "" "http://d/" .
A <u:s> <u:p> 5 .A ex:s :p -1.5e3 . D <_:b0:1> <u:p> true <u:g> .
A <u:s>
  <u:p> # A <u:a> <u:b> <u:c> .
'it\'s "x"'@en .
Z .
A <u:s> <u:p> """long
A <u:a> <u:b> <u:c> .
"quoted" \u00e9 """ .
A <u:s> <u:p> \'\'\'x\'\'\' . A <u:s> <u:p> 'x'^^ex:t .
A <u:s> <u:p> 1.5 . A <u:s> <u:p> <u:o> .
PD "" . TC . TX . A <u:not> <u:p> 1 . TA .
'''.replace(r"\'\'\'", "'''")
XSD = "http://www.w3.org/2001/XMLSchema#"
CHANGES = {
    ("<u:s>", "<u:p>", f'"5"^^<{XSD}integer>'): 1,
    ("<http://ex/s>", "<http://d/p>", f'"-1.5e3"^^<{XSD}double>'): 1,
    ("_:Bb0X3A1", "<u:p>", f'"true"^^<{XSD}boolean>', "<u:g>"): -1,
    ("<u:s>", "<u:p>", r'"it' + "'" + r's \"x\""@en'): 1,
    ("<u:s>", "<u:p>", r'"long\nA <u:a> <u:b> <u:c> .\n\"quoted\" é "'): 1,
    ("<u:s>", "<u:p>", '"x"'): 1,
    ("<u:s>", "<u:p>", '"x"^^<http://ex/t>'): 1,
    ("<u:s>", "<u:p>", f'"1.5"^^<{XSD}decimal>'): 1,
    ("<u:s>", "<u:p>", "<u:o>"): 1,
}


@pytest.mark.parametrize("chunk", [1, 5, 17, 64, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_patches_are_read_as_jena_writes_them(chunk, end):
    """Abbreviations of Turtle, all kinds of strings, several rows in a line and rows over lines."""
    dictionary, found = Dictionary(), Counter()
    text = PATCH.replace("\n", end).encode()
    for facts in read_facts(Document([text]), dictionary, chunk):
        for ids, diff in zip(facts.args, facts.diff.tolist(), strict=True):
            found[tuple(dictionary.decode(ids).to_pylist())] += diff
    breaks = end.replace("\n", r"\n").replace("\r", r"\r")
    expected = {
        tuple(term.replace(r"\n", breaks) for term in fact): diff for fact, diff in CHANGES.items()
    }
    assert found == expected


def test_triple_terms_are_read_as_all_terms_are():
    """Prefixes, numbers and labels of Jena are read inside of them; a row may go over lines."""
    patch = """PA "ex" <u:> .
A ex:s ex:p <<(ex:s ex:p 5)>> ex:g .
D ex:s ex:p <<( <_:b0:1> ex:p <<( _:c ex:p "x"@AR--rtl
)>>)>> .
"""
    dictionary = Dictionary()
    facts = [
        (fact.predicate, *dictionary.decode(fact.args[0]).to_pylist()[2:], *fact.signs.tolist())
        for fact in read_facts(Document([patch.encode()]), dictionary)
    ]
    five = '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    assert sorted(facts) == [
        ("quad", f"<<( <u:s> <u:p> {five} )>>", "<u:g>", 1),
        ("triple", '<<( _:Bb0X3A1 <u:p> <<( _:c <u:p> "x"@ar--rtl )>> )>>', -1),
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("A <u:s> <u:p> .", "At character 15 the object is missing"),
        ("A <u:s> <u:p> <u:o>", "The last row has no end. Add the dot"),
        ('A "x" <u:p> <u:o> .', 'At character 3 the subject is "x", not an <IRI>'),
        ("A <u:s> _:p <u:o> .", "At character 9 the predicate is _:p, not an <IRI>"),
        ("A <u:s> <u:p> <u:o> <u:g> <u:h> .", "At character 27 a fifth term begins"),
        ("Q <u:s> .", "At character 1 the row begins with none of H, TX (or TB)"),
        ('A <u:s> <u:p> "x .', "At character 15 a literal begins that has no closing"),
        ('A <u:s> <u:p> """x .', "The last row has no end"),
        ("A <u:s> <u:p> << <u:s> <u:p> <u:o> >> .", "At character 15 '<<' begins no term"),
        ("A <u:s> <u:p> <<( <u:s> <u:p> )>> .", "<<( is not followed by what belongs to it"),
        ("A <u:s> <u:p> <<( <u:s> <u:p> <u:o> .", "<<( is not followed by what belongs to it"),
        ('A <u:s> <u:p> <<( "x" <u:p> <u:o> )>> .', 'At character 15: Term \'<<( "x" <u:p>'),
        ("A <u:s> <u:p> )>> .", "At character 15 ')>>' is not a term"),
        ("A <<( <u:s> <u:p> <u:o> )>> <u:p> <u:o> .", "At character 3 the subject is <<( <u:s>"),
        ("A <u:s> <u:p> <u:o> <<( <u:s> <u:p> <u:o> )>> .", "the graph is <<( <u:s>"),
        ('PA "e" .', 'PA is not followed by what belongs to it: PA "name" <IRI> [graph] .'),
        ("TX x .", "TX is not followed by what belongs to it: TX ."),
        ('A <u:s> <u:p> "x"^^5 .', '"x" is not followed by what belongs to it'),
        ("A <u:s> <u:p> x .", "At character 15 'x' is not a term"),
        ("A <u:s> <u:p> <u:o>\nA <u:s> <u:p> <u:o> .", "a row begins, but the one before it has"),
        ("A " * 2101, "The row is too long"),
    ],
)
def test_a_mistake_in_a_row_is_named(row, reason):
    """With the character of its line."""
    with pytest.raises(DataError, match=re.escape(reason)):
        list(read_facts(Document([f"TX . TC .\n{row}\n".encode()]), Dictionary()))
