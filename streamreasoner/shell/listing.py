"""Queries over the state, as lines. Invariant: read-only and deterministically ordered."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamreasoner.counts import counted
from streamreasoner.facts import decode_facts, in_order, matching, sort_key
from streamreasoner.lang.ast import TRIPLE, Atom
from streamreasoner.lang.printer import print_rule
from streamreasoner.lang.traversal import walk
from streamreasoner.shell.answering import answers
from streamreasoner.shell.output import Line, Tone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from streamreasoner.api.reasoner import Reasoner
    from streamreasoner.facts import Fact, FactPattern
    from streamreasoner.lang.ast import Rule
    from streamreasoner.query.question import Question
    from streamreasoner.shell.output import FactPrinter

_MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries a reasoner.

    Attributes:
        reasoner: The reasoner.
        printer: Prints facts and rules.
        hidden: Whether hidden predicates are listed and counted too.
    """

    reasoner: Reasoner
    printer: FactPrinter
    hidden: bool

    def count(self, pattern: FactPattern) -> list[Line]:
        """The number of present facts that match."""
        return [_facts(len(self._ids(pattern)))]

    def facts(self, pattern: FactPattern, limit: int | None) -> tuple[list[Line], str, int]:
        """The present facts that match, up to a limit, and their number as text and number."""
        found = in_order(self._ids(pattern), self.reasoner.session.dictionary)
        facts = self._decode(pattern, found[:limit])
        lines = [Line(self.printer.text(fact)) for fact in facts]
        return lines, _facts(len(found)).text, len(found)

    def count_answers(self, question: Question) -> list[Line]:
        """The number of answers of a question."""
        return [Line(_answers(len(answers(question, self.reasoner).rows)), Tone.NOTE)]

    def answers(self, question: Question, limit: int | None) -> tuple[list[Line], str, int]:
        """The answers of a question, up to a limit, and their number as text and number."""
        found = answers(question, self.reasoner)
        names = question.variables
        lines = [Line(self.printer.bindings(names, each)) for each in found.first(limit)]
        return lines, _answers(len(found.rows)), len(found.rows)

    def trace(self, pattern: FactPattern) -> tuple[list[Line], str]:
        """The multiplicities, by iteration, of the facts that match, present or not."""
        rows = self.reasoner.session.engine.trace(pattern.predicate)
        mask = matching(pattern, rows.args, self.reasoner.session.dictionary)
        multiplicities: dict[Fact, dict[int, int]] = defaultdict(dict)
        numbers = zip(rows.iteration[mask].tolist(), rows.multiplicity[mask].tolist(), strict=True)
        facts = self._decode(pattern, rows.args[mask])
        for fact, (iteration, multiplicity) in zip(facts, numbers, strict=True):
            multiplicities[fact][iteration] = multiplicity
        present = set(self._decode(pattern, self._ids(pattern)))
        lines = []
        for fact in sorted(multiplicities, key=sort_key):
            by_iteration = sorted(multiplicities[fact].items())
            printed = ", ".join(f"{number} at {iteration}" for iteration, number in by_iteration)
            absent = "" if fact in present else " (absent)"
            lines.append(Line(f"{self.printer.text(fact)}: {printed}{absent}"))
        return lines, _facts(len(lines)).text

    def predicates(self) -> list[Line]:
        """Every predicate with its arity and its numbers of facts and rules."""
        program = self.reasoner.program
        heads = Counter(rule.head.predicate for rule in program.rules)
        used = {
            node.predicate
            for rule in program.rules
            for literal in (*rule.heads, *rule.body)
            for node in walk(literal)
            if isinstance(node, Atom)
        }
        lines = []
        listed = program.arities if self.hidden else program.visible
        for name, arity in sorted(listed.items()):
            number = len(self.reasoner.session.engine.facts(name))
            # Every program has `triple`; it is listed only if this one uses it.
            if name != TRIPLE or number or name in {*used, *program.inputs}:
                rules = f", {_rules(heads[name])}" if heads[name] else ""
                lines.append(Line(f"{name}/{arity}: {_facts(number).text}{rules}"))
        return lines

    @property
    def source_rules(self) -> list[Rule]:
        """The rules of all files, as written."""
        programs = self.reasoner.program.programs
        return [rule for program in programs for rule in program.rules if rule.body]

    def rules(self) -> list[Line]:
        """The rules, numbered from 1."""
        rules = self.source_rules
        width = len(str(len(rules)))
        return [
            Line(f"{number:{width}}  {print_rule(rule, self.printer.prefixes)}")
            for number, rule in enumerate(rules, start=1)
        ] or [Line("The program has no rules.", Tone.NOTE)]

    def statistics(self, *, memory: bool) -> list[Line]:
        """The size of the state, optionally with the memory it takes."""
        numbers, size = (
            self.reasoner.session.engine.statistics(),
            self.reasoner.size(hidden=self.hidden),
        )
        shown = {
            "facts present": size.present,
            "facts asserted": size.asserted,
            "facts held, present or not": numbers.facts,
            "facts below zero": numbers.below_zero,
            "multiplicities, by fact and iteration": numbers.trace_rows,
            "terms": len(self.reasoner.session.dictionary),
        }
        lines = [Line(f"{name}: {number:,}") for name, number in shown.items()]
        if memory:
            lines.append(Line(f"memory of facts: {numbers.bytes / _MEBIBYTE:,.1f} MiB"))
        return lines

    def _ids(self, pattern: FactPattern) -> NDArray[np.int32]:
        args = self.reasoner.session.engine.facts(pattern.predicate)
        return args[matching(pattern, args, self.reasoner.session.dictionary)]

    def _decode(self, pattern: FactPattern, args: NDArray[np.int32]) -> list[Fact]:
        return decode_facts(pattern.predicate, args, self.reasoner.session.dictionary)


def _facts(number: int) -> Line:
    return Line(counted(number, "fact"), Tone.NOTE)


def _answers(number: int) -> str:
    return counted(number, "answer")


def _rules(number: int) -> str:
    return counted(number, "rule")
