"""Reports in EARL, the W3C's vocabulary for results of tests. Invariant: no path of a machine.

A test is asserted once for each way of running the package: where a suite includes the tests of an
earlier one, the report of the earlier one has them.
"""

from __future__ import annotations

from importlib.metadata import metadata
from typing import TYPE_CHECKING

from conformance.outcome import OWN, Verdict
from conformance.reasons import reason_of
from streamreasoner.rdf.terms import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.outcome import Case
    from conformance.report import Results

_PREFIXES = """PREFIX dct: <http://purl.org/dc/terms/>
PREFIX doap: <http://usefulinc.com/ns/doap#>
PREFIX earl: <http://www.w3.org/ns/earl#>
PREFIX sr: <urn:streamreasoner:>
"""
_PUBLISHED = {
    "sparql": "https://w3c.github.io/rdf-tests/",
    "rdf": "https://w3c.github.io/rdf-tests/",
    "data-shapes-test-suite": "https://w3c.github.io/data-shapes/",
    "shacl12-test-suite": "https://w3c.github.io/data-shapes/",
    "tests": "https://w3c.github.io/json-ld-api/",
}
"""Where the folders of the suites are published, by the first part of the path of a manifest."""


def published(test: str, manifest: str, path: Path) -> str:
    """The IRI of a test, which is relative to its manifest in some suites.

    Args:
        test: The IRI, of a file if it is relative.
        manifest: The path of the manifest in its suites.
        path: The file of the manifest.
    """
    root = path.as_uri().removesuffix(manifest)
    if not test.startswith(root):
        return test
    return _PUBLISHED[manifest.partition("/")[0]] + test.removeprefix(root)


def reports(
    cases: Sequence[Case], results: Results, reasons: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """A document in Turtle for each specification, after its name."""
    known: set[tuple[str, str]] = set()
    documents: dict[str, list[str]] = {}
    for case in cases:
        for number, system in enumerate(OWN):
            found = results.get(case.suite, {}).get(system, {}).get(case.name)
            if found is None or (system, case.test) in known:
                continue
            known.add((system, case.test))
            passed = found.verdict is Verdict.PASSED
            why = None if passed else reason_of(reasons, system, case.name)
            documents.setdefault(case.suite.partition(":")[0], []).append(
                f"[ a earl:Assertion ; earl:assertedBy sr:conformance ; earl:mode earl:automatic ;"
                f" earl:subject sr:software{number or ''} ; earl:test <{case.test}> ; earl:result"
                f" [ a earl:TestResult ; earl:outcome earl:{'passed' if passed else 'failed'}"
                f"{f' ; earl:info {quoted(why)}' if why else ''} ] ] .\n"
            )
    for name, assertions in documents.items():
        yield name, "".join((_PREFIXES, _project(), *assertions))


def _project() -> str:
    about = metadata("streamreasoner")
    project = f"""
sr:software a doap:Project, earl:Software, earl:TestSubject ;
    doap:name {quoted(about["Name"])} ;
    doap:description {quoted(about["Summary"])} ;
    doap:programming-language "Python" ;
    doap:license <https://www.apache.org/licenses/LICENSE-2.0> ;
    doap:release [ a doap:Version ; doap:revision {quoted(about["Version"])} ] .
"""
    ways = (
        f"sr:software{number} a earl:Software, earl:TestSubject ;"
        f" dct:title {quoted(system)} ; dct:isPartOf sr:software .\n"
        for number, system in enumerate(OWN)
        if number
    )
    assertor = 'sr:conformance a earl:Assertor, earl:Software ; dct:title "make conformance" .\n\n'
    return "".join((project, *ways, assertor))
