"""Every present fact has a valid proof; every absent fact has correct reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import islice

import oracle
from driver import Driver
from hypothesis import example, given
from oracle.core import matches, pattern, present, satisfied
from oracle.expressions import assigned, term
from oracle.groups import competition, constants, is_lattice, reduced
from oracle.patterns import ANYTHING, extend, fits
from strategies import Scenario, scenarios

from streamreasoner.explain import Fact, Limits, explain
from streamreasoner.explain.proof import (
    Absent,
    Aggregation,
    Derivation,
    FailureKind,
    Proved,
    Satisfied,
)
from streamreasoner.lang.ast import Aggregate, Atom, Constant, Negation, Variable, Wildcard

EVERYTHING = Limits(depth=None, size=None, matches=2)
MOST_ABSENT = 12


class World:
    """The oracle's trace and closure after all epochs of a scenario."""

    def __init__(self, scenario):
        self.checked = scenario.checked
        self.trace = oracle.evaluate(self.checked, oracle.total(scenario.epochs), helpers=True)
        self.closure = oracle.closure(self.trace)
        self._changing = sorted({when for entries in self.trace.values() for when in entries})
        self.last = 1 + max(self._changing, default=0)
        self._moments = {}

    def by_predicate(self):
        """The facts that atoms read by predicate, in the oracle's form."""
        facts = defaultdict(list)
        for predicate, arguments in oracle.readable(self.trace):
            facts[predicate].append(arguments)
        return facts

    def stratum(self, fact):
        """The stratum of the rules that can derive a fact; -1 for the input."""
        for number, indexes in enumerate(self.checked.strata):
            if any(self.may_derive(self.checked.rules[index], fact) for index in indexes):
                return number
        return -1

    def may_derive(self, rule, fact):
        """Whether a fact matches the constants of a rule's head."""
        return rule.head.predicate == fact[0] and fits(fact[1], constants(rule.head))

    def changes(self, first, last):
        """The iterations from the first to the last at which anything changes, and the first.

        There may be a million between two of them: rules that wait derive in later segments.
        """
        return [first, *(when for when in self._changing if first < when <= last)]

    def moment(self, iteration):
        """The facts present at an iteration, in all strata."""
        if iteration not in self._moments:
            sums = {
                fact: sum(
                    multiplicity for when, multiplicity in entries.items() if when <= iteration
                )
                for fact, entries in self.trace.items()
            }
            self._moments[iteration] = present(sums, self.trace.meaning)
        return self._moments[iteration]

    def comes_and_goes(self, stratum):
        """Whether the stratum has a lattice, so that facts may become absent again."""
        return any(
            is_lattice(self.checked.rules[index].head) for index in self.checked.strata[stratum]
        )

    def waits(self, stratum, rule):
        """Whether a rule derives in a later segment, as the schema decides what it negates."""
        guarded = self.checked.guarded[stratum]
        return guarded is not None and guarded.waits(rule) != rule


def key(fact):
    """A Fact in the oracle's form."""
    return fact.predicate, fact.arguments


def run(scenario, epochs=None):
    """A session after all epochs."""
    driver = Driver(scenario.checked)
    driver.run(scenario.epochs if epochs is None else epochs)
    return driver.session


def explained(session, fact):
    """The complete explanation of a fact."""
    return explain(session.program, session.engine, session.dictionary, Fact(*fact), EVERYTHING)


def check_presence(step, world):
    """A step's fact is present from its iteration until the end, or until its `until`."""
    fact = key(step.fact)
    end = world.last if step.until is None else step.until - 1

    assert all(fact in world.moment(i) for i in world.changes(step.iteration, end))
    if step.until is None:
        assert fact in world.closure
    else:
        assert fact not in world.moment(step.until)


def check_leaf(step, world):
    """A fact without a derivation is asserted or stated, with the input's multiplicity."""
    fact = key(step.fact)
    stated = any((atom.predicate, constants(atom)) == fact for atom in world.checked.facts)

    assert world.trace[fact].get(0, 0) > 0
    assert (step.stated is not None) == stated
    assert step.asserted + stated == world.trace[fact][0]


def check_instance(step, derivation, steps, world):
    """The premises are an instance of the body, present before the head."""
    rule = derivation.rule
    bindings = dict(derivation.bindings)
    proved = [steps[each.step] for each in derivation.premises if isinstance(each, Proved)]
    chosen = [each.fact.arguments for each in proved]
    by_predicate = world.by_predicate()

    assert rule in world.checked.rules
    assert [each.fact.predicate for each in proved] == [atom.predicate for atom in rule.atoms]
    extended = {}
    for atom, arguments in zip(rule.atoms, chosen, strict=True):
        extended = extend(atom, arguments, extended)
        assert extended is not None
    assert assigned(rule, extended) == bindings
    assert satisfied(rule, bindings, chosen, by_predicate, world.trace.meaning)
    for premise in derivation.premises:
        if isinstance(premise, Satisfied):
            assert oracle.holds(premise.literal, {})
    absent = [each.atom for each in derivation.premises if isinstance(each, Absent)]
    negated = [
        each.atom
        for each in rule.body
        if isinstance(each, Negation) and isinstance(each.atom, Atom)
    ]
    assert [pattern(atom, {}, world.trace.meaning) for atom in absent] == [
        pattern(atom, bindings, world.trace.meaning) for atom in negated
    ]
    own = [each for each in proved if each.stratum == step.stratum]
    for premise in own:
        assert premise.iteration < step.iteration
        assert key(premise.fact) in world.moment(step.iteration - 1)
    for atom, premise in zip(rule.atoms, proved, strict=True):
        assert (premise.stratum == step.stratum) == (
            world.stratum(key(premise.fact)) == world.stratum(key(step.fact))
        )
        if atom.asserted:
            assert premise.asserted + (premise.stated is not None) > 0
        elif premise not in own:
            assert premise.stratum < step.stratum
            assert premise.until is None


def check_derivation(step, steps, world):
    """A rule derives the fact, without lattices at the first iteration where it is present."""
    derivation = step.why
    check_instance(step, derivation, steps, world)
    fact, stratum = key(step.fact), world.stratum(key(step.fact))
    row = tuple(
        term(each.arguments[0] if isinstance(each, Aggregate) else each, dict(derivation.bindings))
        for each in derivation.rule.head.arguments
    )

    assert (derivation.rule.head.predicate, row) == fact
    assert is_lattice(derivation.rule.head) or Aggregate not in map(
        type, derivation.rule.head.arguments
    )
    if world.trace[fact].get(0, 0) == 0:
        own = [
            steps[each.step].iteration
            for each in derivation.premises
            if isinstance(each, Proved) and steps[each.step].stratum == step.stratum
        ]
        first = 1 + max(own, default=0)
        if world.waits(stratum, derivation.rule):
            assert step.iteration > first
        else:
            assert world.comes_and_goes(stratum) or step.iteration == first
    if not world.comes_and_goes(stratum):
        assert fact not in world.moment(step.iteration - 1)


def check_aggregation(step, steps, world):
    """Aggregating all matches of the group gives the fact; the matches shown are among them."""
    why, fact = step.why, key(step.fact)
    shape = tuple(
        each.operation if isinstance(each, Aggregate) else None
        for each in why.matches[0].rule.head.arguments
    )
    rows = []
    for rule in world.checked.rules:
        own = tuple(
            each.operation if isinstance(each, Aggregate) else None for each in rule.head.arguments
        )
        if rule.head.predicate == fact[0] and own == shape:
            rows += [
                row
                for bindings in matches(rule, world.by_predicate(), world.trace.meaning)
                if None not in (row := head_row(rule, bindings)) and same_group(row, fact[1], shape)
            ]
    functions = [each for each in shape if each]
    contributing = len(rows)
    position = next(at for at, each in enumerate(shape) if each)
    if functions == ["count distinct"]:
        contributing = len(set(rows))
    elif len(functions) == 1 and functions[0].startswith(("lowest", "highest")):
        contributing = sum(row[position] == fact[1][position] for row in rows)
    elif functions in (["sum"], ["avg"]):
        contributing = sum(oracle.terms.number(row[position]) is not None for row in rows)

    assert fact[1] in list(reduced(shape, rows))
    assert why.total == contributing
    assert len(why.matches) == min(contributing, EVERYTHING.matches)
    for match, times in Counter(why.matches).items():
        assert times <= world.checked.rules.count(match.rule)
    for match in why.matches:
        check_instance(step, match, steps, world)
        assert same_group(head_row(match.rule, dict(match.bindings)), fact[1], shape)


def check_no_detour(number, steps, world):
    """A fact that is also present before its step's iteration is not its own premise."""
    fact, iteration = steps[number].fact, steps[number].iteration
    if key(fact) not in world.moment(iteration - 1):
        return
    reached, waiting = set(), [number]
    while waiting:
        why = steps[waiting.pop()].why
        instances = getattr(why, "matches", (why,)) if why else ()
        new = {
            each.step
            for instance in instances
            for each in instance.premises
            if isinstance(each, Proved)
        }
        waiting += new - reached
        reached |= new

    assert fact not in {steps[each].fact for each in reached}


def head_row(rule, bindings):
    """The head under bindings, with operands in place of aggregates."""
    return tuple(
        term(each.arguments[0] if isinstance(each, Aggregate) else each, bindings)
        for each in rule.head.arguments
    )


def same_group(row, other, shape):
    """Whether two rows agree on the columns that are not aggregated."""
    return all(each or a == b for each, a, b in zip(shape, row, other, strict=True))


def check_competition(step, world):
    """A winner names the next best candidate, if there is another candidate."""
    group, function, value = competition(key(step.fact), world.trace.meaning.lattices)
    candidates = {
        fact: oracle.aggregates.order(competition(fact, world.trace.meaning.lattices)[2])
        for fact, multiplicity in world.trace.sums.items()
        if function
        and multiplicity > 0
        and competition(fact, world.trace.meaning.lattices)[0] == group
        and fact != key(step.fact)
    }
    if not candidates or step.until is not None:
        assert step.competition is None
        return
    choose = {"min": min, "max": max}[function]

    assert step.competition.candidates == len(candidates) + 1
    assert key(step.competition.next_best) == choose(candidates, key=candidates.get)
    assert choose([value, step.competition.next_best.arguments[fact_position(step)]],
                  key=oracle.aggregates.order) == value  # fmt: skip


def fact_position(step):
    """The position where a winner and the next best candidate differ."""
    pairs = zip(step.fact.arguments, step.competition.next_best.arguments, strict=True)
    return next(at for at, (winner, other) in enumerate(pairs) if winner != other)


_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
ASSERTED_ABOVE = Scenario(
    "edge(?x, ?y) :- asserted path(?x, ?y) .\npath(?x, ?y) :- edge(?x, ?y) .",
    [[("path", ("<urn:a>", "<urn:b>"), 1)]],
)
"""An asserted premise of a stratum above that of the rule."""
STATED = Scenario(
    "edge(?x, ?y) :- asserted path(?x, ?y) .\npath(1, 2) .",
    [[("path", ("<http://example.org/a>", "<http://example.org/a>"), 1)]],
)
"""An asserted premise that the program states."""
WAITING = Scenario(
    "[?x, ?q, ?y] :- [?x, ?p, ?y], [?p, <x:in>, ?q] .\n"
    "[?x, a, ?b] :- [?x, a, ?a], [?a, <x:is>, ?b] .\n"
    "[?x, a, <x:Open>] :- [?x, a, <x:Text>], not [?x, a, <x:Closed>] .",
    [
        [("triple", ("<x:note>", _TYPE, "<x:Letter>"), 1)],
        [("triple", ("<x:Letter>", "<x:is>", "<x:Text>"), 1)],
    ],
)
"""A rule that waits for what it negates, whose premise is derived in the same stratum."""


@example(ASSERTED_ABOVE)
@example(STATED)
@example(WAITING)
@given(scenarios())
def test_every_present_fact_has_a_proof(scenario):
    """Leaves are asserted, stated or absent facts; every other step is an instance of a rule."""
    reasoner, world = run(scenario), World(scenario)
    for fact in world.closure:
        explanation = explained(reasoner, fact)
        steps = explanation.content.steps

        assert explanation.present
        assert key(explanation.fact) == fact
        reached = {0}
        for number, step in enumerate(steps):
            check_presence(step, world)
            check_competition(step, world)
            assert not step.cut
            match step.why:
                case None:
                    check_leaf(step, world)
                    continue
                case Derivation() as derivation:
                    check_derivation(step, steps, world)
                    check_no_detour(number, steps, world)
                    instances = (derivation,)
                case Aggregation(_, instances, _):
                    check_aggregation(step, steps, world)
            assert number in reached
            for instance in instances:
                reached |= {each.step for each in instance.premises if isinstance(each, Proved)}
        assert reached == set(range(len(steps)))
        assert len({(step.fact, step.iteration, step.until) for step in steps}) == len(steps)


def absent_facts(scenario, world):
    """Facts that are held but absent, and facts composed of known terms."""
    known = sorted(fact for fact in world.trace if fact not in world.closure)
    terms = sorted({each for _, arguments in world.trace for each in arguments} | {"_:unknown"})
    for at, (predicate, arity) in enumerate(sorted(scenario.checked.arities.items())):
        known += [
            (predicate, tuple(terms[(at + start + 3 * i) % len(terms)] for i in range(arity)))
            for start in range(3)
        ]
    return islice((fact for fact in dict.fromkeys(known) if fact not in world.closure), MOST_ABSENT)


def may_be(rule, fact):
    """Whether the head of a rule unifies with a fact, as far as its terms are known."""
    bindings = {}
    lattice = is_lattice(rule.head)
    for each, fact_term in zip(rule.head.arguments, fact[1], strict=True):
        if isinstance(each, Aggregate):
            if not lattice:
                continue
            each = each.arguments[0]  # noqa: PLW2901
        if isinstance(each, Constant) and each.term != fact_term:
            return False
        if isinstance(each, Variable) and bindings.setdefault(each.name, fact_term) != fact_term:
            return False
    return True


def check_attempt(attempt, fact, world):
    """The premises of an attempt hold, and its failure is real."""
    by_predicate = world.by_predicate()
    for premise in attempt.holds:
        match premise:
            case Fact():
                assert key(premise) in world.closure
            case Satisfied(literal):
                assert oracle.holds(literal, {})
            case Absent(atom):
                assert oracle.holds(Negation(atom, atom.span), {}, by_predicate)
    failure = attempt.failure
    assert attempt.ways >= 1
    if failure.kind is not FailureKind.OTHER_FACT:
        assert {key(each) for each in failure.facts} <= world.closure
    if failure.kind in (FailureKind.MISSING, FailureKind.PRESENT, FailureKind.FALSE):
        check_literal(failure, by_predicate)
    else:
        check_other(attempt, fact, world)


def check_literal(failure, by_predicate):
    """The literal that fails does not hold."""
    part = failure.parts[-1]
    if failure.kind is FailureKind.MISSING:
        pattern = [each.term if isinstance(each, Constant) else ANYTHING for each in part.arguments]
        repeated = [each.name for each in part.arguments if isinstance(each, Variable)]
        if len(set(repeated)) == len(repeated) and not open_expression(part):
            assert not any(fits(each, pattern) for each in by_predicate[part.reads])
    else:
        assert not oracle.holds(part, {}, by_predicate)
        assert bool(failure.facts) == (failure.kind is FailureKind.PRESENT)


def check_other(attempt, fact, world):
    """The head is another fact, or is absent: another candidate wins, or it is below zero."""
    failure = attempt.failure
    match failure.kind:
        case FailureKind.NO_VALUE:
            assert failure.parts
        case FailureKind.OTHER_FACT:
            assert key(failure.facts[0]) != fact
        case FailureKind.OTHER_RESULT:
            assert not is_lattice(attempt.rule.head)
        case FailureKind.BEATEN:
            assert key(failure.facts[0]) != fact
            assert world.trace.sums.get(fact, 0) > 0
        case FailureKind.OWED:
            assert world.trace.sums.get(fact, 0) <= 0
            assert world.trace[fact][0] < 0
        case _:
            raise AssertionError(f"{failure.kind}: random states are small.")


def open_expression(atom):
    """Whether an argument of an atom is computed from unbound variables."""
    return any(not isinstance(each, Constant | Variable | Wildcard) for each in atom.arguments)


@given(scenarios())
def test_every_absent_fact_has_its_reasons(scenario):
    """Each rule that could derive the fact reports its partial match and why it fails."""
    reasoner, world = run(scenario), World(scenario)
    for fact in absent_facts(scenario, world):
        explanation = explained(reasoner, fact)
        absence = explanation.content

        assert not explanation.present
        assert key(explanation.fact) == fact
        assert [attempt.rule for attempt in absence.attempts] == [
            rule
            for rule in in_order(scenario.checked.rules)
            if rule.head.predicate == fact[0] and may_be(rule, fact)
        ]
        for attempt in absence.attempts:
            check_attempt(attempt, fact, world)
        assert absence.asserted == world.trace.get(fact, {}).get(0, 0)
        assert (absence.beaten_by is not None) == (world.trace.sums.get(fact, 0) > 0)


def in_order(rules):
    """The rules, with those of one aggregation grouped at the first of them."""
    groups = {}
    for index, rule in enumerate(rules):
        shape = tuple(
            each.operation if isinstance(each, Aggregate) else None for each in rule.head.arguments
        )
        together = any(shape) and not is_lattice(rule.head)
        groups.setdefault((rule.head.predicate, shape) if together else index, []).append(rule)
    return [rule for group in groups.values() for rule in group]


@given(scenarios())
def test_an_explanation_depends_on_the_state_alone(scenario):
    """The output does not depend on the order of updates or on epochs."""
    updates = [update for epoch in scenario.epochs for update in epoch]
    forward, backward = run(scenario), run(scenario, [updates[::-1]])
    world = World(scenario)
    for fact in (*islice(sorted(world.closure), 10), *islice(absent_facts(scenario, world), 4)):
        first, second = explained(forward, fact), explained(backward, fact)

        assert first.text() == second.text()
        assert first.json() == second.json()
        assert first.dot() == second.dot()
        assert first.text().strip()
