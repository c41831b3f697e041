"""Laws of the documents. Invariant: what they show runs, and what they refer to is there."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pyarrow as pa
import pytest

from streamreasoner import Reasoner, Update, config
from streamreasoner.io.codec.decode import Codec, InputOptions
from streamreasoner.io.formats.registry import of_name
from streamreasoner.io.formats.rejected import Reason
from streamreasoner.rdf.dictionary import Dictionary

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


def blocks(document: str, language: str) -> list[str]:
    """The fenced blocks of a document that are marked with a language."""
    text = (ROOT / document).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """Anchors of the headings of a document, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    """Every link inside the repository leads to a file that exists, and to a heading of it."""
    here = ROOT / document
    broken = []
    for target, anchor in LINK.findall(here.read_text("utf-8")):
        path = here.parent / target if target else here
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(f"{target}#{anchor}")

    assert broken == []


def test_the_architecture_names_what_is_there() -> None:
    """Every file and folder that it names exists; names in capitals stand for any."""
    tops = [ROOT / name for name in ("streamreasoner", "tests", "docs", "scripts", "requirements")]
    paths = [*tops, *(path for each in tops for path in each.rglob("*"))]
    found = {path.relative_to(ROOT).as_posix() for path in paths}
    ends = {
        "/".join(parts[at:])
        for parts in (each.split("/") for each in found)
        for at in range(len(parts))
    }
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    named = re.findall(r"`([a-z_0-9/]+(?:/|\.(?:py|dl|md|json|js|lark|tsv|txt)))`", text)

    assert len(named) > 100
    assert sorted({each for each in named if each.removesuffix("/") not in ends}) == []


def test_the_readme_has_python_that_runs() -> None:
    """The README's Python example runs, and derives what its comments say."""
    (example,) = blocks("README.md", "python")
    names: dict[str, object] = {}

    exec(compile(example, "README.md", "exec"), names)  # noqa: S102 - our own text

    reasoner = names["reasoner"]
    assert isinstance(reasoner, Reasoner)
    assert [fact[0] for fact in reasoner.facts("triple")] == [names["tom"]]


def traces_of_the_worked_example() -> list[set[tuple[tuple[str], int, int]]]:
    """The traces that docs/semantics.md shows, as (arguments, iteration, multiplicity)."""
    tables = (ROOT / "docs/semantics.md").read_text("utf-8").split("| fact | iteration 1 |")[1:]
    traces = []
    for table in tables:
        found = set()
        for line in table.split("\n\n")[0].splitlines()[2:]:
            name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            fact = (name[len("`reach(") : -len(")`")],)
            found |= {
                (fact, iteration, int(cell.split()[0]))
                for iteration, cell in enumerate(cells[:-1], start=1)
                if cell
            }
        traces.append(found)
    return traces


def test_the_worked_example_is_what_happens() -> None:
    """The traces that docs/semantics.md shows are those of the reasoner, epoch by epoch."""
    (program,) = blocks("docs/semantics.md", "dl")
    reasoner = Reasoner.from_rules(program)
    edges = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "b")]
    epochs = [
        [Update("source", ("a",)), *(Update("edge", edge) for edge in edges)],
        [Update("edge", ("a", "b"), -1)],
        [Update("edge", ("a", "c"), -1)],
    ]

    traces = []
    for epoch in epochs:
        reasoner.apply(epoch)
        traces.append(set(reasoner.trace("reach")))

    assert traces == traces_of_the_worked_example()


def test_the_mapping_of_a_change_event_makes_of_it_what_the_text_says() -> None:
    """Floor 1 of room 7 is retracted, floor 2 asserted, and the price stays."""
    page = "docs/how-to/cdc-tables.md"
    text = next(each for each in blocks(page, "toml") if "[input.map" in each)
    event = next(each for each in blocks(page, "json") if '"op"' in each)
    topic = "shop.public.rooms"
    kafka = {"bootstrap_servers": "host:1", "input_topics": [topic], "output_topic": "out"}
    others = {"kafka": kafka, "rules": {"program": "rdfs"}, "state": {"directory": "state"}}
    accepted = config.parse({**tomllib.loads(text), **others}, {}, Path("/")).input
    options = InputOptions(
        max_message_bytes=1000,
        max_term_bytes=1000,
        of_topics={name: of_name(format_) for name, format_ in accepted.formats.items()},
        mappings=tuple(accepted.map.values()),
    )
    dictionary = Dictionary()
    header = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    columns = {
        "topic": [topic],
        "value": [event.encode()],
        "timestamp": pa.array([0], pa.timestamp("us", "UTC")),
        "headers": pa.array([None], header),
    }
    decoded = Codec(dictionary, {"price": 2}, options).decode(pa.table(columns))
    sums: Counter[tuple[str, ...]] = Counter()
    for each in decoded.updates:
        for args, diff in zip(each.args, each.multiplicity, strict=True):
            sums[each.predicate, *dictionary.decode(args).to_pylist()[2:]] += int(diff)
    integer = "<http://www.w3.org/2001/XMLSchema#integer>"

    assert decoded.rejected == ()
    assert decoded.event_time == 1_772_323_200_000
    assert {fact: diff for fact, diff in sums.items() if diff} == {
        ("triple", f'"1"^^{integer}'): -1,
        ("triple", f'"2"^^{integer}'): 1,
    }


def test_every_configuration_key_is_documented_with_its_default() -> None:
    """The reference lists the keys of the code, and no other."""
    table = (ROOT / "docs/reference/configuration.md").read_text("utf-8")
    documented = dict(
        re.findall(r"^\| `((?:kafka\.)?[a-z_]+\.[a-z_]+)` \| (.+?) \| ", table, re.MULTILINE)
    )
    smallest = {
        "kafka": {"bootstrap_servers": "host:1", "input_topics": ["in"], "output_topic": "out"},
        "rules": {"program": "rho-df"},
        "state": {"directory": "state"},
    }
    defaults = config.parse(smallest, {}, Path("/"))
    sections = {section.name: getattr(defaults, section.name) for section in fields(defaults)}
    expected = {}
    for section, values in {**sections, "kafka.security": defaults.kafka.security}.items():
        for key in fields(values):
            if f"{section}.{key.name}" == "kafka.security":
                continue
            value = getattr(values, key.name)
            expected[f"{section}.{key.name}"] = (
                "required"
                if key.name in smallest.get(section, {})
                else "none"
                if value in ({}, None)
                else f"`{key.metadata['kind'].write(value)}`".replace("`out-", "`<output_topic>-")
                .replace("-out`", "-<output_topic>`")
                .replace("/state/", "<directory>/")
            )

    assert documented == expected


def test_every_reason_for_rejection_is_documented() -> None:
    """The classes of dead letters in the reference are those of the codec, each once."""
    text = (ROOT / "docs/reference/messages.md").read_text("utf-8")
    table = text.split("| class | the message |")[1].split("\n\n")[0]
    classes = [cell for line in table.splitlines() for cell in line.split("|")[1:2]]
    documented = re.findall(r"`([a-z0-9-]+)`", " ".join(classes))

    assert sorted(documented) == sorted(reason.value for reason in Reason)
