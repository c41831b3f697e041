"""Nothing is compiled once a pipeline is ready: every call of a kernel has types that are prepared.

The calls are found in two ways: in the text of the package, and in epochs of every kind.
"""

from __future__ import annotations

import ast
import itertools
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from teams import backend_in_threads

import streamreasoner
from streamreasoner import Reasoner, Update
from streamreasoner.backends.columnar import backend, parallel
from streamreasoner.backends.columnar.backend import ColumnarBackend
from streamreasoner.backends.columnar.compiler import intersections
from streamreasoner.backends.columnar.kernels.joining import derive
from streamreasoner.backends.store import columnar, parts_backend
from streamreasoner.engine import cost_model, recomputation
from streamreasoner.engine.ports import Effort
from streamreasoner.engine.session import Session
from streamreasoner.engine.updates import Updates
from streamreasoner.errors import MultiplicityOverflowError
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.registry import of_name
from streamreasoner.pipeline.warming import kernels
from streamreasoner.pipeline.warming.kernels import KERNELS
from streamreasoner.plan.program_plan import InputSources, keys_of, latest_of
from streamreasoner.program import check_text

ROOT = Path(streamreasoner.__file__).parent
PREPARED = {}
for _kernel, _arguments in KERNELS:
    PREPARED.setdefault(_kernel, set()).add(tuple(map(_kernel.typeof_pyval, _arguments)))
PROGRAM = """
@expires lives/1 after "PT1S" .
path(?x, ?y) :- e(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), e(?y, ?z) .
d(?x, min(?x)) :- e(?x, _) .
d(?y, min(?l + 1)) :- d(?x, ?l), e(?x, ?y) .
n(?x, count(?y)) :- e(?x, ?y) .
all(?x, max(concat(str(?y), "x"))) :- e(?x, ?y) .
list(?x, group_concat(str(?y), " ")) :- e(?x, ?y) .
leaf(?y) :- e(_, ?y), not e(?y, _) .
t(?x, ?z) :- e(?x, ?y), e(?y, ?z), e(?x, ?z), ?x < ?z, ?y + 1 >= ?x .
gone(?x) :- lives(?x), ?x = ?x .
size(?n) :- ?n = 2 ** 10 .
@input big/1 .
said(?x) :- asserted path(?x, _) .
"""
MORE = (
    "m(?x, max(?y)) :- e(?x, ?y) . k(min(?x), ?y) :- e(?x, ?y) .",
    "s(?x, sum(?y)) :- e(?x, ?y) . u(?x) :- t(?x, ?y), not d(?x, ?y) .",
    "u(?x) :- d(?x, ?l), d(?l, ?y), e(?y, ?x) .",
)


def is_of_kernels(path):
    """Whether a module has kernels."""
    return "kernels" in path.parts or "native" in path.parts


def calls(path):
    """The names of other modules of the package that a module uses."""
    tree = ast.parse(path.read_text("utf-8"))
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("streamreasoner"):
            modules |= {name.asname or name.name: (node.module, name.name) for name in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules:
                yield ".".join(modules[node.value.id]), node.attr
        elif isinstance(node, ast.Name) and node.id in modules:
            yield modules[node.id]


def test_every_kernel_that_python_calls_is_prepared():
    """A call that is added to the package needs a row in the list."""
    prepared = {(kernel.py_func.__module__, kernel.py_func.__name__) for kernel in PREPARED}
    called = {
        (module, name)
        for path in ROOT.rglob("*.py")
        if not is_of_kernels(path.relative_to(ROOT)) and path != Path(kernels.__file__)
        for module, name in calls(path)
        if type(getattr(sys.modules.get(module), name, None)) is type(derive.derive)
    }
    assert called == prepared


@pytest.fixture
def seen(monkeypatch):
    """The calls of kernels, by kernel: the types of their arguments."""
    found = {kernel: set() for kernel in PREPARED}

    def watched(kernel):
        def call(*arguments):
            found[kernel].add(tuple(map(kernel.typeof_pyval, arguments)))
            return kernel(*arguments)

        return call

    watchers = {id(kernel): watched(kernel) for kernel in PREPARED}
    for name, module in list(sys.modules.items()):
        if name.startswith("streamreasoner.") and name != kernels.__name__:
            for attribute, value in list(vars(module).items()):
                if id(value) in watchers:
                    monkeypatch.setattr(module, attribute, watchers[id(value)])
    return found


def edges(*pairs, diff=1):
    """Updates of edges."""
    return [Update("e", pair, diff) for pair in pairs]


class Anew(ColumnarBackend):
    """A backend whose epochs are evaluated anew, at once or after some work."""

    derivations = itertools.cycle((0, 1000, 1, 0))

    def effort(self):
        """What a load would take, next to which an epoch takes much or little."""
        return Effort(asserted=1 << 20, derivations=next(self.derivations), work=0)


class Shared(ColumnarBackend):
    """A backend whose epochs are all large."""

    large = 1


def on_parts(plan, dictionary, _):
    """A state in two parts."""
    return parts_backend(plan, dictionary, 2)


def in_threads(plan, dictionary, _):
    """A state in two parts that exchange parcels."""
    return backend_in_threads(plan, dictionary)


def run_epochs(kind):
    """Loads, changes of facts and rules, failures, growth, questions and a restart."""
    program = check_text(PROGRAM)
    reasoner = Reasoner(program, store=columnar(kind=kind), allowed_lateness=timedelta(0))
    ring = [(n, n + 1) for n in range(40)] + [(n, n + 2) for n in range(40)]
    reasoner.apply([*edges(*ring), Update("lives", (7,), ts=1)])
    reasoner.apply([*edges((0, 1), (3, 5), diff=-1), Update("lives", (8,), ts=5_000)])
    reasoner.advance(60_000)
    for rules in MORE:
        reasoner.add_rules(rules)
    reasoner.apply(edges((2, 0)))
    for rules in MORE:
        reasoner.remove_rules(rules)
    with pytest.raises(MultiplicityOverflowError):
        reasoner.apply([Update("e", (1, 2), 1 << 57)] * 3)
    reasoner.apply([Update("big", (1,), 1 << 58)])
    for rules in MORE:
        with pytest.raises(MultiplicityOverflowError):
            reasoner.add_rules(rules + "big(1) .")
    with pytest.raises(MultiplicityOverflowError):
        reasoner.apply([Update("big", (1,), 2)])
    without = PROGRAM.replace("n(?x, count(?y)) :- e(?x, ?y) .", "big(1) .")
    with pytest.raises(MultiplicityOverflowError):
        reasoner.change_program(check_text(without))
    read = pa.array([1] * 3000).to_numpy(zero_copy_only=True)
    ids = reasoner.session.dictionary.encode(pa.array([f'"{n}"' for n in range(6000)]))
    reasoner.session.apply([Updates("e", ids.reshape(-1, 2), read)])
    reasoner.session.apply([Updates("e", ids[:2].reshape(1, 2), np.ones(1, np.int64), iteration=1)])
    reasoner.session.dictionary.is_iri(ids)
    reasoner.explain("leaf", 1)
    reasoner.explain("path", 0, 5)
    reasoner.explain("path", 5, 0)
    reasoner.session.engine.asserted("e", reasoner.session.engine.facts("e"))
    reasoner.session.engine.rehearse(())
    rows = [reasoner.session.engine.trace(predicate) for predicate in program.arities]
    again = Session(program, columnar(reasoner.session.dictionary, kind))
    again.engine.restore(rows, before=9)


def run_file(folder):
    """A file that has a triple twice, and more triples than the first slots."""
    path = folder / "facts.nt"
    path.write_text("".join(f"<a:{n % 9000}> <a:y> <a:z> .\n" for n in range(9001)))
    Reasoner(check_text("q(?s) :- [?s, _, _] .")).load(path)


def run_messages():
    """Messages in JSON and in lines, with keys and without."""
    sources = InputSources(("in",), ("one",))
    program = check_text("q(?s) :- [?s, _, _] .")
    reasoner = Reasoner.of_session(Session(program, columnar(), sources=sources))
    for format_, value in (
        ("json", b'{"s":"<a:x>","p":"<a:y>","o":"\\"\\\\u0041 1\\"","diff":1}'),
        ("nquads", b"<a:x> <a:y> <a:z> .\n<a:x> <a:y> <a:w> ."),
    ):
        options = InputOptions(
            max_message_bytes=1024, max_term_bytes=1024, default=of_name(format_)
        )
        batch = pa.table(
            {
                "value": pa.array([value, value], pa.binary()),
                "timestamp": pa.array([0, 0], pa.timestamp("us", "UTC")),
                "headers": pa.nulls(2),
            }
        )
        codec = Codec(reasoner.session.dictionary, reasoner.program.arities, options)
        reasoner.session.apply(codec.decode(batch).updates)
    terms = reasoner.session.dictionary.encode(pa.array(["<a:k>", "<a:x>", "<a:y>", "<a:z>"]))
    for _ in range(2):
        parts = (keys_of("one"), terms[:1]), (latest_of("one", "triple"), terms)
        reasoner.session.apply(
            Updates(name, ids.reshape(1, -1), np.ones(1, np.int64), None, "one", np.arange(1))
            for name, ids in parts
        )
    reasoner.query("SELECT ?s { ?s <a:y> ?o }")
    assert len([*reasoner.graph()]) == len(reasoner.facts())


def run_hierarchy():
    """Edges come and go above two entities, whose copies are not stored."""
    program = check_text("in(?x, ?d) :- in(?x, ?c), part(?c, ?d) .")
    reasoner = Reasoner(program, hierarchies="encoded")
    reasoner.apply([Update("part", (n, n + 1)) for n in range(3)])
    reasoner.apply([Update("in", (each, 0)) for each in ("x", "y")])
    assert len(reasoner.apply([Update("part", (1, 2), -1)]).derived) == 2 * 2
    assert len(reasoner.trace("in")) == 2 * 2


def test_epochs_of_all_kinds_call_what_is_prepared(seen, monkeypatch, tmp_path):
    """One thread and two, evaluated anew, logged, cyclic, of many sources: no type is new."""
    monkeypatch.setattr(parallel.Threads, "allowed", lambda: True)
    for kind in (ColumnarBackend, Shared, on_parts, in_threads):
        run_epochs(kind)
    monkeypatch.setattr(backend, "LOGGED", 1)
    monkeypatch.setattr(intersections, "SHARE", 0)
    monkeypatch.setattr(intersections, "PATIENCE", 1)
    run_epochs(Shared)
    monkeypatch.setattr(recomputation, "FEW", 0)
    monkeypatch.setattr(cost_model, "LEAST", 0)
    run_epochs(Anew)
    run_messages()
    run_file(tmp_path)
    run_hierarchy()
    new = {kernel: types - PREPARED[kernel] for kernel, types in seen.items()}
    assert {kernel.py_func.__name__: types for kernel, types in new.items() if types} == {}
    missed = {
        f"{kernel.py_func.__module__.rpartition('.')[2]}.{kernel.py_func.__name__}"
        for kernel, types in seen.items()
        if not types
    }
    assert missed == {"comparing.compare", "integers.intern_integer"}


def test_the_image_has_each_of_them():
    """Nothing is compiled in a process that has the image."""
    for kernel, types in PREPARED.items():
        for each in types:
            kernel.compile(each)
            assert not hasattr(kernel.overloads[each], "library"), kernel.py_func
