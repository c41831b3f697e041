"""Compile kernels into one image. Invariant: each function is lowered once and optimized once.

numba makes machine code of every function that it compiles, links it into each of its callers, and
optimizes it there again. Here the functions are only lowered; all of them are one module of LLVM,
whose optimizer sees each call and works from the callees up.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,arg-type,method-assign"
# ruff: noqa: ANN001, ANN202, ANN204, SLF001  (numba has no types, and no other way)

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

from llvmlite import binding  # type: ignore[import-untyped]
from numba.core import cgutils
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.registry import cpu_target
from numba.core.types.functions import BaseFunction

from streamreasoner.native.compile import Inside
from streamreasoner.native.image import Image, Symbols, config, processor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


_OPTIMIZING = 20  # steps that optimizing takes as long as


class _Codegen:
    """numba's generator of code, for functions that get no address."""

    def __init__(self, codegen):
        self._codegen = codegen

    def __getattr__(self, name):
        return getattr(self._codegen, name)

    def set_env(self, _name, _environment):
        """Leave the variable of a function that is not loaded."""


class _Lowered(JITCodeLibrary):
    """The text of functions that are lowered, and what they link to."""

    def __init__(self, codegen, name):
        CodeLibrary.__init__(self, _Codegen(codegen), name)
        self.texts = []
        self.linked = []

    def add_ir_module(self, ir_module):
        """Keep the text of a module."""
        self.texts.append(cgutils.normalize_ir_text(str(ir_module)))

    def add_linking_library(self, library):
        """Keep what the functions call."""
        self.linked.append(library)

    def finalize(self):
        """Make no machine code."""
        self._finalized = True

    def enable_object_caching(self):
        """Keep no machine code."""

    def get_pointer_to_function(self, _name):
        """No function has an address."""
        return 0


def compile_image(
    kernels: Sequence[tuple[Any, Sequence[object]]], report: Callable[[int, int], None]
) -> Image:
    """Compile kernels, in a process that compiles nothing else.

    Args:
        kernels: Each with examples of its arguments.
        report: Called with the number of steps that are done, and of all.
    """
    gc.disable()  # every object is needed to the end
    config.CPU_NAME, config.CPU_FEATURES = processor()
    context = cpu_target.target_context
    codegen = context.codegen()
    codegen._library_class = _Lowered
    config.DISABLE_ERROR_MESSAGE_HIGHLIGHTING = 1  # of the messages about what does not match
    BaseFunction.get_call_type = _remembered(BaseFunction.get_call_type)
    Inside.only_lowered = True
    steps = len(kernels) + _OPTIMIZING
    symbols, libraries = [], []
    for done, (kernel, arguments) in enumerate(kernels):
        report(done, steps)
        types = tuple(map(kernel.typeof_pyval, arguments))
        kernel.inside.compile(types)
        lowered = kernel.inside.overloads[types]
        described = lowered.fndesc
        wrapper = _Lowered(codegen, described.llvm_cpython_wrapper_name)
        with context.push_code_library(wrapper):
            context.create_cpython_wrapper(
                wrapper, described, lowered.environment, lowered.call_helper, release_gil=True
            )
        libraries += [wrapper, lowered.library]
        symbols.append(
            Symbols(
                *(kernel.py_func.__module__, kernel.py_func.__name__, lowered.signature),
                described.llvm_cpython_wrapper_name,
                context.get_env_name(described),
            )
        )
    report(len(kernels), steps)
    kept = {name for each in symbols for name in (each.wrapper, each.environment)}
    return Image(_machine_code(codegen, _texts(libraries), kept), tuple(symbols))


def _remembered(get_call_type):
    """The same, but the type of a call is found once for each function and types of arguments.

    numba tries all that an operator may mean each time, and says of each why it does not match.
    """
    known = {}

    def remembered(function, context, args, kws):
        call = function, args, tuple(kws.items())
        if call not in known:
            known[call] = get_call_type(function, context, args, kws)
        return known[call]

    return remembered


def _texts(libraries: Iterable[Any]) -> Iterator[str]:
    """The text of each library and of all that they link to, each once."""
    seen = set()
    left = list(libraries)
    while left:
        library = left.pop()
        if id(library) not in seen:
            seen.add(id(library))
            left += library.linked
            yield from library.texts


def _machine_code(codegen, texts: Iterable[str], kept: set[str]) -> bytes:
    """Link the texts, optimize all, and compile them; only what is kept has a name outside."""
    module = binding.parse_assembly(str(codegen._create_empty_module("kernels")))
    for text in texts:
        part = binding.parse_assembly(text)
        part.data_layout = codegen._data_layout
        module.link_in(part)
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name not in kept:
            each.linkage = "internal"
    made = codegen._module_pass_manager()
    passes, *builder = made if isinstance(made, tuple) else (made,)  # numba before 0.62 has no pair
    passes.run(module, *builder)
    module.verify()
    code: bytes = codegen._tm.emit_object(module)
    return code
