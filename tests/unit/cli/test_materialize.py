"""The command `materialize`."""

from __future__ import annotations

import json
import re

import pyoxigraph
import pytest
from rdflib import RDF
from typer.testing import CliRunner

from streamreasoner.cli import app
from streamreasoner.errors import DataError

AGGREGATES = """
@input edge/2, weight/3 .
degree(?x, count(?y)) :- edge(?x, ?y) .
sources(count(distinct ?x)) :- edge(?x, _) .
cost(?x, sum(?w), min(?w)) :- weight(?x, _, ?w) .
distance(1, 0) .
distance(?y, min(?d + 1)) :- distance(?x, ?d), edge(?x, ?y) .
free(?x) :- edge(?x, _), not weight(?x, _, _) .
"""
QUADS = """
[?x, ?p, ?z, ?g] :- [?x, ?p, ?y, ?g], [?y, ?p, ?z, ?g] .
[?x, ?p, ?y] :- [?x, ?p, ?y, _] .
"""


def run(*arguments):
    """The command's result; errors of the user reach the caller."""
    return CliRunner().invoke(app, ["materialize", *map(str, arguments)], catch_exceptions=False)


def write(path, text):
    """Write a file."""
    path.write_text(text, encoding="utf-8")
    return path


def test_copies_of_asserted_facts_are_not_counted(tmp_path):
    """They are hidden: of one fact and its two consequences, two are derived."""
    rules = write(tmp_path / "rules.dl", "q(?x) :- asserted p(?x) .\nr(?x) :- q(?x) .\n")
    facts = write(tmp_path / "p.csv", "1\n")

    assert run(rules, facts).stdout.startswith("3 facts, 2 of them derived; ")


def test_hidden_facts_are_written_on_demand(tmp_path):
    """Without `--all` there is neither a file nor a number of them."""
    rules = write(tmp_path / "rules.dl", "@hidden q .\nq(?x) :- p(?x) .\nr(?x) :- q(?x) .\n")
    facts = write(tmp_path / "p.csv", "1\n")
    without = run(rules, facts, "--output", tmp_path / "some", "--print")
    everything = run(rules, facts, "--output", tmp_path / "all", "--print", "--all")

    assert {path.name for path in (tmp_path / "some").iterdir()} == {"p.csv", "r.csv", "triple.nt"}
    assert (tmp_path / "all" / "q.csv").exists()
    assert without.stdout == "p(1) .\nr(1) .\n"
    assert everything.stdout == "p(1) .\nq(1) .\nr(1) .\n"
    assert without.stderr.startswith("2 facts, 1 of them derived")
    assert everything.stderr.startswith("3 facts, 2 of them derived")


def test_only_facts_that_are_written_are_counted(tmp_path):
    """The statistics count the program's predicates, not the hidden ones of aggregates."""
    rules = write(tmp_path / "rules.dl", AGGREGATES)
    edges = write(tmp_path / "edge.csv", "1,2\n2,3\n1,3\n")
    weights = write(tmp_path / "weight.csv", "1,2,3\n1,3,4\n")
    result = run(rules, edges, weights, "--output", tmp_path / "closure")
    found = {
        path.name: path.read_text("utf-8").splitlines() for path in (tmp_path / "closure").iterdir()
    }

    assert sum(map(len, found.values())) == 13
    # Asserted are three edges, two weights and the fact of the program.
    assert result.stdout.startswith("13 facts, 7 of them derived; ")
    assert set(found) == {
        "triple.nt", "edge.csv", "weight.csv", "degree.csv", "sources.csv", "cost.csv",
        "distance.csv", "free.csv",
    }  # fmt: skip


def test_violations_are_printed_and_counted(tmp_path):
    """Each has the place of its constraint and its text; the exit code tells of them."""
    rules = write(
        tmp_path / "rules.dl",
        '@message late(?x) "{?x} is late" .\n!late(?x) :- order(?x), not shipped(?x) .\n'
        "!idle(?x) :- shipped(?x), not order(?x) .\nknown(?x) :- order(?x) .\n",
    )
    orders = write(tmp_path / "order.csv", "2\n1\n3\n")
    shipped = write(tmp_path / "shipped.csv", "3\n4\n")
    result = run(rules, orders, shipped, "--print")

    assert result.exit_code == 3
    assert "late" not in result.stdout
    assert "known(1) ." in result.stdout
    assert result.stderr.endswith(
        f"{rules}:2:1: 1 is late\n  late(1)\n{rules}:2:1: 2 is late\n  late(2)\n"
        f"{rules}:3:1: idle(4)\n3 violations of 2 constraints.\n"
    )
    assert run(rules, orders, write(tmp_path / "shipped.csv", "1\n2\n3\n")).exit_code == 0


def test_quads_are_written_as_quads(tmp_path):
    """The closure of quads is N-Quads, and reading it derives nothing new."""
    rules = write(tmp_path / "rules.dl", QUADS)
    given = "<a:1> <a:p> <a:2> <a:g> .\n<a:2> <a:p> <a:3> <a:g> .\n<a:3> <a:p> <a:4> _:h .\n"
    run(rules, write(tmp_path / "facts.nq", given), "--output", tmp_path / "first")
    first = sorted((tmp_path / "first/quad.nq").read_text("utf-8").splitlines())

    assert first == sorted([*given.splitlines(), "<a:1> <a:p> <a:3> <a:g> ."])

    result = run(rules, tmp_path / "first/quad.nq", "--output", tmp_path / "again")

    assert sorted((tmp_path / "again/quad.nq").read_text("utf-8").splitlines()) == first
    assert re.match("8 facts, 4 of them derived", result.stdout)


def test_quads_need_a_program_that_has_them(tmp_path):
    """A file with quads is refused by a program that never mentions one."""
    facts = write(tmp_path / "facts.nq", "<a:1> <a:p> <a:2> <a:g> .\n")

    with pytest.raises(DataError, match=r"facts\.nq: The program has no predicate 'quad'"):
        run("rho-df", facts)


def test_the_default_graph_needs_no_quads(tmp_path):
    """A file of N-Quads that names no graph is a file of triples."""
    facts = write(tmp_path / "facts.nq", "<a:1> <a:p> <a:2> .\n")

    assert run("rho-df", facts).stdout.startswith("1 fact, 0 of them derived")


def test_generalized_rdf_is_in_a_separate_file(tmp_path):
    """An RDF parser reads every line of triple.nt; literal subjects are in the other file."""
    graph = (
        "@prefix ex: <http://example.org/> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        'ex:name rdfs:range ex:Name . ex:ann ex:name "Ann" .\n'
    )
    output = tmp_path / "closure"
    result = run("rho-df", write(tmp_path / "graph.ttl", graph), "--output", output)
    valid = [*pyoxigraph.parse(path=output / "triple.nt")]
    apart = (output / "triple.generalized.nt").read_text("utf-8").splitlines()

    assert len(valid) == 2
    assert apart == [f'"Ann" <{RDF.type}> <http://example.org/Name> .']
    assert "Not RDF (for example a literal as subject): 1 triple or quad," in result.stdout

    write(tmp_path / "graph.ttl", graph.replace('"Ann"', "ex:a"))
    run("rho-df", tmp_path / "graph.ttl", "--output", output)
    assert not (output / "triple.generalized.nt").exists()


def test_facts_are_printed_as_in_a_rule_file(tmp_path):
    """Only those of @output, sorted, with the prefixes of the program and of Turtle files."""
    rules = write(tmp_path / "rules.dl", "near(?y, ?x) :- [?x, _, ?y] .\n@output near .\n")
    graph = write(tmp_path / "graph.ttl", "@prefix ex: <http://e.org/> .\nex:b ex:p ex:a, 5 .\n")

    assert run(rules, graph, "--print").stdout == "near(ex:a, ex:b) .\nnear(5, ex:b) .\n"


def test_names_of_columns_are_read_and_written(tmp_path):
    """With --header, the first line of a CSV file is a header, and the output has one too."""
    rules = write(tmp_path / "rules.dl", "path(?x, ?y) :- edge(?x, ?y) .\n")
    edges = write(tmp_path / "edge.csv", "from,to\n1,2\n")
    run(rules, edges, "--header", "--trace", "--output", tmp_path / "out")

    lines = (tmp_path / "out/path.trace.csv").read_text("utf-8").splitlines()
    assert lines[0] == '"a0","a1","iteration","multiplicity"'
    assert len(lines) == 2
    assert run(rules, tmp_path / "out/path.csv", "--header").stdout.startswith("1 fact,")


def test_turtle_has_the_prefixes_of_files_and_program(tmp_path):
    """Sorted, and the same bytes every time; of two prefixes for one IRI the shorter is taken."""
    rules = write(
        tmp_path / "rules.dl", "@prefix e: <http://e/> .\n[?y, e:q, ?x] :- [?x, e:p, ?y] ."
    )
    prefixes = "@prefix g: <http://e/x> .\n@prefix a: <http://a/> .\n"
    facts = write(tmp_path / "facts.ttl", f"{prefixes}g:b <http://e/p> a:c, 1, <http://e/d> .")
    assert run(rules, facts, "--format", "turtle").stdout == (
        "@prefix a: <http://a/> .\n@prefix e: <http://e/> .\n"
        "a:c e:q e:xb .\ne:d e:q e:xb .\ne:xb e:p a:c , e:d , 1 .\n"
    )


@pytest.mark.parametrize(("name", "graph"), [("turtle", ""), ("trig", ""), ("trig", " <a:g>")])
@pytest.mark.parametrize("term", ['"x"@en--ltr', "<<( _:b <a:p> <<( <a:s> <a:p> 'x' )>> )>>", "1"])
def test_the_version_is_announced_where_it_is_needed(tmp_path, name, graph, term):
    """Turtle and TriG say VERSION if an object is a term of RDF 1.2 only, and are read back."""
    rules = write(tmp_path / "rules.dl", QUADS if graph else "@output triple .")
    text = f"GRAPH{graph} {{ <a:s> <a:p> {term} }}" if graph else f"<a:s> <a:p> {term} ."
    facts = write(tmp_path / "facts.trig", text)
    printed = run(rules, facts, "--format", name).stdout
    assert printed.startswith('VERSION "1.2"\n') == (term != "1")
    assert printed.count("VERSION") == (term != "1")
    copy = write(tmp_path / "copy", printed)
    given = run(rules, facts, "--format", "nquads").stdout
    assert run(rules, copy, "--from", name, "--format", "nquads").stdout == given
    assert "VERSION" not in given


def test_facts_are_printed_in_a_format(tmp_path):
    """As a document of the format, which is read as the same facts; or it is refused by name."""
    rules = write(tmp_path / "rules.dl", QUADS)
    given = "<a:1> <a:p> <a:2> <a:g> .\n<a:2> <a:p> <a:3> <a:g> .\n"
    graph = write(tmp_path / "facts.nq", given)
    first = run(rules, graph, "--format", "nquads").stdout
    assert set(first.splitlines()) == {
        f"<a:{s}> <a:p> <a:{o}>{graph} ." for s, o in ("12", "13", "23") for graph in ("", " <a:g>")
    }
    patch = write(tmp_path / "facts.rdfp", run(rules, graph, "--format", "rdf-patch").stdout)
    assert patch.read_text("utf-8").count("TX .") == 1
    assert run(rules, patch, "--format", "nquads").stdout == first
    assert json.loads(run(rules, graph, "--format", "json").stdout.splitlines()[0])["diff"] == 1
    assert run("rho-df", write(tmp_path / "none.nt", ""), "--format", "nquads").stdout == ""

    near = write(tmp_path / "near.dl", "near(?y, ?x) :- [?x, _, ?y] .\n")
    with pytest.raises(DataError, match=r"--format nquads .* those of near would be printed too"):
        run(near, graph, "--format", "nquads")
    with pytest.raises(DataError, match=r"facts of triple only, but those of quad"):
        run(rules, graph, "--format", "ntriples")

    for name in ("trig", "json-ld"):
        text = run(rules, graph, "--format", name).stdout
        assert run(rules, graph, "--format", name).stdout == text
        copy = write(tmp_path / "copy", text)
        assert run(rules, copy, "--from", name, "--format", "nquads").stdout == first
    with pytest.raises(DataError, match=r"facts of triple only, but those of quad"):
        run(rules, graph, "--format", "turtle")

    ranges = "<u:p> <http://www.w3.org/2000/01/rdf-schema#range> <u:C> .\n"
    literal = write(tmp_path / "literal.nt", f'{ranges}<u:s> <u:p> "x" .\n')
    result = run("rho-df", literal, "--format", "ntriples")
    assert len(result.stdout.splitlines()) == 2
    assert "Not RDF (for example a literal as subject): 1 triple or quad," in result.stderr


GRAPHS = """
@prefix : <http://e/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:A rdfs:subClassOf :B .
:g { :x a :A . }
:h { :y a :A . :B rdfs:subClassOf :C . }
"""


def test_rulesets_take_graphs(tmp_path):
    """Refused with the way out, left out, merged, or each by itself."""
    data = write(tmp_path / "g.trig", GRAPHS)
    with pytest.raises(DataError, match=r"Say how graphs count .* `--graphs union`"):
        run("rho-df", data)
    printed = {
        mode: run("rho-df", data, "--graphs", mode, "--format", "nquads").stdout
        for mode in ("default", "union", "each")
    }

    type_of = f"<{RDF.type}>"
    assert f"<http://e/x> {type_of} <http://e/B>" not in printed["default"]
    assert f"<http://e/x> {type_of} <http://e/C> .\n" in printed["union"]
    assert f"<http://e/x> {type_of} <http://e/B> <http://e/g> .\n" in printed["each"]
    assert f"<http://e/y> {type_of} <http://e/C> <http://e/h> .\n" in printed["each"]
    assert f"<http://e/x> {type_of} <http://e/C>" not in printed["each"]


def test_imports_are_not_followed_and_told_once(tmp_path):
    """The ontologies that no file has; one that another file has under its version is there."""
    owl = "http://www.w3.org/2002/07/owl#"
    head = f"@prefix owl: <{owl}> . @base <http://e/> .\n"
    write(tmp_path / "a.ttl", f"{head}<a> a owl:Ontology ; owl:imports <b>, <b/1>, <c>, <d> .")
    write(
        tmp_path / "b.ttl", f"{head}<b> a owl:Ontology ; owl:versionIRI <b/1> ; owl:imports <c> ."
    )
    write(tmp_path / "catalog-v001.xml", "<catalog/>")
    for name in ("materialize", "query"):
        request = [write(tmp_path / "q.rq", "ASK { ?s ?p ?o }")] if name == "query" else []
        arguments = map(str, [name, *request, "rho-df", tmp_path])
        told = CliRunner().invoke(app, [*arguments], catch_exceptions=False).stderr.splitlines()

        assert len(told) == 2, told
        assert "catalog-v001.xml" in told[0]
        assert told[1].startswith(
            "Imported with owl:imports, but not read: <http://e/c>, <http://e/d>."
        )


def test_a_relative_iri_is_resolved_against_the_base_in_all_commands(tmp_path):
    """In files of any name, whose format the command tells."""
    data = write(tmp_path / "data", "<a> <p> <b> .")
    rules = write(tmp_path / "rules.dl", "[?y, ?p, ?x] :- [?x, ?p, ?y] .\n")
    query = write(tmp_path / "q.rq", "SELECT ?s { ?s <p> <b> }")
    shapes = write(
        tmp_path / "shapes.ttl",
        "@prefix sh: <http://www.w3.org/ns/shacl#> . [] a sh:NodeShape ; sh:targetNode <http://e/a>"
        " ; sh:property [ sh:path <http://e/p> ; sh:maxCount 0 ] .",
    )
    how = ["--from", "turtle", "--base", "http://e/"]
    for command, status, said in (
        (["query", query, rules, data], 0, "http://e/a"),
        (
            ["explain", rules, data, "--fact", "[<http://e/b>, <http://e/p>, <http://e/a>]"],
            0,
            "asserted",
        ),
        (["explain-plan", rules, "--data", data], 0, ""),
        (["check-shapes", shapes, "--data", data], 3, "http://e/a"),
        (["shell", rules, data], 0, "triple: +2"),
    ):
        found = CliRunner().invoke(app, [*map(str, command), *how], catch_exceptions=False)
        assert found.exit_code == status, command
        assert said in found.output, command


def test_every_fact_has_its_provenance(tmp_path):
    """Each is described once, derived ones by a rule, and all of their premises are described."""
    text = f"{AGGREGATES}@prefix ex: <http://example.org/> .\n[?x, ex:to, ?y] :- edge(?x, ?y) .\n"
    rules = write(tmp_path / "rules.dl", text)
    edges = write(tmp_path / "edge.csv", "1,2\n2,3\n3,1\n1,3\n")
    weights = write(tmp_path / "weight.csv", "1,2,5\n1,3,4\n")
    file = tmp_path / "prov.ttl"
    found = run(rules, edges, weights, "--provenance", file)
    first = file.read_text()
    run(rules, edges, weights, "--provenance", file)
    assert file.read_text() == first

    said = {}
    for quad in pyoxigraph.parse(first, format=pyoxigraph.RdfFormat.TURTLE):
        said.setdefault(quad.subject, {}).setdefault(quad.predicate.value, []).append(quad.object)
    facts = {
        name: each
        for name, each in said.items()
        if pyoxigraph.NamedNode("http://www.w3.org/ns/prov#Entity") in each.get(str(RDF.type), [])
    }
    count = int(found.stdout.split()[0])
    derived = [each for each in facts.values() if "http://www.w3.org/ns/shacl#sourceRule" in each]
    assert len(facts) == count
    assert len(derived) == int(re.search(r"(\d+) of them derived", found.stdout)[1])
    for each in derived:
        assert {*each["http://www.w3.org/ns/shacl#sourceRule"]} <= said.keys()
        assert {*each.get("http://www.w3.org/ns/prov#wasDerivedFrom", [])} <= facts.keys()


def test_what_is_inferred_is_what_is_not_asserted(tmp_path):
    """Printed, in a format and in files; what is asserted and derived too is left out."""
    rules = write(
        tmp_path / "rules.srl",
        "PREFIX : <http://example.org/> DATA { :c :to :d }"
        " RULE { ?x :to ?z } WHERE { ?x :to ?y . ?y :to ?z }",
    )
    triple = "<http://example.org/{}> <http://example.org/to> <http://example.org/{}> .\n"
    facts = write(tmp_path / "facts.nt", "".join(triple.format(*pair) for pair in ("ab", "bc")))
    expected = {triple.format(*pair) for pair in ("ac", "ad", "bd", "cd")}

    assert len(run(rules, facts, "--inferred", "--print").stdout.splitlines()) == len(expected)
    printed = run(rules, facts, "--inferred", "--format", "nquads").stdout
    assert set(printed.splitlines(keepends=True)) == expected
    run(rules, facts, "--inferred", "--output", tmp_path / "closure")
    written = (tmp_path / "closure" / "triple.nt").read_text()
    assert set(written.splitlines(keepends=True)) == expected
    run(rules, facts, tmp_path / "closure" / "triple.nt", "--inferred", "--output", tmp_path)
    assert (tmp_path / "triple.nt").read_text() == ""
