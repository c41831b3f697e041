"""The programs that are compared between engines, as cases. Invariant: a case has the same rows and
updates for every engine.
"""  # noqa: D205

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks import generators, harness
from benchmarks.peers.case import Case, choose
from streamreasoner import rulesets
from streamreasoner.io.files.documents import load
from streamreasoner.rdf.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
UNIV_BENCH = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
VOCABULARY = (
    f"<{RDF}type>",
    f"<{RDFS}subClassOf>",
    f"<{RDFS}subPropertyOf>",
    f"<{RDFS}domain>",
    f"<{RDFS}range>",
)

CLOSURE = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""

SSSP = """
dist(0, 0) .
dist(?y, min(?d + ?w)) :- dist(?x, ?d), edge(?x, ?y, ?w) .
"""

COMPONENTS = """
component(?x, min(?x)) :- edge(?x, _, _) .
component(?y, min(?y)) :- edge(_, ?y, _) .
component(?y, min(?l)) :- component(?x, ?l), edge(?x, ?y, _) .
component(?x, min(?l)) :- component(?y, ?l), edge(?x, ?y, _) .
"""

TRIANGLES = """
link(?x, ?y) :- edge(?x, ?y, _), ?x < ?y .
link(?x, ?y) :- edge(?y, ?x, _), ?x < ?y .
triangle(?x, ?y, ?z) :- link(?x, ?y), link(?y, ?z), link(?x, ?z) .
"""

CYCLES = """
cycle(?x, ?y, ?z, ?w) :- edge(?x, ?y), edge(?y, ?z), edge(?z, ?w), edge(?w, ?x),
    ?x < ?y, ?x < ?z, ?x < ?w, ?y != ?w .
"""

CLIQUES = """
link(?x, ?y) :- edge(?x, ?y, _), ?x < ?y .
link(?x, ?y) :- edge(?y, ?x, _), ?x < ?y .
clique(?x, ?y, ?z, ?w) :-
    link(?x, ?y), link(?x, ?z), link(?y, ?z), link(?x, ?w), link(?y, ?w), link(?z, ?w) .
"""

# The bodies of queries 2 and 9 of LUBM, without subclasses: the only cyclic ones.
LUBM_CYCLES = """
@prefix ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#> .
graduate(?x, ?y, ?z) :- [?x, a, ub:GraduateStudent], [?y, a, ub:University],
    [?z, a, ub:Department], [?x, ub:memberOf, ?z], [?z, ub:subOrganizationOf, ?y],
    [?x, ub:undergraduateDegreeFrom, ?y] .
taught(?x, ?y, ?z) :- [?x, ub:advisor, ?y], [?x, ub:takesCourse, ?z], [?y, ub:teacherOf, ?z] .
"""

# Zheng and Rugina, "Demand-driven alias analysis for C", POPL 2008, as Graspan and RecStep have it.
CSPA = """
valueFlow(?x, ?y) :- assign(?x, ?y) .
valueFlow(?x, ?x) :- assign(?x, _) .
valueFlow(?x, ?x) :- assign(_, ?x) .
valueFlow(?x, ?y) :- assign(?x, ?z), memoryAlias(?z, ?y) .
valueFlow(?x, ?y) :- valueFlow(?x, ?z), valueFlow(?z, ?y) .
memoryAlias(?x, ?x) :- assign(?x, _) .
memoryAlias(?x, ?x) :- assign(_, ?x) .
memoryAlias(?x, ?w) :- dereference(?y, ?x), valueAlias(?y, ?z), dereference(?z, ?w) .
valueAlias(?x, ?y) :- valueFlow(?z, ?x), valueFlow(?z, ?y) .
valueAlias(?x, ?y) :- valueFlow(?z, ?x), memoryAlias(?z, ?w), valueFlow(?w, ?y) .
"""

# Andersen, "Program analysis and specialization for the C programming language", 1994.
ANDERSEN = """
points(?y, ?x) :- address(?y, ?x) .
points(?y, ?o) :- assign(?y, ?x), points(?x, ?o) .
points(?y, ?o) :- load(?y, ?x), points(?x, ?p), points(?p, ?o) .
points(?p, ?o) :- store(?y, ?x), points(?y, ?p), points(?x, ?o) .
"""

CSDA = """
null(?x, ?y) :- nullEdge(?x, ?y) .
null(?x, ?y) :- null(?x, ?w), flow(?w, ?y) .
"""


def rho_df(scale: int, singles: int, batch: int) -> Case:
    """Distinct triples of univ-bench and LUBM(scale), under a ruleset."""
    return rho_df_of(f"LUBM({scale})", harness.lubm(scale), singles, batch)


def rho_df_of(name: str, paths: Iterable[Path], singles: int, batch: int) -> Case:
    """Distinct triples of files and folders, which have their schema too, under the same rules."""
    rules = rulesets.text("rho-df")
    return _of_triples(f"rho-df on {name}", "rho-df", rules, ("triple",), paths, singles, batch)


def schema_edge(case: Case, repeats: int) -> Case:
    """The triples of `rho_df`, of which one edge of the schema goes and comes back.

    Few facts change, but every professor loses, and gains, some of several derivations.
    """
    terms = (f"<{UNIV_BENCH}Professor>", f"<{RDFS}subClassOf>", f"<{UNIV_BENCH}Faculty>")
    row = case.numbers(pa.array(terms, pa.large_string())).astype(np.int32)[None]
    name = f"schema edge, {case.name}"
    return replace(case, name=name, singles=np.repeat(row, repeats, axis=0), batch=row)


def lubm_cycles(scale: int, singles: int, batch: int) -> Case:
    """The cyclic queries of LUBM, on the same triples."""
    outputs = ("graduate", "taught")
    name = f"LUBM queries 2 and 9 on LUBM({scale})"
    return _of_triples(name, "", LUBM_CYCLES, outputs, harness.lubm(scale), singles, batch)


def _of_triples(
    name: str,
    task: str,
    rules: str,
    outputs: tuple[str, ...],
    paths: Iterable[Path],
    singles: int,
    batch: int,
) -> Case:
    dictionary = Dictionary()
    parameters = tuple(dictionary.intern(term) for term in VOCABULARY)
    triples = np.concatenate([facts.args for path in paths for facts in load(path, dictionary)])
    rows = np.unique(triples, axis=0)

    def terms(ids: NDArray[np.integer]) -> pa.LargeStringArray:
        return dictionary.decode(ids.astype(np.int32))

    def numbers(texts: pa.LargeStringArray) -> NDArray[np.int64]:
        return dictionary.encode(texts).astype(np.int64)

    return Case(
        name,
        task,
        rules,
        ("triple",),
        outputs,
        rows,
        *choose(rows, singles, batch),
        parameters,
        terms,
        numbers,
    )


def closure(name: str, edges: NDArray[np.int32], singles: int, batch: int) -> Case:
    """Transitive closure of a graph."""
    chosen = choose(edges, singles, batch)
    name = f"closure of {name}"
    return Case(name, "closure", CLOSURE, ("edge",), ("path",), edges, *chosen)


def sssp(edges: NDArray[np.int32], singles: int, batch: int) -> Case:
    """Shortest distances from node 0 over weighted edges."""
    chosen = choose(edges, singles, batch)
    name = f"shortest paths, {len(edges):,} edges"
    return Case(name, "sssp", SSSP, ("edge",), ("dist",), edges, *chosen, (0,))


def components(edges: NDArray[np.int32], singles: int, batch: int) -> Case:
    """The least node of every node's component."""
    chosen = choose(edges, singles, batch)
    name = f"components, {len(edges):,} edges"
    return Case(name, "components", COMPONENTS, ("edge",), ("component",), edges, *chosen)


def triangles(edges: NDArray[np.int32], singles: int, batch: int) -> Case:
    """Triples of nodes with an edge, in either direction, between each two."""
    chosen = choose(edges, singles, batch)
    name = f"triangles, {len(edges):,} edges"
    return Case(name, "triangles", TRIANGLES, ("edge",), ("triangle",), edges, *chosen)


def cycles(edges: NDArray[np.int32], singles: int, batch: int) -> Case:
    """Directed cycles of four nodes, each from its least node."""
    chosen = choose(edges, singles, batch)
    name = f"four-cycles, {len(edges):,} edges"
    return Case(name, "cycles", CYCLES, ("edge",), ("cycle",), edges, *chosen)


def cliques(edges: NDArray[np.int32], singles: int, batch: int) -> Case:
    """Sets of four nodes with an edge, in either direction, between each two."""
    chosen = choose(edges, singles, batch)
    name = f"four-cliques, {len(edges):,} edges"
    return Case(name, "cliques", CLIQUES, ("edge",), ("clique",), edges, *chosen)


def cspa(program: str, scale: float, singles: int, batch: int) -> Case:
    """Context-sensitive points-to analysis of a synthetic program."""
    rows = tagged(*generators.points_to(program, scale))
    return Case(
        f"CSPA, {program} x {scale:g}, {len(rows):,} edges",
        "cspa",
        CSPA,
        ("assign", "dereference"),
        ("valueFlow", "memoryAlias", "valueAlias"),
        rows,
        *choose(rows, singles, batch),
    )


def csda(procedures: int, singles: int, batch: int) -> Case:
    """Where null values of a synthetic program may flow."""
    rows = tagged(*generators.data_flow(procedures))
    return Case(
        f"CSDA, {len(rows):,} edges",
        "csda",
        CSDA,
        ("nullEdge", "flow"),
        ("null",),
        rows,
        *choose(rows, singles, batch),
    )


def andersen(variables: int, singles: int, batch: int) -> Case:
    """What the pointers of a synthetic program may point to."""
    rows = tagged(*generators.pointers(variables))
    return Case(
        f"Andersen, {variables:,} variables, {len(rows):,} edges",
        "andersen",
        ANDERSEN,
        ("address", "assign", "load", "store"),
        ("points",),
        rows,
        *choose(rows, singles, batch),
    )


def tagged(*relations: NDArray[np.int32]) -> NDArray[np.int32]:
    """Rows of all relations, each after the index of its relation, filled up with 0."""
    widest = max(rows.shape[1] for rows in relations)
    return np.concatenate(
        [
            np.pad(np.insert(rows, 0, number, axis=1), ((0, 0), (0, widest - rows.shape[1])))
            for number, rows in enumerate(relations)
        ]
    ).astype(np.int32)
