"""Memory: what terms and facts take, by what takes it, and what compressing terms costs.

    python benchmarks/memory.py [--scale 50] [--terms 300000] [--json FILE]

The claims: records take at most 33 bytes for a fact of LUBM under ρDF, and one of LUBM(50) takes at
most 40 with hash tables, which depend on the number of facts; a term of LUBM takes at most 45
bytes, hash table included; the text of a term takes at most a byte more than it has, whatever it
is; and to add LUBM's terms, and to find them in random order, takes at most twice what it takes
without compressing. Times are processor time on one core, the best of some rounds in turns, of a
dictionary as it is, of one that has learned no symbols, and of Arrow on columns of text.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import harness
from benchmarks.driver import Kernel, updates
from streamreasoner.backends.columnar.kernels.records import layout, slots
from streamreasoner.io.formats.ntriples import read
from streamreasoner.rdf.dictionary import ID_BYTES, MAX_TERMS, Dictionary
from streamreasoner.rdf.kernels.term_texts import BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_BYTES, MOST_RECORD_BYTES, MOST_FACT_BYTES = 45, 33, 40
ROUNDS = 5
SAMPLED = 200_000  # terms that are found and read
XSD = "http://www.w3.org/2001/XMLSchema#"
SIZES = ("terms", "text", "kept", "ends", "slots", "symbols", "all")
RECORD_SIZES = ("entry", "class", "arguments", "links", "padding", "other_records")
FACT_SIZES = (*RECORD_SIZES, "table", "groups", "all")
TIMES = ("add", "plain_add", "arrow_add", "find", "plain_find", "read", "plain_read", "arrow_read")


def main() -> int:
    """Measure, print the tables, and fail if a claim does not hold."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scale", type=int, default=50, choices=(1, 10, 50))
    arguments.add_argument("--terms", type=int, default=300_000, help="of each generated kind")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = arguments.parse_args()
    figures: dict[str, Any] = harness.machine()
    figures["facts"] = harness.apart(facts, options.scale)
    kinds = {f"LUBM({options.scale})": lubm(options.scale), **generated(options.terms)}
    figures["kinds"] = {kind: measure(terms) for kind, terms in kinds.items()}
    figures["claims"] = claims(figures, f"LUBM({options.scale})")
    figures["tables"] = tables(figures)
    harness.save(options.json, figures)
    return 0 if all(figures["claims"].values()) else 1


def facts(scale: int) -> dict[str, float]:
    """Bytes of a fact of LUBM under ρDF, by what takes them."""
    dictionary = Dictionary()
    triples = [block for path in harness.lubm(scale) for block in read(path, dictionary)]
    kernel = Kernel("rho-df", dictionary)
    kernel.load([updates("triple", np.concatenate(triples), 1)])
    state = kernel._backend._state  # noqa: SLF001 - parts of what is in use
    records = state.slots[state.slots != 0].astype(np.int64)
    headers = state.units.view(np.int32)[layout.WORDS * records + layout.HEADER]
    sizes = state.column(layout.CLASSES).reshape(-1, layout.CLASS_WIDTH)
    of_class = np.bincount(headers & layout.CLASS_BITS, minlength=len(sizes))
    units, arguments, links = (
        int((of_class * sizes[:, field]).sum())
        for field in (layout.CLASS_UNITS, layout.CLASS_ARITY, layout.CLASS_LINK_COUNT)
    )
    scalars = state.scalars
    parts = {
        "entry": layout.UNIT_BYTES * layout.ENTRY_UNITS * len(records),
        "class": layout.WORD_BYTES * len(records),
        "arguments": layout.WORD_BYTES * arguments,
        "links": layout.WORD_BYTES * layout.LINK_WIDTH * links,
    }
    parts["padding"] = layout.UNIT_BYTES * units - sum(parts.values())
    parts["other_records"] = layout.UNIT_BYTES * (int(scalars[layout.TOP]) - units)
    parts["table"] = slots.BYTES * len(state.slots)
    parts["all"] = kernel.statistics().bytes
    parts["groups"] = 2 * parts["all"] - sum(parts.values())
    return {"facts": len(records)} | {
        name: round(used / len(records), 1) for name, used in parts.items()
    }


def lubm(scale: int) -> pa.LargeStringArray:
    """The terms of LUBM, in the order of the files."""
    dictionary = Dictionary()
    for path in harness.lubm(scale):
        for _ in read(path, dictionary):
            pass
    return dictionary.terms(0, len(dictionary))


def generated(count: int) -> dict[str, pa.LargeStringArray]:
    """Columns of terms of other kinds, without repetitions, from a fixed seed."""
    chance = Random(0)  # noqa: S311 - the same terms each time
    prose = " ".join(path.read_text("utf-8") for path in sorted(harness.ROOT.glob("docs/*.md")))
    prose = " ".join(prose.replace("\\", " ").replace('"', " ").split())
    kinds: dict[str, Callable[[], str]] = {
        "UUIDs": lambda: f"<http://example.org/id/{UUID(int=chance.getrandbits(128))}>",
        "like Wikidata's": lambda: chance.choice(WIKIDATA)(chance),
        "prose": lambda: f'"{part(prose, chance)}"@en',
        "chance": lambda: f'"{"".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(9))}"',
    }
    texts = {kind: dict.fromkeys(make() for _ in range(count)) for kind, make in kinds.items()}
    return {kind: pa.array(each, pa.large_string()) for kind, each in texts.items()}


def part(prose: str, chance: Random) -> str:
    """Some characters of a text."""
    start = chance.randrange(len(prose) - 400)
    return prose[start : start + chance.randrange(40, 400)]


WIKIDATA: tuple[Callable[[Random], str], ...] = (
    lambda chance: f"<http://www.wikidata.org/entity/Q{chance.randrange(10**8)}>",
    lambda chance: (
        f"<http://www.wikidata.org/entity/statement/Q{chance.randrange(10**8)}-"
        f"{str(UUID(int=chance.getrandbits(128))).upper()}>"
    ),
    lambda chance: f'"{chance.randrange(10**9)}"^^<{XSD}integer>',
    lambda chance: (
        f'"{chance.randrange(1000, 2030)}-{chance.randrange(1, 13):02}-'
        f'{chance.randrange(1, 29):02}T00:00:00Z"^^<{XSD}dateTime>'
    ),
)


def measure(terms: pa.LargeStringArray) -> dict[str, float]:
    """Bytes of a term by what takes them, and nanoseconds of a term here and in Arrow."""
    dictionary, plain, count = Dictionary(), without_symbols(), len(terms)
    ids, same = dictionary.encode(terms), plain.encode(terms)
    if not np.array_equal(ids, same) or not dictionary.decode(ids).equals(terms):
        raise SystemExit("The dictionary has lost terms.")
    parts = {
        "text": pc.sum(pc.binary_length(terms)).as_py(),
        "kept": dictionary.text.used,
        "ends": ID_BYTES * count + 8 * -(-count // BLOCK),
        "slots": 8 * dictionary._slots.capacity,  # noqa: SLF001 - parts of what is in use
        "symbols": dictionary._symbols.nbytes,  # noqa: SLF001
        "all": dictionary.nbytes,
    }
    adding = {
        "add": lambda: Dictionary().encode(terms),
        "plain_add": lambda: without_symbols().encode(terms),
        "arrow_add": lambda: pc.dictionary_encode(terms),
    }
    chosen = np.random.default_rng(0).permutation(count)[:SAMPLED].astype(np.int32)
    rows = pa.array(chosen)
    asked = terms.take(rows)
    reading = {
        "find": lambda: dictionary.encode(asked),
        "plain_find": lambda: plain.encode(asked),
        "read": lambda: dictionary.decode(chosen),
        "plain_read": lambda: plain.decode(chosen),
        "arrow_read": lambda: terms.take(rows),
    }
    sizes = {name: round(used / count, 1) for name, used in parts.items()}
    return {"terms": count, **sizes, **timed(count, adding), **timed(len(asked), reading)}


def without_symbols() -> Dictionary:
    """A dictionary that never learns symbols, so that it keeps all texts as they are."""
    dictionary = Dictionary()
    dictionary._symbols.next_lesson = MAX_TERMS  # noqa: SLF001 - nothing else can do this
    dictionary._install(dictionary._slots)  # noqa: SLF001
    return dictionary


def timed(rows: int, works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Nanoseconds of processor time for a row of each piece of work, the best of some, in turns."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, work in works.items():
            gc.collect()
            started = time.process_time_ns()
            work()
            best[name] = min(best[name], time.process_time_ns() - started)
    return {name: round(taken / rows, 1) for name, taken in best.items()}


def claims(figures: dict[str, Any], lubm_kind: str) -> dict[str, bool]:
    """What is claimed, and whether it holds."""
    kinds = figures["kinds"]
    found = kinds[lubm_kind]
    in_records = sum(figures["facts"][name] for name in RECORD_SIZES)
    claimed = {}
    if lubm_kind == "LUBM(50)":  # what hash tables take depends on the number of facts
        is_small = figures["facts"]["all"] <= MOST_FACT_BYTES
        claimed[f"{lubm_kind}: at most {MOST_FACT_BYTES} bytes a fact"] = is_small
    return claimed | {
        f"{lubm_kind}: records of at most {MOST_RECORD_BYTES} bytes a fact": in_records
        <= MOST_RECORD_BYTES,
        f"{lubm_kind}: at most {MOST_BYTES} bytes a term": found["all"] <= MOST_BYTES,
        "each kind: at most a byte more than the text": all(
            each["kept"] <= each["text"] + 1 for each in kinds.values()
        ),
        f"{lubm_kind}: added in at most twice the time": found["add"] <= 2 * found["plain_add"],
        f"{lubm_kind}: found in at most twice the time": found["find"] <= 2 * found["plain_find"],
    }


def tables(figures: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables, printed."""
    kinds, of_facts = figures["kinds"].items(), figures["facts"]
    return [
        harness.print_table(
            "Bytes of a fact",
            ("facts", *(name.replace("_", " ") for name in FACT_SIZES)),
            [(of_facts["facts"], *(of_facts[name] for name in FACT_SIZES))],
            "LUBM under `rho-df`. Groups: pages of arrays by id, and the table of longer keys.",
        ),
        harness.print_table(
            "Bytes of a term",
            ("terms of", "number", "text", "text kept", "ends", "hash slots", "symbols", "all"),
            [(kind, *(found[name] for name in SIZES)) for kind, found in kinds],
        ),
        harness.print_table(
            "Nanoseconds of processor time for a term",
            ("terms of", "add", "plain", "Arrow", "find", "plain", "read", "plain", "Arrow"),
            [(kind, *(found[name] for name in TIMES)) for kind, found in kinds],
            "Terms are found and read in random order. Arrow: `dictionary_encode`, and `take`.",
        ),
        harness.print_table("Claims", ("claim", "holds"), list(figures["claims"].items())),
    ]


if __name__ == "__main__":
    sys.exit(main())
