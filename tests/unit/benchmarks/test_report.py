"""Results into documents: the same results give the same bytes, and nothing else is touched."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

from benchmarks import __main__ as everything
from benchmarks import harness, plots, report, verdict
from benchmarks.peers.case import TIMES

TABLE = {
    "title": "A title",
    "note": "A note.",
    "header": ["name", "number", "share", "right"],
    "rows": [["one", 1_234_567, 0.0000123456, True], ["two", 5, 123.4, False]],
}
MACHINE = {"machine": "some, 2 cores", "load": 0.5, "python": "3.11", "commit": "abc"}
PAIR = {"delete": 2e-5, "add": 1e-5}
RESULTS = {
    "growth": {
        "scales": [
            {"scale": s, "facts": 1_000 * s, **PAIR, "delete_p99": 4e-5, "add_p99": 3e-5}
            for s in (1, 10)
        ],
        "epochs": [{"updates": n, "floor": n * 1e-6, **PAIR} for n in (1, 10)],
    },
    "graphs": {"tasks": [{"title": "paths", "quantiles": [1e-5] * 101, "load": 2.0, "peer": 0.1}]},
    "program_graphs": {
        "analyses": [
            {
                "title": "CSPA",
                "epochs": [
                    {"edges": n, "delete_mean": n * 1e-3, "add_mean": n * 1e-3, "again": 1.0}
                    for n in (1, 10)
                ],
            }
        ]
    },
    "compare": {
        "results": {
            "closure; 1 single row": {
                "section": "closure",
                "rows": [
                    {"engine": engine} | {name: {"processor": 1.0, "wall": 2.0} for name in TIMES}
                    for engine in (verdict.OURS, "differential dataflow")
                ],
            },
            "Removing": {
                "section": "deletion",
                "rows": [{"graph": "chain", "matches, rederive": 100, "matches, counts": 10}],
            },
        }
    },
    "soak": {
        "samples": [
            {
                "seconds": seconds,
                "age": age,
                "python_mib": 300,
                "java_mib": 500,
                "files": 900,
                "greatest_ms": 900,
            }
            | settled
            for seconds, age, settled in ((30, 30, {}), (60, 60, {"p50_ms": 300}), (90, 15, {}))
        ]
    },
    "kernel": {},
}
SHOWN = """| name |    number |     share | right |
| ---- | --------: | --------: | ----: |
| one  | 1,234,567 | 0.0000123 |   yes |
| two  |         5 |       123 |    NO |"""


@pytest.fixture
def documents(tmp_path):
    """A folder of documents with a block for every result, and the results next to it."""
    blocks = [f"# {name}\n\n<!-- begin {name} -->\n<!-- end {name} -->" for name in RESULTS]
    (tmp_path / "benchmarks.md").write_text("\n\n".join(["Before.", *blocks[:-1], "After."]))
    (tmp_path / "other.md").write_text(blocks[-1])
    for name, figures in RESULTS.items():
        text = json.dumps({**MACHINE, **figures, "tables": [TABLE]})
        (tmp_path / f"{name}.json").write_text(text)
    return tmp_path


def contents(folder):
    """Every file of a folder, by its path."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_publishing_twice_gives_the_same_bytes(documents):
    """Plots, results and document are the same whenever they are made."""
    report.publish(sorted(documents.glob("*.json")), documents)
    once = contents(documents)
    report.publish([], documents)

    assert contents(documents) == once
    plotted = {path.name for path in (documents / "benchmarks").glob("*.svg")}
    assert plotted == {file for files in plots.PLOTS.values() for file in files}


def test_blocks_are_renewed_and_the_rest_stays(documents):
    """Tables and plots stand between the marks of their benchmark; other text is untouched."""
    report.publish([documents / "growth.json"], documents)
    text = (documents / "benchmarks.md").read_text()

    begin, rest = text.split("<!-- begin growth -->")
    content, end = rest.split("<!-- end growth -->")
    assert begin == "Before.\n\n# growth\n\n"
    assert end.endswith("After.")
    assert "![Cost of one triple as state and epochs grow](benchmarks/growth.svg)" in content
    assert SHOWN in content
    assert "Commit abc, some, 2 cores, Python 3.11; load average at the start 0.5." in content
    assert "<!-- begin graphs -->\n<!-- end graphs -->" in text


def test_a_block_may_be_in_any_document(documents):
    """Results go where their block is."""
    before = (documents / "benchmarks.md").read_text()
    report.publish([documents / "kernel.json"], documents)

    assert (documents / "benchmarks.md").read_text() == before
    assert SHOWN in (documents / "other.md").read_text()


def test_a_block_in_two_documents_is_refused(documents):
    """It would be unclear where results belong."""
    (documents / "copy.md").write_text((documents / "other.md").read_text())

    with pytest.raises(SystemExit):
        report.publish([documents / "kernel.json"], documents)


def test_results_without_a_block_are_refused(documents):
    """A result that no document has a place for is an error, not lost."""
    (documents / "other.json").write_text(json.dumps({**MACHINE, "tables": []}))

    with pytest.raises(SystemExit):
        report.publish([documents / "other.json"], documents)


def test_the_documents_are_what_the_results_say():
    """They have the tables of the results that lie next to them, to the letter."""
    text = "".join(path.read_text("utf-8") for path in report.DOCUMENTS.glob("*.md"))
    for path in (report.DOCUMENTS / "benchmarks" / "results").glob("*.json"):
        for table in json.loads(path.read_text("utf-8"))["tables"]:
            assert harness.markdown(table) in text, (path.name, table["title"])


@pytest.mark.parametrize("name", everything.SCRIPTS)
def test_every_benchmark_has_its_place(name):
    """Every name is a script that can be imported, and a block of the document."""
    assert callable(import_module(f"benchmarks.{name}").main)
    text = (report.DOCUMENTS / "benchmarks.md").read_text("utf-8")
    assert text.count(f"<!-- begin {name} -->") == text.count(f"<!-- end {name} -->") == 1


def test_work_apart_is_done_in_another_process():
    """The result of a function comes back from a process that is not this one."""
    assert harness.apart(pow, 3, 4) == 81
    with pytest.raises(ZeroDivisionError):
        harness.apart(divmod, 1, 0)


def test_a_script_runs_and_writes_its_results(tmp_path):
    """A benchmark that is run by its name says that it went well, and leaves tables as JSON."""
    seconds, outcome = everything.run("graphs", tmp_path, quick=True)

    figures = json.loads((tmp_path / "graphs.json").read_text())
    assert outcome == "ok"
    assert seconds > 0
    assert [found["equal"] for found in figures["tasks"]] == [True] * 3
    assert all(table["rows"] for table in figures["tables"])
