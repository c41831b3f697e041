"""Rules of positive atoms as Python functions. Invariant: a function reads its indexes and sets as
they are when it is called, and changes none.

A function has nested loops, one for each joined body atom, the atom with the most bound arguments
first. Its source is generated here, from generated numbers and names.
"""  # noqa: D205

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from streamreasoner.lang.ast import Atom, Constant, Variable, Wildcard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streamreasoner.lang.ast import Expression, Rule

    Fact: TypeAlias = tuple[int, ...]
    Plan: TypeAlias = Callable[[Fact], list[Fact]]
    Arrange: TypeAlias = Callable[[str, tuple[int, ...]], "Index"]
    Number: TypeAlias = Callable[[str], int]
    Facts: TypeAlias = dict[str, set[Fact]]


class Index:
    """Facts of one predicate by the arguments at some positions.

    Attributes:
        groups: Maps those arguments to the facts; no group is empty.
    """

    def __init__(self, positions: tuple[int, ...]) -> None:
        self.groups: dict[Any, set[Fact]] = {}
        self._positions = positions

    def add(self, fact: Fact) -> None:
        """Add a fact to its group."""
        self.groups.setdefault(tuple([fact[i] for i in self._positions]), set()).add(fact)

    def discard(self, fact: Fact) -> None:
        """Remove a fact from its group, if it is there."""
        key = tuple([fact[i] for i in self._positions])
        group = self.groups.get(key)
        if group is not None:
            group.discard(fact)
            if not group:
                del self.groups[key]


class _Text:
    """The source of a function under construction.

    Attributes:
        names: Maps the rule's variables that are bound so far to names in the function.
    """

    def __init__(self, number: Number, arrange: Arrange, facts: Facts) -> None:
        self.names: dict[str, str] = {}
        self._number, self._arrange, self._facts = number, arrange, facts
        self._lines: list[str] = []
        self._depth = 1
        self._values: dict[str, Any] = {}

    def write(self, line: str) -> None:
        """Add a line at the current depth."""
        self._lines.append("    " * self._depth + line)

    def match(self, atom: Atom, fact: str, otherwise: str, given: frozenset[int]) -> None:
        """Bind an atom's variables to a fact's arguments; *given* positions match already."""
        for position, argument in enumerate(atom.arguments):
            place = f"{fact}[{position}]"
            known = self.known(argument)
            if known is not None and position not in given:
                self.write(f"if {place} != {known}: {otherwise}")
            elif isinstance(argument, Variable) and known is None:
                name = self.names[argument.name] = f"v{len(self.names)}"
                self.write(f"{name} = {place}")

    def known(self, argument: Expression) -> str | None:
        """The text of an argument's value, or None if it has none yet."""
        match argument:
            case Constant(term):
                return str(self._number(term))
            case Variable(name):
                return self.names.get(name)
            case Wildcard():
                return None
            case _:
                raise ValueError(f"Not a term: {argument}")

    def join(self, atoms: Sequence[Atom]) -> None:
        """Add loops over the facts that match what is bound, the most bound atom first."""
        left = list(atoms)
        while left:
            bound = [sum(self.known(a) is not None for a in atom.arguments) for atom in left]
            self._loop(left.pop(bound.index(max(bound))))

    def _loop(self, atom: Atom) -> None:
        known = [self.known(argument) for argument in atom.arguments]
        positions = tuple(i for i, text in enumerate(known) if text is not None)
        key = "".join(f"{known[i]}, " for i in positions)
        name = f"g{len(self._values)}"
        if len(positions) == len(known):
            self._values[name] = self._facts[atom.predicate]
            self.write(f"if ({key}) in {name}:")
            self._depth += 1
            return
        self._values[name] = self._arrange(atom.predicate, positions).groups
        fact = f"f{self._depth}"
        self.write(f"for {fact} in {name}.get(({key}), ()):")
        self._depth += 1
        self.match(atom, fact, "continue", frozenset(positions))

    def function(self, last: str) -> Any:
        """Compile the function of a fact, after a last line at depth 1."""
        text = "\n".join(["def function(fact):", *self._lines, f"    {last}"])
        exec(text, self._values)  # noqa: S102  (generated source)
        return self._values["function"]


def delta_plans(
    predicate: str, rules: Sequence[Rule], number: Number, arrange: Arrange, facts: Facts
) -> list[tuple[str, Plan]]:
    """Head predicate and function for each body atom of a predicate.

    The function yields the heads of all matches in which that atom matches the fact.
    """
    plans = []
    for rule in rules:
        for place, atom in enumerate(rule.atoms):
            if atom.predicate != predicate:
                continue
            text = _Text(number, arrange, facts)
            text.write("out = []")
            text.match(atom, "fact", "return out", frozenset())
            text.join([other for i, other in enumerate(rule.atoms) if i != place])
            head = "".join(f"{text.known(argument)}, " for argument in rule.head.arguments)
            text.write(f"out.append(({head}))")
            plans.append((rule.head.predicate, text.function("return out")))
    return plans


def check_plan(
    rule: Rule, number: Number, arrange: Arrange, facts: Facts
) -> Callable[[Fact], bool]:
    """A function that returns whether a rule derives a fact."""
    text = _Text(number, arrange, facts)
    text.match(rule.head, "fact", "return False", frozenset())
    text.join(rule.atoms)
    text.write("return True")
    check: Callable[[tuple[int, ...]], bool] = text.function("return False")
    return check
