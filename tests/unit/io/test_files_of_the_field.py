"""Files as the field writes them: encodings, entities, compression, archives, folders and bases."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
import zipfile
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyoxigraph
import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

from streamreasoner.api.nodes import to_ntriples
from streamreasoner.errors import DataError, ProgramError, TermError
from streamreasoner.io.codec.decode import NO_LIMITS, Codec
from streamreasoner.io.files.documents import AS_NAMED, Reading, documents, load, skipped
from streamreasoner.io.formats.registry import of_name
from streamreasoner.io.formats.writing.graphs import write_graph
from streamreasoner.lang.parser import parse
from streamreasoner.rdf.dictionary import Dictionary

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
HEAD = f'xmlns:rdf="{RDF}" xmlns:e="http://e/"'
PACKERS = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}


def read(path, how=AS_NAMED):
    """The facts of a path, as texts."""
    dictionary = Dictionary()
    return [
        tuple(dictionary.decode(row).to_pylist())
        for facts in load(path, dictionary, how)
        for row in facts.args
    ]


def message(name, value, *, base=None, key=None):
    """The facts of a message, or the reason for which it is rejected."""
    dictionary = Dictionary()
    bases = {} if base is None else {"t": base}
    options = replace(NO_LIMITS, default=of_name(name), bases=bases)
    batch = pa.table(
        {
            "topic": ["t"],
            "partition": [0],
            "offset": [0],
            "key": pa.array([key], pa.binary()),
            "value": pa.array([value], pa.binary()),
            "timestamp": pa.array([datetime(2026, 1, 1, tzinfo=UTC)], pa.timestamp("ms", "UTC")),
            "headers": pa.nulls(1),
        }
    )
    decoded = Codec(dictionary, None, options).decode(batch)
    if decoded.rejected:
        return decoded.rejected[0].detail
    return [
        tuple(dictionary.decode(row).to_pylist()) for each in decoded.updates for row in each.args
    ]


def document(content, declaration='<?xml version="1.0"?>', doctype=""):
    """An RDF/XML document that says one thing of http://e/s."""
    return (
        f"{declaration}{doctype}<rdf:RDF {HEAD}>\n"
        f'<rdf:Description rdf:about="http://e/s">\n{content}\n</rdf:Description></rdf:RDF>'
    )


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252", "gb18030", "utf-32"]
)
@pytest.mark.parametrize("declared", [True, False])
def test_xml_is_read_in_every_encoding(tmp_path, encoding, declared):
    """A declaration or a byte order mark tells it, in files and messages."""
    marked = encoding in {"utf-8", "utf-8-sig", "utf-16", "utf-32"}
    if not (declared or marked):
        return
    name = encoding.removesuffix("-sig")
    declaration = f'<?xml version="1.0"\n encoding="{name}"?>' if declared else ""
    value = document("<e:p>é</e:p>", declaration).encode(encoding)
    path = tmp_path / "a.rdf"
    path.write_bytes(value)
    expected = [("<http://e/s>", "<http://e/p>", '"é"')]
    assert read(path) == expected
    assert message("rdf-xml", value) == expected


@pytest.mark.parametrize("quote", ["'", '"'])
def test_entities_of_the_document_are_expanded(tmp_path, quote):
    """As Protégé writes them, in attributes, texts and namespaces; an external DTD is not read."""
    doctype = (
        "<!DOCTYPE rdf:RDF PUBLIC '-//X//EN' 'http://e/x.dtd' ["
        f"<!ENTITY e {quote}http://e/{quote}><!ENTITY o {quote}&e;o{quote}>]>"
    )
    path = tmp_path / "a.owl"
    path.write_text(document('<e:p rdf:resource="&o;"/><e:q>&o;</e:q>', doctype=doctype))
    assert read(path) == [
        ("<http://e/s>", "<http://e/p>", "<http://e/o>"),
        ("<http://e/s>", "<http://e/q>", '"http://e/o"'),
    ]


@pytest.mark.parametrize(
    ("outer", "inner", "iri"),
    [
        ("", "", "http://e/d/doc"),
        ("x/", "y", "http://e/d/x/y"),
        ("#f", "", "http://e/d/doc"),
        ("../x/", "//h/z", "http://h/z"),
        ("http://f/", "a/", "http://f/a/"),
    ],
)
def test_a_base_of_elements_may_be_relative(outer, inner, iri):
    """To that around it, and that of the document; an XML literal keeps its attributes."""
    text = (
        f'<rdf:RDF {HEAD} xml:base="{outer}"><rdf:Description rdf:about="" xml:base="{inner}">'
        '<e:p rdf:parseType="Literal"><a xml:base="b"></a></e:p></rdf:Description></rdf:RDF>'
    )
    ((subject, _, literal),) = message("rdf-xml", text.encode(), base="http://e/d/doc")
    assert subject == f"<{iri}>"
    assert 'xml:base=\\"b\\"' in literal


def bomb(levels, width):
    """Entities of entities."""
    entities = "".join(
        f'<!ENTITY l{level} "{f"&l{level - 1};" * width}">' for level in range(1, levels + 1)
    )
    doctype = f'<!DOCTYPE rdf:RDF [<!ENTITY l0 "lol">{entities}]>'
    return document(f"<e:p>&l{levels};</e:p>", doctype=doctype)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (bomb(9, 10), r"entities expand to much more than the document"),
        (
            bomb(1, 100_000).replace(">&l1;<", ">" + "&l1;" * 100 + "<"),
            "entities expand to much more",
        ),
        (
            document("<e:p>&x;</e:p>", doctype='<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/x">]>'),
            r"3, column 6: The entity at 'file:///etc/x' is outside of the document",
        ),
        (document("<e:p>&x;</e:p>"), r"3, column 6: The XML is not well-formed: undefined entity"),
        (
            document(
                '<e:p rdf:resource="&x;"/>', doctype='<!DOCTYPE rdf:RDF SYSTEM "http://e/x.dtd">'
            ),
            r"3, column 1: The XML is not well-formed: undefined entity",
        ),
        (document("<e:p>" * 600), r"nested more than 500 levels deep"),
        (document("<e:p>x</e:q>"), r"3, column 9: .*mismatched tag"),
        (document("<e:p>x</e:p>")[:-3], r"4, column 19: .*unclosed token"),
        (document("<e:p>x</e:p>").partition("</rdf:D")[0], r"4, column 1: .*no element found"),
        (document('<e:p rdf:resource="a b"/>'), r"3, column 1: "),
        (document('<e:p rdf:nodeID="1"/>'), r"3, column 1: "),
        (document("<f:p>x</f:p>"), r"3, column 1: "),
        (document('<e:p rdf:resource="x"/>'), r"The IRI 'x' is relative, and there is no base"),
        ('<?xml version="1.0" encoding="x-none"?><a/>', r"The encoding 'x-none' is not known"),
        ('<?xml version="1.0" encoding="zip"?><a/>', r"The encoding 'zip' is not known"),
        (document("<e:p>é</e:p>", '<?xml version="1.0" encoding="ascii"?>'), r"not ascii: ordinal"),
        ("<html><body/></html>", r"This is not RDF/XML: its root element has no namespace"),
        ("", r"no element found|no value"),
        (
            '<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://e/o"/>',
            r"The document is OWL/XML, which is not RDF\. Convert it",
        ),
    ],
)
def test_what_is_wrong_with_xml_is_said_with_its_place(tmp_path, text, reason):
    """In messages and files alike; nothing is fetched, and no entity fills the memory."""
    rejected = message("rdf-xml", text.encode())
    assert isinstance(rejected, str)
    assert re.search(reason, rejected), rejected
    if "relative" in reason:
        return
    path = tmp_path / "a.xml"
    path.write_text(text)
    with pytest.raises(DataError, match=r"^\S+a\.xml(:\d+:\d+)?: [A-Z1]"):
        read(path, Reading(of_name("rdf-xml")))


def test_xml_literals_are_canonical(tmp_path):
    """Only namespaces that are used are declared, and comments stay."""
    path = tmp_path / "a.rdf"
    content = '<e:p rdf:parseType="Literal">a &lt; <b  y="2" x=\'1\'/><e:c/><!-- d --></e:p>'
    path.write_text(document(content))
    [(_, _, literal)] = read(path)
    text = 'a &lt; <b x="1" y="2"></b><e:c xmlns:e="http://e/"></e:c><!-- d -->'
    assert literal == str(
        pyoxigraph.Literal(text, datatype=pyoxigraph.NamedNode(f"{RDF}XMLLiteral"))
    )


TERM = "<rdf:Description rdf:about='a:s'><e:q>x</e:q></rdf:Description>"
LITERAL = f'"<b></b>"^^<{RDF}XMLLiteral>'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (f'<e:p rdf:parseType="Triple">{TERM}</e:p>', []),
        (
            f'<e:p rdf:version="1.2" rdf:parseType="Triple">{TERM}</e:p>',
            [("<http://e/p>", '<<( <a:s> <http://e/q> "x" )>>')],
        ),
        (
            '<e:p rdf:version="1.2" xml:lang="ar" its:version="2.0" its:dir="rtl">x</e:p>',
            [("<http://e/p>", '"x"@ar--rtl')],
        ),
        (
            '<e:p rdf:annotation="a:r" its:dir="rtl" rdf:parseType="Literal"><b/></e:p>',
            [
                ("<http://e/p>", LITERAL),
                (f"<{RDF}reifies>", f"<<( <http://e/s> <http://e/p> {LITERAL} )>>"),
            ],
        ),
    ],
)
def test_terms_of_rdf_12_in_xml(tmp_path, content, expected):
    """Triple terms need the version; annotations may stand at XML literals."""
    text = document(content).replace(
        "<rdf:RDF", '<rdf:RDF xmlns:its="http://www.w3.org/2005/11/its"'
    )
    path = tmp_path / "a.rdf"
    path.write_text(text)
    assert sorted(fact[1:] for fact in read(path)) == sorted(expected)
    assert sorted(fact[1:] for fact in message("rdf-xml", text.encode())) == sorted(expected)


ITS = 'xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"'
TEXT = "<e:p>x</e:p>"


def described(content, about="", root=""):
    """RDF 1.2 in XML, with attributes of the node and of the root."""
    text = document(content).replace("rdf:about=", f"{about} rdf:about=", 1)
    return text.replace("<rdf:RDF", f'<rdf:RDF {ITS} rdf:version="1.2" {root}', 1)


@pytest.mark.parametrize(
    ("content", "about", "root", "expected"),
    [
        (TEXT, "", 'its:dir="rtl" xml:lang="ar"', '"x"@ar--rtl'),
        (TEXT, 'its:dir="rtl"', 'xml:lang="ar"', '"x"@ar--rtl'),
        (TEXT, 'its:dir="ltr" xml:lang="he"', 'its:dir="rtl" xml:lang="ar"', '"x"@he--ltr'),
        (TEXT, 'its:dir=""', 'its:dir="rtl" xml:lang="ar"', '"x"@ar'),
        (TEXT, 'xmlns:its="a:b"', 'its:dir="rtl" xml:lang="ar"', '"x"@ar--rtl'),
        (TEXT, 'rdf:version="1.1"', 'its:dir="rtl" xml:lang="ar"', '"x"@ar'),
        (TEXT, 'its:dir="rtl"', "", '"x"'),
        (TEXT, 'xml:lang=""', 'its:dir="rtl" xml:lang="ar"', '"x"'),
        ('<e:p xml:lang="">x</e:p>', 'xml:lang="ar"', "", '"x"'),
        ('<e:p xml:lang="ar">x</e:p>', 'xml:lang=""', "", '"x"@ar'),
        ('<e:p xml:lang="X-NONE">x</e:p>', "", "", '"x"@x-none'),
        (
            f'<e:p rdf:parseType="Triple" xml:lang="">{TERM}</e:p>',
            "",
            'xml:lang="ar"',
            '<<( <a:s> <http://e/q> "x" )>>',
        ),
        ('<e:p xml:lang="ar">x</e:p>', "", 'its:dir="rtl"', '"x"@ar--rtl'),
        (
            f'<e:p rdf:parseType="Triple" its:dir="rtl">{TERM}</e:p>',
            "",
            'xml:lang="ar"',
            '<<( <a:s> <http://e/q> "x"@ar--rtl )>>',
        ),
    ],
)
def test_base_directions_are_inherited_in_xml(content, about, root, expected):
    """By all elements in the one that has them, as the language is; an empty one ends it."""
    [(_, _, found)] = message("rdf-xml", described(content, about, root).encode())
    assert found == expected


@pytest.mark.parametrize(
    ("content", "about", "root", "name"),
    [
        (TEXT, 'rdf:annotation="a:r"', "", "rdf:annotation: write it at an element for a property"),
        (TEXT, 'rdf:annotationNodeID="r"', "", "rdf:annotationNodeID: write it at an element for"),
        (TEXT, 'rdf:resource="a:r"', "", "rdf:resource: write it"),
        (TEXT, 'rdf:datatype="a:r"', "", "rdf:datatype: write it"),
        (TEXT, 'rdf:parseType="Resource"', "", "rdf:parseType: write it"),
        (TEXT, "", 'rdf:annotation="a:r"', "rdf:annotation: write it at the element"),
        ('<e:p rdf:about="a:r">x</e:p>', "", "", "rdf:about: write it at an element for a node"),
        *(
            (f'<e:p {wrong} rdf:parseType="{kind}">{TERM}</e:p>', "", "", f"{name}: with rdf:parse")
            for kind in ("Literal", "Triple", "Collection")
            for name, wrong in (
                ("e:q", 'e:q="x"'),
                ("rdf:resource", 'rdf:resource="a:b"'),
                ("rdf:datatype", 'rdf:datatype="a:d"'),
            )
        ),
        ('<e:p e:q="x" rdf:parseType="Resource"><e:q>y</e:q></e:p>', "", "", "e:q: with rdf:parse"),
    ],
)
def test_no_attribute_of_rdf_xml_is_left_out(content, about, root, name):
    """What has no meaning at its element is a mistake, which says where it has one."""
    rejected = message("rdf-xml", described(content, about, root).encode())
    assert f"cannot have the attribute {name}" in rejected


def test_elements_for_nodes_and_properties_alternate():
    """Where the content is a resource, properties follow each other."""
    inner = '<e:p rdf:annotation="a:r" rdf:resource="a:o"/>'
    content = f'<e:p rdf:parseType="Resource"><e:p rdf:parseType="Resource">{inner}</e:p></e:p>'
    assert len(message("rdf-xml", described(content).encode())) == 4
    one = described(inner, "", 'xmlns:xsi="a:x" xsi:schemaLocation="a:y"')
    assert len(message("rdf-xml", one.encode())) == 2


def test_an_ontology_in_turtle_is_read_whatever_its_suffix(tmp_path):
    """Many files that end in .owl are in Turtle; other syntaxes of OWL are named."""
    path = tmp_path / "a.owl"
    path.write_text("# an ontology\n@prefix e: <http://e/> . e:s e:p e:o .")
    assert read(path) == [("<http://e/s>", "<http://e/p>", "<http://e/o>")]
    path.write_text("Prefix(:=<http://e/>)\nOntology(<http://e/>)")
    with pytest.raises(DataError, match=r"a\.owl: is in a syntax of OWL that is not RDF\. Convert"):
        read(path)


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_files_are_read(tmp_path, suffix):
    """Whatever their format; what is cut off, empty or something else is an error of the file."""
    for name, text in (
        ("a.nt", b"<http://e/s> <http://e/p> <http://e/o> .\n"),
        ("a.ttl", b"@prefix e: <http://e/> . e:s e:p e:o ."),
        ("a.csv", b"<http://e/s>,<http://e/p>,<http://e/o>\n"),
        ("a.rdf", document('<e:p rdf:resource="http://e/o"/>').encode()),
    ):
        path = tmp_path / (name + suffix)
        packed = PACKERS[suffix](text)
        path.write_bytes(packed)
        assert read(path) == [("<http://e/s>", "<http://e/p>", "<http://e/o>")]
        for wrong in (b"", packed[:-5], b"<http://e/s> <http://e/p> <http://e/o> .\n"):
            path.write_bytes(wrong)
            with pytest.raises(DataError, match=rf"{name}{suffix}: cannot be read \("):
                read(path)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst", ".zip"])
def test_what_expands_without_measure_is_refused(tmp_path, suffix):
    """A file that is made to fill the memory is not read to its end."""
    content = b" " * (80 << 20)
    path = tmp_path / f"a.nt{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.nt", content)
    else:
        path.write_bytes(PACKERS[suffix](content))
    with pytest.raises(DataError, match="expands to more than 500 times its size"):
        read(path)


def archive_of(path, files):
    """Write a ZIP archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)


FILES = {
    "b/two.ttl": "<s> <p> <two> .",
    "README.md": "# Read me",
    "b/catalog.xml": '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog"/>',
    "a.rdf": document('<e:p rdf:resource="o"/>'),
    ".hidden.nt": "not facts",
    "c.xml": document('<e:p rdf:resource="c"/>'),
}


@pytest.mark.parametrize("packed", [False, True])
def test_folders_and_archives_are_read(tmp_path, packed):
    """All files of known formats, at any depth; others are skipped, which can be told."""
    root = tmp_path / ("o.zip" if packed else "o")
    if packed:
        archive_of(root, FILES)
    else:
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
    base = root.as_uri()
    assert {fact[2] for fact in read(root)} == {f"<{base}/o>", f"<{base}/c>", f"<{base}/b/two>"}
    assert skipped([root]) == [f"{root}/README.md", f"{root}/b/catalog.xml"]
    names = [each.name for _, each in documents(root)]
    assert names == [f"{root}/a.rdf", f"{root}/b/two.ttl", f"{root}/c.xml"]


def test_damaged_archives_are_named(tmp_path):
    """Whether their directory or a member is damaged, or there is nothing to read in them."""
    path = tmp_path / "o.zip"
    path.write_bytes(b"not an archive")
    with pytest.raises(DataError, match=r"o\.zip: is not a ZIP archive, or is cut off"):
        read(path)
    archive_of(path, {"a.nt": "<http://e/s> <http://e/p> <http://e/o> .\n" * 100})
    content = bytearray(path.read_bytes())
    content[45] ^= 255
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"o\.zip/a\.nt: cannot be read"):
        read(path)
    archive_of(path, {"a.md": "x"})
    with pytest.raises(DataError, match=r"o\.zip: has no file of a known format\. Known are"):
        read(path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty: has no file of a known format\. Known are"):
        read(tmp_path / "empty")


def test_relative_iris_are_resolved(tmp_path, monkeypatch):
    """Against the address of the file, or the base that is given; standard input has none."""
    for name, text in (
        ("a b.ttl", "<#s> <p> </o> ."),
        ("a.jsonld", '{"@id": "#s", "http://e/p": {"@id": "o"}}'),
        ("a.rdf", document('<e:p rdf:resource="#o"/>')),
    ):
        path = tmp_path / name
        path.write_text(text)
        address = path.as_uri()
        terms = {term for fact in read(path) for term in fact}
        assert any(term.startswith(f"<{address}#") for term in terms), terms
        terms = {term for fact in read(path, Reading(base="http://b/x/y")) for term in fact}
        assert any(term.startswith("<http://b/x/") for term in terms), terms
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"<#s> <p> </o> .")))
    with pytest.raises(DataError, match=r"standard input:1:\d+: The IRI is relative.* --base"):
        read("-", Reading(of_name("turtle")))
    with pytest.raises(DataError, match=r"say it with --from"):
        read("-")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("turtle", b"<s> <http://e/p> 1 ."),
        ("trig", b"{ <s> <http://e/p> 1 }"),
        ("json-ld", b'{"@id": "s", "http://e/p": 1}'),
        ("json-ld", b'{"@id": "http://e/s", "http://e/p": {"@id": "s"}}'),
        ("json-ld", b'{"@id": "http://e/s", "@type": "s"}'),
        ("json-ld", b'{"@id": "http://e/s", "http://e/p": {"@value": "x", "@type": "s"}}'),
        ("json-ld", b'{"@id": "s", "@graph": [{"@id": "http://e/s", "http://e/p": 1}]}'),
        ("rdf-xml", document("<e:p/>").replace("http://e/s", "s").encode()),
    ],
)
def test_relative_iris_of_messages_need_a_base(name, value):
    """The topic's, or the key if it is an IRI; without one they are refused, and not dropped."""
    for found in (message(name, value), message(name, value, base="key", key=b"17")):
        assert isinstance(found, str)
        assert "relative" in found or "must be an IRI" in found
    by_topic = message(name, value, base="http://b/x/y")
    assert any("<http://b/x/s>" in term for fact in by_topic for term in fact)
    assert message(name, value, base="key", key=b"http://b/x/y") == by_topic


TEXTS = {
    "ntriples": b"<http://e/s> <http://e/p> <http://e/o> .\n",
    "nquads": b"<http://e/s> <http://e/p> <http://e/o> .\n",
    "rdf-patch": b"A <http://e/s> <http://e/p> <http://e/o> .\n",
    "turtle": b"<http://e/s> <http://e/p> <http://e/o> .\n",
    "trig": b"<http://e/s> <http://e/p> <http://e/o> .\n",
    "json-ld": b'{"@id": "http://e/s", "http://e/p": {"@id": "http://e/o"}}',
    "rdf-xml": document('<e:p rdf:resource="http://e/o"/>').encode(),
    "json": b'{"s": "<http://e/s>", "p": "<http://e/p>", "o": "<http://e/o>", "diff": 1}',
    "json-lines": b'{"s": "<http://e/s>", "p": "<http://e/p>", "o": "<http://e/o>", "diff": 1}',
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_byte_order_mark_is_skipped(name, tmp_path):
    """At the beginning of a text of any format, in files and messages."""
    expected = [("<http://e/s>", "<http://e/p>", "<http://e/o>")]
    marked = b"\xef\xbb\xbf" + TEXTS[name]
    assert message(name, marked) == expected
    if name not in {"json", "json-lines"}:
        path = tmp_path / "a"
        path.write_bytes(marked)
        assert read(path, Reading(of_name(name))) == expected
        path.write_bytes(b"\xef\xbb\xbf")
        if name not in {"json-ld", "rdf-xml"}:
            assert read(path, Reading(of_name(name))) == []


def one(value):
    """The object of the one fact of a JSON-LD message about a value."""
    [(_, _, found)] = message("json-ld", b'{"@id":"http://e/s","http://e/p":%b}' % value.encode())
    return found


@given(st.integers(-(10**21) + 1, 10**21 - 1), st.booleans())
def test_integers_of_json_ld_are_exact(number, in_object):
    """Up to 10^21, from which on they are doubles, whatever type a value object gives them."""
    text = f'{{"@value": {number}}}' if in_object else str(number)
    assert one(text) == f'"{number}"^^<{XSD}integer>'
    typed = f'{{"@value": {number}, "@type": "http://e/t"}}'
    assert one(typed) == f'"{number}"^^<http://e/t>'
    double = f'{{"@value": {number}, "@type": "{XSD}double"}}'
    assert float(one(double).split('"')[1]) == float(number)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"@value": null, "@language": "en"}', None),
        ('{"@value": null}', None),
        ('{"@value": "x", "@language": null}', '"x"'),
        ('{"@language": null, "@direction": null,\n"@value": "x", "@type": null}', '"x"'),
        ('{"@type": null, "@value": "x", "@language": "en"}', '"x"@en'),
        ('{"@value": "x", "@language": "en", "@direction": "ltr"}', '"x"@en--ltr'),
        ('{"@value": "x", "@direction": "rtl"}', '"x"'),
        ("1e21", f'"1.0E21"^^<{XSD}double>'),
        ("1e20", f'"1{"0" * 20}"^^<{XSD}integer>'),
        ('"100000000000000000000"', f'"1{"0" * 20}"'),
    ],
)
def test_values_of_json_ld(value, expected):
    """Null stands for what is not there, also a direction without a language.

    Numbers are not texts.
    """
    if expected is None:
        assert message("json-ld", b'{"@id":"http://e/s","http://e/p":%b}' % value.encode()) == []
    else:
        assert one(value) == expected


@pytest.mark.parametrize(
    "document",
    [
        '{"@context": {"@direction": "rtl", "@language": "ar"}, "@id": "a:s", "a:p": "x"}',
        (
            '{"@context": {"p": {"@id": "a:p", "@direction": "rtl", "@language": "ar"}},'
            ' "@id": "a:s", "p": "x"}'
        ),
        (
            '{"@context": {"@direction": "rtl", "p": {"@id": "a:p", "@container": "@language"}},'
            ' "@id": "a:s", "p": {"ar": "x"}}'
        ),
        (
            '{"@context": {"d": "@direction"},'
            ' "@id": "a:s", "a:p": {"@value": "x", "@language": "ar", "d": "rtl"}}'
        ),
    ],
)
def test_base_directions_of_json_ld_are_read(document, tmp_path):
    """Of the value, of its term or of the whole context, and written again."""
    fact = ("<a:s>", "<a:p>", '"x"@ar--rtl')
    assert message("json-ld", document.encode()) == [fact]
    path = tmp_path / "a.jsonld"
    path.write_text(document)
    assert read(path) == [fact]
    stream = io.BytesIO()
    lines = [f"{' '.join(fact)} .\n".encode()]
    write_graph(lines, pyoxigraph.RdfFormat.JSON_LD, {}, stream, has_new_terms=True)
    assert message("json-ld", stream.getvalue()) == [fact]


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("@annotation", '{"@id": "a:o", "@annotation": {"a:q": 1}}'),
        ("@annotation", '{"@id": "a:o", "note": {"a:q": 1}}'),
        ("@annotation", '{"@value": "x", "@annotation": {"a:q": 1}}'),
        ("@triple", '{"@triple": {"@id": "a:s", "a:p": 1}}'),
        ("@reifier", '{"@id": "a:o", "@reifier": {"a:q": 1}}'),
    ],
)
def test_keywords_of_proposals_for_json_ld_are_refused(keyword, value, tmp_path):
    """JSON-LD 1.1 leaves them out, with all that they say."""
    text = f'{{"@context": {{"note": "{keyword}"}},\n"@id": "a:s", "a:p": {value}}}'
    reason = f"{keyword} is not a keyword of JSON-LD 1.1, which leaves it out with its value. Write"
    assert reason in message("json-ld", text.encode())
    path = tmp_path / "a.jsonld"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"a\.jsonld:\d: {re.escape(reason)} triple terms"):
        read(path)


def test_texts_like_keywords_are_texts():
    """In a value and in literals of JSON; what is malformed anyway is named as that."""
    assert one('"@annotation"') == '"@annotation"'
    assert one('{"@value": {"@triple": 1}, "@type": "@json"}') == (
        rf'"{{\"@triple\":1}}"^^<{RDF}JSON>'
    )
    assert "keyword of JSON-LD" not in message("json-ld", b'{"@annotation": {"a:q": 1')


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("_:a:b <http://e/p> <http://e/o> .", "the label of a blank node cannot contain a colon"),
        ("<http://e/s> <http://e/p> << <a:a> <a:b> <a:c> >> .", "a triple term is written"),
        ('<http://e/s> <http://e/p> "x .', "a literal begins that has no closing quotation mark"),
        ("<http://e/s> <http://e/p> <http://e/o", "an IRI begins that has no closing '>'"),
        ("<http://e/s> <http://e/p> e:o .", "'e:o' is not a term, such as an <IRI>"),
        ("<http://e/s> <http://e/p> 'x' .", "a literal begins with a single quotation mark"),
        ('<http://e/s> <http://e/p> "x"^^e:t .', "a datatype begins that is not an <IRI>"),
        ('"x" <http://e/p> <http://e/o> .', "there is a literal, but the subject is an <IRI>"),
        ('<http://e/s> <http://e/p> "x"@en--LTR .', "the base direction of a literal is"),
    ],
)
@pytest.mark.parametrize("name", ["ntriples", "nquads"])
def test_mistakes_in_lines_are_named(name, line, reason):
    """What is there is named, not only what is missing."""
    assert reason in message(name, line.encode())


def as_texts(label):
    """A triple about a blank node with a label, in each format: (format, suffix, text)."""
    triple = f"_:{label} <http://e/p> <http://e/o> ."
    said = {"s": f"_:{label}", "p": "<http://e/p>", "o": "<http://e/o>", "diff": 1}
    node = {"@id": f"_:{label}", "http://e/p": {"@id": "http://e/o"}}
    return [
        ("ntriples", ".nt", triple),
        ("nquads", ".nq", triple),
        ("turtle", ".ttl", triple),
        ("trig", ".trig", triple),
        ("rdf-patch", ".rdfp", f"A {triple}"),
        ("json", None, json.dumps(said)),
        ("json-ld", ".jsonld", json.dumps(node)),
        (None, ".csv", f"_:{label},<http://e/p>,<http://e/o>"),
    ]


@pytest.mark.parametrize(
    ("label", "is_one"), [("a-b", True), ("é", True), ("a:b", False), ("é:_", False), (":", False)]
)
def test_labels_are_the_same_everywhere(tmp_path, label, is_one):
    """In messages and files of all formats, in Python and in rules; none contains a colon."""
    expected = [(f"_:{label}", "<http://e/p>", "<http://e/o>")]
    for name, suffix, text in as_texts(label):
        if name is not None:
            found = message(name, text.encode())
            assert found == expected if is_one else isinstance(found, str), name
        path = tmp_path / f"triple{suffix}"
        path.write_text(text, encoding="utf-8")
        if suffix is not None and is_one:
            assert read(path) == expected, suffix
        elif suffix is not None:
            with pytest.raises(DataError):
                read(path)
    with nullcontext() if is_one else pytest.raises(TermError, match="cannot contain a colon"):
        assert to_ntriples(rdflib.BNode(label)) == f"_:{label}"
    with nullcontext() if is_one else pytest.raises(ProgramError):
        parse(f"p(_:{label}) .")


@pytest.mark.parametrize("name", ["turtle", "trig", "ntriples", "nquads"])
def test_triple_terms_are_read(name):
    """They are read in messages of each format, with the version, directions and nested ones."""
    text = 'VERSION "1.2"\n<a:s> <a:p> <<( _:b <a:q> <<( <a:s> <a:p> "x"@en--rtl )>> )>> .'
    expected = ("<a:s>", "<a:p>", '<<( _:b <a:q> <<( <a:s> <a:p> "x"@en--rtl )>> )>>')
    assert message(name, text.encode()) == [expected]


@pytest.mark.parametrize("name", ["turtle", "trig"])
def test_annotations_are_read(name):
    """A blank node without a label has one name, inside of triple terms and outside."""
    found = message(name, b"<a:s> <a:p> [ <a:q> <a:o> ] {| <a:r> <<( <a:s> <a:p> <a:o> )>> |} .")
    nodes = set(re.findall(r"_:[\w-]+", " ".join(map(" ".join, found))))
    assert len(found) == 4
    assert nodes == {"_:message-t-0-0-1", "_:message-t-0-0-2"}
