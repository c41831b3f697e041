"""Built-ins that kernels call: ids go in, and the id of what the oracle computes comes out."""

from __future__ import annotations

import ctypes
import gc
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import builtins
from oracle.arithmetic import arithmetic, numeral

from streamreasoner.backends.columnar.callbacks import CODES, NAMES, Builtins
from streamreasoner.backends.columnar.kernels.records import layout
from streamreasoner.plan.operands import COPY, NEGATE
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.values.builtins import FUNCTIONS, OPERATORS, TESTS
from streamreasoner.values.kernels import functions
from streamreasoner.values.value_columns import Values

TERMS = st.sampled_from(
    (
        *map(numeral, (0, 1, -7, 2**63 - 1)),
        *('"0.5"^^<http://www.w3.org/2001/XMLSchema#decimal>', '"ab"', '"b"@en', "<urn:a>", '"("'),
    )
)
BINARY = {"+", "-", "*", "/", "%", "**"}
UNARY = {NEGATE, "abs", "upper", "strlen", "is_number", "is_iri"}
CALLED = st.sampled_from(
    sorted(BINARY | UNARY | {"min", "max", "concat", "contains", "matches", "starts_with"})
).filter(CODES.__contains__)


class Kernel:
    """Calls built-ins by their address, as kernels do.

    Attributes:
        results: What reductions give, by their argument.
    """

    def __init__(self):
        self.dictionary = Dictionary()
        self.values = Values(self.dictionary)
        self.results = {}
        self.builtins = Builtins(self.dictionary, self.values, self.results.__getitem__)
        prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        self.call = prototype(self.builtins.address)

    def apply(self, name, terms):
        """The term of a result, True or False of a test, or None."""
        ids = [self.dictionary.intern(term) for term in terms]
        self.builtins.arguments[: len(ids)] = ids
        found = self.call(CODES[name], len(ids))
        found -= layout.ONCE if found >= layout.ONCE + layout.NO_VALUE else 0
        if found == layout.NO_VALUE:
            return None
        assert found >= 0
        return bool(found) if name in TESTS else self.dictionary.decode([found]).to_pylist()[0]


@given(st.lists(st.tuples(CALLED, TERMS, TERMS), max_size=8))
def test_a_built_in_is_worth_what_the_oracle_says(calls):
    """One after the other with the same arguments; new terms get ids, and no value is NO_VALUE."""
    kernel = Kernel()
    for name, *terms in calls:
        terms = terms[:1] if name in UNARY else terms  # noqa: PLW2901 - its own

        assert kernel.apply(name, terms) == _expected(name, terms)


def test_an_exception_is_kept_until_the_kernel_returns():
    """The kernel sees FAILURE; the next call is as if nothing had been."""
    kernel = Kernel()

    assert kernel.call(layout.REDUCE, 5) == layout.FAILURE
    with pytest.raises(KeyError, match="5"):
        raise kernel.builtins.failure()
    assert kernel.apply("+", [numeral(1), numeral(2)]) == numeral(3)
    with pytest.raises(AssertionError):
        kernel.builtins.failure()


def test_results_that_do_not_fit_are_counted():
    """An overflow of arithmetic and of a reduction counts; a missing value does not."""
    kernel = Kernel()
    kernel.results |= {1: None, 2: numeral(9)}

    assert kernel.apply("**", [numeral(2**62), numeral(9)]) is None
    assert kernel.builtins.overflows == 1
    assert kernel.apply("/", [numeral(1), numeral(0)]) is None
    assert kernel.builtins.overflows == 1
    assert kernel.call(layout.REDUCE, 1) == layout.NO_VALUE
    assert kernel.builtins.overflows == 2
    assert kernel.call(layout.REDUCE, 2) == kernel.dictionary.find(numeral(9))
    assert kernel.builtins.overflows == 2


def test_a_code_is_the_place_of_a_name():
    """Each built-in and operator has one code, and those that kernels compute the first ones."""
    assert [CODES[name] for name in NAMES] == list(range(len(NAMES)))
    assert {*NAMES} == {COPY, *OPERATORS, *FUNCTIONS, *TESTS}
    assert NAMES[: len(functions.NAMES)] == functions.NAMES


def test_built_ins_do_not_keep_a_state_alive():
    """Nothing waits for the garbage collector, which does not run during an epoch."""
    kernel = Kernel()
    gone = weakref.ref(kernel.builtins)
    gc.disable()
    try:
        del kernel

        assert gone() is None
    finally:
        gc.enable()


def _expected(name, terms):
    if name in TESTS:
        return builtins.test(name, terms)
    if name in BINARY or name == NEGATE:
        return arithmetic("-" if name == NEGATE else name, terms)
    return builtins.call(name, terms)
