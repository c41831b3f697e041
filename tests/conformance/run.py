"""Run official test suites: `make conformance DIR=…`.

DIR holds the suites as the W3C publishes them, as folders or as .tar.xz archives: rdf-tests,
data-shapes-test-suite, shacl12-test-suite and the toRdf part of json-ld-api. They are not part of
this repository.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tarfile
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]

from teams import store_elsewhere

from conformance import documents, entailment, queries, rule_sets, shapes, updates
from conformance.earl import published, reports
from conformance.outcome import (
    OURS,
    OWN,
    REPLAYED,
    REPLAYED_ON_PARTS,
    SECONDS,
    Verdict,
    outcome,
)
from conformance.reasons import read_reasons, reason_of
from conformance.report import Results, causes, document, table
from streamreasoner.backends.store import columnar
from streamreasoner.native.image import ensure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.outcome import Case

PARTS = 2
REPORTS = Path(__file__).parents[2] / "docs" / "earl"
DOCUMENT = Path(__file__).parents[2] / "docs" / "conformance.md"
# Each suite: the end of the path of its manifest, and who reads its cases.
SUITES: tuple[tuple[str, str, Callable[[str, Path], Iterator[Case]]], ...] = (
    ("SPARQL 1.0", "sparql/sparql10/manifest.ttl", queries.cases),
    ("SPARQL 1.1", "sparql/sparql11/manifest-all.ttl", queries.cases),
    ("SPARQL 1.1", "sparql/sparql11/manifest-all.ttl", updates.cases),
    ("SPARQL 1.2", "sparql/sparql12/manifest.ttl", queries.cases),
    ("SPARQL 1.2", "sparql/sparql12/manifest.ttl", updates.cases),
    *(
        ("SPARQL-RL", f"shacl12-test-suite/tests/sparql-rl/manifest-{name}.ttl", rule_sets.cases)
        for name in ("sparql-rl", "extra")
    ),
    ("SHACL", "data-shapes-test-suite/tests/core/manifest.ttl", shapes.cases),
    ("SHACL", "data-shapes-test-suite/tests/sparql/manifest.ttl", shapes.cases),
    *(
        (f"RDF 1.{minor}", f"rdf/rdf1{minor}/rdf-{name}/manifest.ttl", documents.cases)
        for minor in (1, 2)
        for name in ("n-triples", "n-quads", "turtle", "trig", "xml")
    ),
    ("RDF 1.1", "tests/toRdf-manifest.jsonld", documents.json_ld_cases),
    ("RDF 1.1", "rdf/rdf11/rdf-mt/manifest.ttl", entailment.graph_cases),
    ("RDF 1.2", "rdf/rdf12/rdf-semantics/manifest.ttl", entailment.graph_cases),
    ("SPARQL 1.1", "sparql/sparql11/entailment/manifest.ttl", entailment.query_cases),
)


def main() -> int:
    """Run the suites that are there; 1 if a difference of ours has no reason."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("directory", type=Path, help="folder of the suites")
    arguments.add_argument("--only", default="", help="cases whose suite or name has this text")
    arguments.add_argument("--system", action="append", help="systems to run; default: all")
    arguments.add_argument(
        "--parts", action="store_true", help="replay on parts in other processes, too"
    )
    arguments.add_argument(
        "--publish",
        action="store_true",
        help=f"write {DOCUMENT.name} and reports in EARL, with replays on parts",
    )
    options = arguments.parse_args()
    # Peers log literals without a valid form, of which the suites have many.
    logging.getLogger("rdflib").setLevel(logging.CRITICAL)
    # A case has a limit of time, which is not for compiling.
    ensure()
    with ExitStack() as stack:
        roots = [options.directory, *_unpacked(options.directory, stack)]
        cases = list(_cases(roots))
        parts = options.publish or options.parts
        results = _run(cases, options.only, options.system, parts=parts)
    if not results:
        print(f"{options.directory} has no suite that is known here.", file=sys.stderr)
        return 1
    reasons = read_reasons()
    print(table(results))
    unexplained = _print_differences(results, reasons, with_peers=bool(options.system))
    for system in OWN:
        if rows := causes(results, reasons, system):
            print(f"\n{system}:\n{rows}")
    if options.publish:
        _publish(cases, results, reasons)
    print(f"{unexplained} differences of {OURS} without a reason")
    return 1 if unexplained else 0


def _unpacked(directory: Path, stack: ExitStack) -> Iterator[Path]:
    for archive in sorted(directory.glob("*.tar.xz")):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        yield folder


def _cases(roots: list[Path]) -> Iterator[Case]:
    for suite, manifest, read in SUITES:
        found = chain.from_iterable(root.glob(f"**/{manifest}") for root in roots)
        for path in found:
            file = path.resolve()
            for case in read(suite, file):
                yield replace(case, test=published(case.test, manifest, file))
            break


def _publish(cases: list[Case], results: Results, reasons: dict[str, str]) -> None:
    """Write the page, and a report in EARL for each specification."""
    REPORTS.mkdir(exist_ok=True)
    files = {}
    for name, text in reports(cases, results, reasons):
        file = REPORTS / f"{name.lower().replace(' ', '-')}.ttl"
        file.write_text(text, encoding="utf-8")
        files[name] = f"{REPORTS.name}/{file.name}"
    DOCUMENT.write_text(document(results, reasons, files), encoding="utf-8")


def _run(
    cases: list[Case],
    only: str,
    systems: list[str] | None,
    *,
    parts: bool,
) -> Results:
    results: Results = defaultdict(lambda: defaultdict(dict))
    for number, case in enumerate(cases, start=1):
        if only not in f"{case.suite} {case.name}":
            continue
        if sys.stderr.isatty():
            print(f"\r\033[K{number} of {len(cases)}: {case.name}", end="", file=sys.stderr)
        for system, check, seconds in _checks(case, parts=parts):
            if systems and system not in systems:
                continue
            found = outcome(check, seconds)
            if found is not None:
                results[case.suite][system][case.name] = found
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return results


def _checks(case: Case, *, parts: bool) -> Iterator[tuple[str, Callable[[], None], int]]:
    """The system, the check and its limit of time, of each way to run a case."""
    for system, check in case.checks.items():
        yield system, check, SECONDS
    if case.replay is not None:
        yield REPLAYED, partial(case.replay, columnar), SECONDS
        if parts:
            yield REPLAYED_ON_PARTS, partial(case.replay, partial(store_elsewhere, PARTS)), SECONDS


def _print_differences(results: Results, reasons: dict[str, str], *, with_peers: bool) -> int:
    """Print what systems do not pass, and why; returns how many of ours have no reason."""
    unexplained = 0
    for suite, systems in results.items():
        for system, cases in systems.items():
            for name, found in cases.items():
                if found.verdict is Verdict.PASSED:
                    continue
                if system.startswith(OURS):
                    unexplained += reason_of(reasons, system, name) is None
                elif not with_peers:
                    continue
                print(f"{suite}, {system}: {name}: {found.verdict}: {found.cause}")
    return unexplained


if __name__ == "__main__":
    sys.exit(main())
