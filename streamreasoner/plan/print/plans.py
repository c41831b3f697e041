"""The plans of a program, as text. Invariant: the printed plans are the ones that run.

Trees, plans and arrangements come from `lower`; nothing is planned here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from streamreasoner.lang.normal_form import aggregates_matches
from streamreasoner.lang.printer import print_literal, print_rule
from streamreasoner.plan.division import divide
from streamreasoner.plan.lower.aggregation import reductions
from streamreasoner.plan.lower.lowering import lower, lowered, stages
from streamreasoner.plan.lower.triple_patterns import TriplePatterns
from streamreasoner.plan.print import inherited, placement
from streamreasoner.plan.print.loops import loops
from streamreasoner.plan.print.parts import Text
from streamreasoner.plan.print.reasons import Reasons
from streamreasoner.plan.print.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamreasoner.plan.algebra import Arrangement, Project
    from streamreasoner.plan.division import Division
    from streamreasoner.plan.program_plan import DeltaPlan, ProgramPlan
    from streamreasoner.program.checked import CheckedProgram


def explain_plan(
    checked: CheckedProgram,
    *,
    stage: Stage = Stage.ALL,
    anew: Iterable[str] = (),
    weighed: Iterable[str] = (),
) -> str:
    """Print the rules of a program, how they are lowered, and their delta plans.

    Args:
        checked: The program.
        stage: LOWER for the trees of every rule, DELTA for strata and delta plans, ARRANGEMENTS
            for arrangements, lattices, reductions and hidden predicates, ANEW for when epochs are
            evaluated anew; ALL for all of these. PARTS for how a state is divided among parts,
            HIERARCHIES for what is stored of hierarchies that are encoded.
        anew: The lines of evaluating anew, which the engine knows.
        weighed: Those of when hierarchies are encoded, likewise.

    Returns:
        Lines, each with a newline.
    """
    printer = _Sections(checked, tuple(anew), tuple(weighed))
    sections = {
        "rules": printer.rules,
        "strata": printer.strata,
        "lowering": printer.lowering,
        "delta plans": printer.delta_plans,
        "arrangements": printer.arrangements,
        "lattices": printer.lattices,
        "reductions": printer.reductions,
        "hidden predicates": printer.hidden,
        "evaluating anew": printer.evaluating_anew,
        "owners": printer.owners,
        "homes": printer.homes,
        "copies": printer.copies,
        "hierarchies": printer.hierarchies,
    }
    parts, encoded = ("owners", "homes", "copies"), ("hierarchies",)
    shown = {
        Stage.ALL: tuple(name for name in sections if name not in (*parts, *encoded)),
        Stage.LOWER: ("lowering",),
        Stage.DELTA: ("strata", "delta plans"),
        Stage.ARRANGEMENTS: ("arrangements", "lattices", "reductions", "hidden predicates"),
        Stage.ANEW: ("evaluating anew",),
        Stage.PARTS: parts,
        Stage.HIERARCHIES: encoded,
    }[stage]
    printed = {name: tuple(sections[name]()) for name in shown}
    return "\n".join(
        "".join(f"{line}\n" for line in (f"== {name} ==", *lines))
        for name, lines in printed.items()
        if lines
    )


class _Sections:
    """The sections, each as lines."""

    def __init__(
        self, checked: CheckedProgram, anew: tuple[str, ...], weighed: tuple[str, ...]
    ) -> None:
        self._anew, self._weighed = anew, weighed
        # Prefixes of the program itself take precedence over those of its imports.
        self._prefixes = {
            name: iri
            for program in reversed(checked.programs)
            for name, iri in program.prefixes.items()
        }
        self._checked = checked
        self._text = Text(self._prefixes)
        self._plan = lower(checked)
        patterns = TriplePatterns()
        self._plain = [patterns.plain(rule) for rule in checked.rules]
        self._rules = _labelled(self._plan)
        self._users: dict[Arrangement, list[str]] = {}
        for rule in self._rules:
            for name, plan in rule.plans:
                for arrangement in plan.arrangements:
                    self._users.setdefault(arrangement, []).append(name)

    def rules(self) -> Iterator[str]:
        """Rules in normal form, then facts."""
        for index, rule in enumerate(self._checked.rules):
            yield f"R{index + 1}  {print_rule(rule, self._prefixes)}"
        for fact in self._checked.facts:
            yield f"    {print_literal(fact, self._prefixes)} ."

    def strata(self) -> Iterator[str]:
        """The rules of each stratum, and the reasons for its position."""
        reasons = Reasons(self._checked, self._plan, self._prefixes)
        for number, stratum in enumerate(self._plan.strata, start=1):
            names = [rule.label for rule in self._rules if rule.stratum == number]
            names += [f"reduction of {item.candidates}" for item in stratum.reductions]
            recursive = ", recursive" if reasons.is_recursive(number) else ""
            yield f"S{number}  {', '.join(names)}{recursive}"
            yield from (f"  {line}" for line in reasons.of(number))

    def lowering(self) -> Iterator[str]:
        """The distinct trees of every rule, then the reductions that combine rules."""
        for index, rule in enumerate(self._checked.rules):
            yield f"R{index + 1}  {print_rule(rule, self._prefixes)}"
            plain = self._plain[index]
            if plain != rule:
                yield f"  {print_rule(plain, self._prefixes)}"
            shown: list[str] = []
            for number, stage in enumerate(stages(plain), start=1):
                # Lines are compared, as a tree may be too deep for a comparison that recurses.
                lines = list(self._text.tree(stage.tree, depth=3))
                if lines != shown:
                    yield f"  {number}. {stage.step}"
                    yield from lines
                shown = lines
        for stratum in self._checked.strata:
            yield from self._reduced(stratum)

    def delta_plans(self) -> Iterator[str]:
        """The plans of each stratum, rule by rule."""
        names = {item: f"A{number}" for number, item in enumerate(self._users, start=1)}
        for rule in self._rules:
            yield f"S{rule.stratum}  {rule.label}  {self._text.rule(rule.tree)}"
            heads = self._plan.strata[rule.stratum - 1].heads
            for name, plan in rule.plans:
                yield f"  {name}"
                yield from (f"    {line}" for line in loops(plan, self._text, names, heads))

    def arrangements(self) -> Iterator[str]:
        """The arrangements that joins look up, and the plans that share them."""
        for number, (arrangement, users) in enumerate(self._users.items(), start=1):
            arity = self._plan.arities[arrangement.predicate]
            partial = ", partial" if arrangement.constants else ""
            atom = self._text.arrangement(arrangement, arity)
            yield f"A{number}  {atom}{partial}: {_list(users)}"

    def lattices(self) -> Iterator[str]:
        """The facts of which only the best of each group is present."""
        for lattice in self._plan.lattices:
            pattern = self._text.pattern(lattice.pattern)
            yield f"{pattern}: {lattice.function} of argument {lattice.position}"

    def reductions(self) -> Iterator[str]:
        """Aggregates that are computed once the strata below are complete."""
        for number, stratum in enumerate(self._plan.strata, start=1):
            for reduction in stratum.reductions:
                head = self._text.pattern(reduction.head)
                yield f"S{number}  {head}: {reduction.function} of {reduction.candidates}"

    def hidden(self) -> Iterator[str]:
        """The predicates that lowering adds; their facts are not output."""
        made: dict[str, list[str]] = {name: [] for name in self._plan.arities}
        read: dict[str, list[str]] = {name: [] for name in self._plan.arities}
        for rule in self._rules:
            made[rule.tree.head.predicate].append(rule.label)
            for pattern in (*rule.tree.patterns, *rule.tree.negated):
                read[pattern.predicate].append(rule.label)
        for number, stratum in enumerate(self._plan.strata, start=1):
            for reduction in stratum.reductions:
                made[reduction.head.predicate].append(f"a reduction in S{number}")
                read[reduction.candidates].append(f"a reduction in S{number}")
        for name, arity in self._plan.arities.items():
            if name in self._plan.hidden:
                yield f"{name}/{arity}: made by {_list(made[name])}, read by {_list(read[name])}"

    def evaluating_anew(self) -> Iterator[str]:
        """When an epoch is evaluated anew."""
        yield from self._anew

    def owners(self) -> Iterator[str]:
        """Which part owns a fact."""
        return placement.owners(self._division, self._plan.arities)

    def homes(self) -> Iterator[str]:
        """Where rules find their solutions."""
        rules = (rule for stratum in self._plan.strata for rule in stratum.rules)
        placed = (each for stratum in self._division.strata for each in stratum)
        labels = (rule.label for rule in self._rules)
        return placement.homes(list(zip(labels, rules, placed, strict=True)), self._text)

    def copies(self) -> Iterator[str]:
        """What parts have without owning it."""
        return placement.copies(self._division, self._text)

    def hierarchies(self) -> Iterator[str]:
        """What is stored of hierarchies that are encoded."""
        return inherited.hierarchies(self._checked, self._prefixes, self._weighed)

    @cached_property
    def _division(self) -> Division:
        """How a state is divided among parts."""
        return divide(self._plan)

    def _reduced(self, stratum: tuple[int, ...]) -> Iterator[str]:
        heads = {index: self._checked.rules[index].head for index in stratum}
        trees = {
            index: lowered(self._plain[index])
            for index, head in heads.items()
            if aggregates_matches(head)
        }
        for reduction in reductions((heads[index], tree) for index, tree in trees.items()):
            inputs = set(map(id, reduction.input.inputs))
            united = [index for index, tree in trees.items() if id(tree) in inputs]
            functions = ", ".join(f"{function} at {at}" for at, function in reduction.functions)
            yield f"Reduce {heads[united[0]].predicate}: {functions}"
            yield "  Union"
            yield from (f"    R{index + 1}" for index in united)


@dataclass(frozen=True, slots=True)
class _Labelled:
    """A rule of the plan, with labels for it and its plans."""

    stratum: int
    label: str
    tree: Project
    plans: tuple[tuple[str, DeltaPlan], ...]


def _labelled(plan: ProgramPlan) -> list[_Labelled]:
    """`R3` for the third rule; `R3:1`, `R3:2` if lowering split it; `H1` for an added rule."""
    rules = [(s, rule) for s, stratum in enumerate(plan.strata, start=1) for rule in stratum.rules]
    made = Counter(rule.source for _, rule in rules if not rule.added)
    seen = Counter[int | None]()
    labelled = []
    for number, rule in rules:
        source = None if rule.added else rule.source
        seen[source] += 1
        label = f"H{seen[source]}" if source is None else f"R{source + 1}"
        if source is not None and made[source] > 1:
            label += f":{seen[source]}"
        plans = ((f"{label}.{index}", item) for index, item in enumerate(rule.plans, start=1))
        labelled.append(_Labelled(number, label, rule.tree, tuple(plans)))
    return labelled


def _list(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names))
