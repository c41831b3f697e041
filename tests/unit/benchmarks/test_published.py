"""Tasks that others publish figures of: inputs, rules and comparisons are what they should be."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import borrows, calls, generators, ontologies, programs, published
from benchmarks.peers import AbsentError, crates, duckdb_sql, flowlog, ours, polonius

# The first rows of the graph of 100 nodes that the benchmark of Logica prints.
PRINTED = {(15, 6), (10, 76), (77, 42), (0, 23), (84, 67), (77, 34), (46, 55)}
ORIGIN, LOAN, VARIABLE, PATH = 10, 20, 30, 40


def function(**tables):
    """A function of six points, of whose facts all but those given are empty."""
    tables["edge"] = [(point, point + 1) for point in range(5)]
    parts = [
        np.array(tables.get(name, []), np.int32).reshape(-1, width)
        for name, _, width in borrows.INPUTS
    ]
    return borrows.case("a function", parts, 0, 0)


def derived(case):
    """What the rules of a case derive."""
    driver = ours.Driver(case)
    driver.apply(driver.encode(case.rows, 1))
    return {name: {*map(tuple, driver.facts(name).tolist())} for name in case.outputs}


LOANED = {
    "issued": [(ORIGIN, LOAN, 1)],
    "used": [(VARIABLE, 4)],
    "usesOrigin": [(VARIABLE, ORIGIN + 1)],
    "subsetBase": [(ORIGIN, ORIGIN + 1, 1)],
}


@pytest.mark.parametrize(
    ("more", "errors"),
    [
        ({"invalidated": [(3, LOAN)]}, {(LOAN, 3)}),
        ({"invalidated": [(5, LOAN)]}, set()),
        ({"invalidated": [(3, LOAN)], "killed": [(LOAN, 2)]}, set()),
        ({"invalidated": [(3, LOAN)], "defined": [(VARIABLE, 3)]}, set()),
    ],
    ids=["live", "not used later", "killed", "assigned"],
)
def test_a_loan_that_is_invalidated_while_it_is_live_is_an_error(more, errors):
    """A reference that is used later makes its loan live, until it is killed or assigned."""
    assert derived(function(**LOANED, **more))["error"] == errors


def test_a_path_that_is_used_after_its_parent_moved_is_an_error():
    """Until it is assigned again."""
    tables = {
        "childPath": [(PATH + 1, PATH)],
        "movedBase": [(PATH, 1)],
        "accessedBase": [(PATH + 1, 2), (PATH + 1, 5)],
        "assignedBase": [(PATH, 4)],
    }

    assert derived(function(**tables))["moveError"] == {(PATH + 1, 2)}


def test_an_origin_of_the_signature_has_only_the_subsets_it_declares():
    """A declared one may follow from two others; an undeclared one is an error."""
    one, two, three = ORIGIN, ORIGIN + 1, ORIGIN + 2
    tables = {
        "universal": [(one,), (two,), (three,)],
        "subsetBase": [(one, three, 4), (three, one, 5)],
        "knownBase": [(one, two), (two, three)],
    }

    assert derived(function(**tables))["subsetError"] == {(three, one, 5)}


def test_an_object_in_a_field_is_called_by_its_type():
    """A method that is reached writes an object into a field; what is read there is called."""
    main, over, inherited, other = range(10, 14)
    top, sub = 1, 2
    base, value, read, receiver, unused = range(20, 25)
    box, thing, lost = 30, 31, 32
    field, signature, site = 40, 41, 42
    tables = {
        "main": [(main,)],
        "extends": [(sub, top)],
        "implements": [(top, signature, inherited), (sub, signature, over)],
        "within": [(v, main) for v in (base, value, read, site)] + [(unused, other)],
        "alloc": [(base, box), (value, thing), (unused, lost)],
        "typed": [(box, top), (thing, sub), (lost, top)],
        "read": [(read, base, field)],
        "write": [(base, field, value)],
        "virtual": [(site, read, signature)],
        "this": [(over, receiver)],
    }

    found = derived(
        calls.case(
            "a program",
            {
                name: np.array(tables.get(name, []), np.int32).reshape(-1, width)
                for name, width in calls.INPUTS.items()
            },
            0,
            0,
        )
    )

    assert found["stored"] == {(box, field, thing)}
    assert found["calls"] == {(site, over)}
    assert found["reachable"] == {(main,), (over,)}
    assert found["points"] == {(base, box), (value, thing), (read, thing), (receiver, thing)}


def test_facts_of_rustc_are_read_as_it_writes_them(tmp_path):
    """Texts are numbered alike in all files, and a file of nothing has no facts."""
    for _, file, _ in borrows.INPUTS:
        (tmp_path / f"{file}.facts").write_text("")
    (tmp_path / "cfg_edge.facts").write_text('"Start(bb0[0])"\t"Mid(bb0[0])"\n' * 2)
    (tmp_path / "loan_issued_at.facts").write_text('"\'?1"\t"bw0"\t"Mid(bb0[0])"\n')

    tables = borrows.read(tmp_path)

    assert [table.shape[1] for table in tables] == [width for _, _, width in borrows.INPUTS]
    assert [len(table) for table in tables] == [1, 0, 1, *[0] * 14]
    (edge,), (issued,) = tables[0].tolist(), tables[2].tolist()
    assert edge[1] == issued[2]
    assert len({*edge, *issued}) == 4


def test_facts_that_are_not_there_are_named(tmp_path):
    """So are the axioms of GALEN."""
    with pytest.raises(AbsentError, match=r"cfg_edge\.facts"):
        borrows.read(tmp_path)
    with pytest.raises(AbsentError, match=r"isMainClass\.csv\.gz"):
        ontologies.read(tmp_path)


def test_axioms_are_read_as_nemo_writes_them(tmp_path):
    """The classes of the rules have their numbers, and a file of nothing has no axioms."""
    texts = {
        "isMainClass": "<a>\n",
        "conj": "9_1_0,<a>,9_1_0\n",
        "subClassOf": "<a>,<http://www.w3.org/2002/07/owl#Nothing>\n",
    }
    for name in ontologies.INPUTS:
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(texts.get(name, "").encode()))

    axioms = ontologies.read(tmp_path)

    assert [table.shape[1] for table in axioms.values()] == [*ontologies.INPUTS.values()]
    assert sum(map(len, axioms.values())) == 3
    ((class_,),) = axioms["isMainClass"].tolist()
    ((one, two, three),) = axioms["conj"].tolist()
    assert axioms["subClassOf"].tolist() == [[class_, ontologies.NOTHING]]
    assert (two, three) == (class_, one)
    assert len({class_, one, ontologies.THING, ontologies.NOTHING}) == 4


A, B, C, D, R, S, T, X, Y = range(2, 11)


@pytest.mark.parametrize(
    ("more", "classes"),
    [
        ({"subClassOf": [(A, B), (B, C)]}, {B, C}),
        ({"subClassOf": [(A, X)], "conj": [(X, B, C)]}, {B, C}),
        (
            {"subClassOf": [(A, B), (A, C), (X, D)], "conj": [(X, B, C)], "isSubClass": [X]},
            {B, C, D},
        ),
        ({"subClassOf": [(A, B), (A, C), (X, D)], "conj": [(X, B, C)]}, {B, C}),
        (
            {
                "subClassOf": [(A, X), (B, C), (Y, D)],
                "exists": [(X, R, B), (Y, S, C)],
                "isSubClass": [Y],
                "subProp": [(R, R), (R, S)],
            },
            {D},
        ),
        (
            {
                "subClassOf": [(A, X), (B, X + 2), (Y, D)],
                "exists": [(X, R, B), (X + 2, S, C), (Y, T, C)],
                "isSubClass": [Y],
                "subProp": [(R, R), (S, S), (T, T)],
                "subPropChain": [(R, S, T)],
            },
            {D},
        ),
        (
            {"subClassOf": [(A, X), (B, ontologies.NOTHING)], "exists": [(X, R, B)]},
            {ontologies.NOTHING},
        ),
    ],
    ids=["chain", "members", "conjunction", "unused", "restriction", "property chain", "empty"],
)
def test_a_class_is_below_what_its_axioms_imply(more, classes):
    """An expression that is below nothing is not sought."""
    parts = {
        name: np.array(more.get(name, []), np.int32).reshape(-1, width)
        for name, width in ontologies.INPUTS.items()
    }
    parts["isMainClass"] = np.array([[A], [B], [C], [D]], np.int32)

    found = derived(ontologies.case("one", parts, 0, 0))

    below = {wider for class_, wider in found["subsumedBy"] if class_ == A}
    assert below - {A, X, Y, ontologies.THING} == classes
    assert {wider for class_, wider in found["mainSubClassOf"] if class_ == A} == {A} | (
        classes - {ontologies.NOTHING}
    )


def test_a_made_up_ontology_has_axioms_of_each_kind():
    """Distinct ones; properties stand where properties belong, and rules have something to do."""
    axioms = ontologies.made_up(120)
    properties = np.unique(axioms["subProp"])

    assert all(len(rows) == len(np.unique(rows, axis=0)) > 0 for rows in axioms.values())
    assert len(properties) == ontologies.ROLES
    assert np.isin(axioms["subPropChain"], properties).all()
    assert np.isin(axioms["exists"][:, 1], properties).all()
    for name, columns in (("subClassOf", (0, 1)), ("conj", (0, 1, 2)), ("exists", (0, 2))):
        assert not np.isin(axioms[name][:, columns], properties).any()
    found = derived(ontologies.case("one", axioms, 0, 0))
    assert np.isin(axioms["conj"][:, 0], [wider for _, wider in found["subsumedBy"]]).any()
    assert len(found["mainSubClassOf"]) > len(axioms["subClassOf"])


def test_relations_of_several_widths_are_rows_of_one():
    """Columns that a relation does not have are not its arguments."""
    tables = ontologies.made_up(60)
    case = ontologies.case("one", tables, 0, 0)

    parts = case.split(case.rows)

    assert {name: part.tolist() for name, part in parts.items()} == {
        name: table.tolist() for name, table in tables.items()
    }


def test_the_graphs_of_logica_are_those_it_prints():
    """Edges are distinct, without loops, and fewer than ten for each node only by that."""
    edges = duckdb_sql.hashed(100)

    assert {*map(tuple, edges.tolist())} >= PRINTED
    assert (edges[:, 0] != edges[:, 1]).all()
    assert 900 < len(edges) <= 1_000
    assert len(np.unique(edges, axis=0)) == len(edges)


@pytest.mark.parametrize(
    ("name", "rules"),
    [("borrows", borrows.RULES), ("calls", calls.RULES), ("ontology", ontologies.RULES)],
)
def test_programs_of_flowlog_have_our_rules(name, rules):
    """One by one, in its notation."""

    def words(text):
        return {re.sub(r"\s", "", rule).lower() for rule in re.split(r"\s?\.\n", text) if rule}

    theirs = (crates.FOLDER / flowlog.CRATE / "programs" / f"{name}.dl").read_text()
    spoken = "".join(line for line in theirs.splitlines(keepends=True) if line[0] != ".")

    mine = rules.strip("\n").replace("?", "").replace("not ", "!") + "\n"
    assert words(spoken) == words(mine)


def test_an_engine_with_other_facts_is_counted():
    """Of all rows, and of those that are left."""
    edges = generators.uniform(12, 30)
    case = replace(programs.closure("a graph", edges, 0, 0), batch=edges[:5])
    every, rest = ours.run(case), ours.run(replace(case, rows=edges[5:], batch=edges[:0]))

    assert published.disagree([(every, rest), (every, rest)], case) == 0
    assert published.disagree([(every, rest), (rest, rest)], case) == 1
    assert published.disagree([(every, every)], case) == 1


def test_figures_of_others_are_told_of_tasks_that_ran():
    """Each with our load."""
    load = {"processor": 1.5, "wall": 2.0}
    rows = [{"engine": "streamreasoner", "load": load}, {"engine": "Nemo", "load": load}]

    told = published.known({"closure of g1,000, 9,949 edges; 0 single rows": {"rows": rows}})

    assert [row[:3] for row in told["rows"]] == [
        ["closure of g1,000", "Nemo", 3.35],
        ["closure of g1,000", "Logica on DuckDB", 9.06],
        ["closure of g1,000", "Soufflé, compiled", 0.58],
    ]
    assert {row[-1] for row in told["rows"]} == {1.5}


def test_figures_of_another_input_stand_alone():
    """Our load would look as if it could be compared with them."""
    rows = [{"engine": "streamreasoner", "load": {"processor": 1.5, "wall": 2.0}}]

    told = published.known({"points-to and calls of one, 5 facts; 0 single rows": {"rows": rows}})

    assert len(told["rows"]) == 2
    assert {row[-1] for row in told["rows"]} == {""}


@pytest.mark.parametrize("seed", range(3))
def test_a_made_up_function_has_loans_that_are_errors(seed):
    """And others that are not, so that a check of it says something."""
    found = derived(borrows.case("a function", borrows.made_up(100, seed), 0, 0))

    assert 0 < len(found["error"]) < len(found["loanLive"])
    assert found["subset"]


def test_polonius_checks_borrows_alone():
    """Another task is said to be absent."""
    with pytest.raises(AbsentError):
        polonius.run(programs.closure("a graph", generators.chain(3), 0, 0))
