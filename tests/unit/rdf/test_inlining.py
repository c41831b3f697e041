"""What is inlined has the results that it has alone, whichever kernel is compiled first."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

IMPORTS = """
import numpy as np
import pyarrow as pa
from numba import int64
from streamreasoner.native.compile import inlined, kernel
from streamreasoner.rdf.dictionary import Dictionary
from streamreasoner.rdf.kernels import term_texts
from streamreasoner.rdf.kernels.hash_table import ABSENT, add, find, hash_term
"""
FIRST_FROM_AN_INLINED_KERNEL = """
@inlined
def through(header, address, length):
    return find(header, address, length, hash_term(header, address, length))

@kernel
def outer(header, address, length):
    return through(header, address, length)

outer.compile((int64[::1], int64, int64))

def ids(texts):
    return Dictionary().encode(pa.array(texts)).tolist()
"""
INLINED_ITSELF = """
term_texts.equal_bytes = inlined(term_texts.equal_bytes.py_func)
looked_up = inlined(find.py_func)

@kernel
def intern(header, address, length):
    hashed = hash_term(header, address, length)
    term = looked_up(header, address, length, hashed)
    return add(header, address, length, hashed) if term == ABSENT else term

def ids(texts):
    dictionary = Dictionary()
    header = dictionary.header
    buffers = [np.frombuffer(text.encode(), np.uint8) for text in texts]
    return [intern(header, buffer.ctypes.data, len(buffer)) for buffer in buffers]
"""
# Of eight bytes the last word is the first: its offset is 0.
TEXTS = [f"<{'x' * (length - 2)}>" for length in range(2, 20)]


@pytest.mark.parametrize("first", [FIRST_FROM_AN_INLINED_KERNEL, INLINED_ITSELF])
def test_a_term_has_one_id(first, tmp_path):
    """Terms of any length, interned twice, in a process that has nothing cached."""
    module = tmp_path / "planted_kernels.py"
    module.write_text(IMPORTS + first, encoding="utf-8")
    program = f"import json, planted_kernels; print(json.dumps(planted_kernels.ids({TEXTS * 2})))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [*range(len(TEXTS))] * 2
