"""Golden programs as values. Invariant: what is expected comes from the oracle, not the engine.

A case is a folder; README.md says what its files hold and how they are written.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from oracle import closure, derived, evaluate, readable, total

from streamreasoner.lang.ast import NOWHERE, Atom, Constant
from streamreasoner.lang.parser import parse
from streamreasoner.lang.printer import print_directive, print_literal
from streamreasoner.program.load import load_program

if TYPE_CHECKING:
    from streamreasoner.program.checked import CheckedProgram

_EPOCH = re.compile(r"== epoch: .+ ==")
_UPDATE = re.compile(r"([+-])(\d*)(?= )")

CUTS = {
    "one epoch": lambda updates: [updates],
    "singletons": lambda updates: [[update] for update in updates],
    "backwards": lambda updates: [[update] for update in reversed(updates)],
    "shuffled": lambda updates: _shuffled(updates, random.Random(1)),
    "shuffled again": lambda updates: _shuffled(updates, random.Random(2)),
}
"""Ways to cut the updates of a case into epochs."""


def _shuffled(updates, generator):
    """Epochs of one to four updates, in random order."""
    left = generator.sample(updates, len(updates))
    epochs = []
    while left:
        size = generator.randint(1, 4)
        epochs.append(left[:size])
        del left[:size]
    return epochs


@dataclass(frozen=True)
class Case:
    """A program, what happens to it, and what follows.

    Attributes:
        folder: Where its files are.
        checked: The CheckedProgram.
        titles: The line that begins each epoch.
        epochs: Per epoch the updates (predicate, args, multiplicity).
        prefixes: Those of the program and of the epochs, name to IRI.
    """

    folder: Path
    checked: CheckedProgram
    titles: tuple[str, ...]
    epochs: tuple[list[tuple[str, tuple[str, ...], int]], ...]
    prefixes: dict[str, str]

    @property
    def expected(self):
        """The file of what is expected."""
        return self.folder / "expected.txt"

    @property
    def updates(self):
        """The updates of all epochs."""
        return [update for epoch in self.epochs for update in epoch]

    @cached_property
    def traces(self):
        """What the oracle says the trace is after each epoch."""
        return tuple(
            evaluate(self.checked, total(self.epochs[:number]))
            for number in range(1, len(self.epochs) + 1)
        )

    @property
    def closures(self):
        """The facts that are present after each epoch, for the oracle."""
        return tuple(closure(trace) for trace in self.traces)

    @property
    def readable(self):
        """What rules read after each epoch, the facts of the helpers of bodies too."""
        return tuple(
            readable(evaluate(self.checked, total(self.epochs[:number]), helpers=True))
            for number in range(1, len(self.epochs) + 1)
        )

    @property
    def changes(self):
        """For each epoch the oracle's changes of derived facts, as (fact, sign), unordered."""
        states = [set(), *(derived(trace) for trace in self.traces)]
        return tuple(
            [(fact, 1) for fact in new - old] + [(fact, -1) for fact in old - new]
            for old, new in pairwise(states)
        )

    def render(self, changes, trace):
        """The text of `expected.txt` for changes by epoch, and a final trace."""
        lines = []
        for title, epoch in zip(self.titles, changes, strict=True):
            lines += [title, *sorted((self._change(*change) for change in epoch), key=_by_fact), ""]
        lines += ["== trace ==", *sorted(self._counts(*entry) for entry in trace.items())]
        return "".join(f"{line}\n" for line in lines)

    def _change(self, fact, sign):
        return f"{'+' if sign > 0 else '-'} {self._fact(fact)}"

    def _counts(self, fact, counts):
        printed = ", ".join(f"{iteration}: {counts[iteration]}" for iteration in sorted(counts))
        return f"{self._fact(fact)} {{{printed}}}"

    def _fact(self, fact):
        predicate, terms = fact
        arguments = tuple(Constant(term, NOWHERE) for term in terms)
        return print_literal(Atom(predicate, arguments, NOWHERE), self.prefixes)


def read(folder):
    """The case in a folder.

    Raises:
        ValueError: A line of `epochs.txt` is not an update of facts that the program has.
        StreamReasonerError: A file is missing, or its rules, prefixes or terms have mistakes.
    """
    ruleset = folder / "ruleset.txt"
    program = ruleset.read_text("utf-8").strip() if ruleset.exists() else folder / "program.dl"
    checked = load_program(program)
    titles, epochs, prefixes = read_epochs(folder / "epochs.txt", checked)
    return Case(folder, checked, titles, epochs, {**checked.program.prefixes, **prefixes})


@cache
def read_all():
    """Every case next to this module, by name."""
    return {
        path.name: read(path)
        for path in sorted(Path(__file__).parent.iterdir())
        if (path / "epochs.txt").exists()
    }


def read_epochs(path, checked):
    """Titles, epochs and prefixes. Signs and titles are cut out, the rest is a text of facts."""
    titles, facts, signs = [], [], {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        update = _UPDATE.match(line)
        if _EPOCH.fullmatch(line):
            titles.append(line)
        elif update:
            signs[number] = (len(titles) - 1, int(update[1] + (update[2] or "1")))
        facts.append("" if line.startswith("==") else line[update.end() if update else 0 :])
    # On the first line, so that numbers of lines are those of the file.
    directives = " ".join(map(print_directive, checked.program.directives))
    program = parse(f"{directives} " + "\n".join(facts), str(path))
    epochs = tuple([] for _ in titles)
    for rule in program.rules:
        epoch, multiplicity = signs.get(rule.span.line, (-1, 0))
        for head in rule.heads:
            constant = all(isinstance(argument, Constant) for argument in head.arguments)
            known = checked.arities.get(head.predicate) == head.arity
            if epoch < 0 or rule.body or not multiplicity or not constant or not known:
                raise ValueError(f"{path}:{rule.span.line}: This is not an update of a fact.")
            args = tuple(argument.term for argument in head.arguments)
            epochs[epoch].append((head.predicate, args, multiplicity))
    return tuple(titles), epochs, program.prefixes


def _by_fact(line):
    return line[2:], line[0]
