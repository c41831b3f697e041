"""Laws of the repository. Invariant: each law holds here, and fails on a planted violation."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import house
import pytest
from packaging.requirements import Requirement

from streamreasoner.io.formats import registry

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))

PLANTED = {
    "a marker": ("x.py", '"""A module that does one thing."""\n# TODO later\n', 2),
    "a home folder": ("x.md", "Data is in /home/someone/data.\n", 1),
    "a password": ("x.toml", 'url = "https://user:secret@host/"\n', 1),
    "a registry in a lock file": ("requirements/run.txt", "--index-url https://host/simple\n", 1),
    "a foreign negation": ("note.md", "A list is no set.\n", 1),
    "a foreign place": ("note.py", '"""A file of words that lies beside the other one."""\n', 1),
    "a foreign reference": ("note.md", "Take one of the two, and keep\nthe latter.\n", 2),
    "a file address in a lock file": ("requirements/dev.txt", "x @ file:wheels/x.whl\n", 1),
    "a comment on history": ("x.py", '"""A module that does one thing."""\n# We now use ids\n', 2),
    "a module without a docstring": ("x.py", "X = 1\n", 1),
    "a docstring that repeats the name": ("x.py", '"""The x module."""\n', 1),
    "an empty name": ("x.py", '"""A module that does one thing."""\nclass FactManager: ...\n', 2),
    "a kernel outside its folder": (
        "streamreasoner/engine/x.py",
        '"""A module that does one thing."""\n@kernel\ndef f(): ...\n',
        3,
    ),
    "a constant that is compiled in from above": (
        "streamreasoner/rdf/kernels/x.py",
        '"""A module that does one thing."""\nfrom streamreasoner.lang import limits\n',
        2,
    ),
    "a word in a kernel that reads as translated": (
        "streamreasoner/rdf/kernels/x.py",
        '"""Ids of terms. Invariant: an id of 0 is no term."""\n',
        1,
    ),
    "a field of a record by its number": (
        "streamreasoner/backends/columnar/kernels/joining/x.py",
        '"""A module that does one thing."""\nx = words[2 * y + layout.CELLS]\n',
        2,
    ),
    "an item of a row by its number": (
        "streamreasoner/backends/columnar/x.py",
        '"""A module that does one thing."""\nx = operands[at + 3]\n',
        2,
    ),
    "the entry of a fact by its number": (
        "streamreasoner/backends/columnar/kernels/epoch/x.py",
        '"""A module that does one thing."""\nentry = fact + 1\n',
        2,
    ),
    "a packed word that is taken apart": (
        "streamreasoner/backends/columnar/kernels/settling/x.py",
        '"""A module that does one thing."""\nx = journal[i] >> 32\n',
        2,
    ),
    "native naming a package above it": (
        "streamreasoner/native/x.py",
        '"""A module that does one thing."""\nFOLDER = "backends/columnar"\n',
        2,
    ),
    **{
        f"a test of what a term is, {test}": (
            "streamreasoner/engine/x.py",
            f'"""A module that does one thing."""\nX = {test}\n',
            2,
        )
        for test in (
            "term.startswith('<')",
            "term.startswith(('_:', '\"'))",
            "pc.starts_with(terms, '<')",
            "term[0] == '\"'",
            "term[:1] not in '<\"'",
            "first == ord('<')",
        )
    },
    "a case of what a term is": (
        "streamreasoner/engine/x.py",
        '"""A module that does one thing."""\nmatch x[:1]:\n    case "<": ...\n',
        2,
    ),
    "a long function": (
        "streamreasoner/engine/x.py",
        '"""A module that does one thing."""\ndef f():\n' + "    g()\n" * 80,
        2,
    ),
    "a long module": (
        "streamreasoner/engine/x.py",
        '"""A module that does one thing."""\n' + "X = 1\n" * 450,
        1,
    ),
    "a mock": ("x.py", '"""A module that does one thing."""\nfrom unittest import mock\n', 2),
}


def test_the_repository_keeps_its_house_rules() -> None:
    """No file of the repository violates a house rule."""
    assert list(house.violations(ROOT)) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_found(name: str, tmp_path: Path) -> None:
    """Each house rule finds a violation of it, in the file and line where it stands."""
    file, text, line = PLANTED[name]
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text, encoding="utf-8")

    found = list(house.violations(tmp_path))

    assert len(found) == 1
    assert found[0].startswith(f"{file}:{line}: ")


def test_what_is_just_short_enough_is_allowed(tmp_path: Path) -> None:
    """The largest function, in the largest module."""
    folder = tmp_path / "streamreasoner" / "engine"
    folder.mkdir(parents=True)
    function = "def f():\n" + "    g()\n" * (house.LONGEST_FUNCTION - 1)
    rest = house.MOST_LINES - house.LONGEST_FUNCTION - 1
    text = '"""A module that does one thing."""\n' + function + "X = 1\n" * rest
    (folder / "x.py").write_text(text)

    assert [*house.violations(tmp_path)] == []


def test_a_folder_without_rooms_is_found(tmp_path: Path) -> None:
    """A folder of more than twelve modules is reported."""
    folder = tmp_path / "streamreasoner" / "engine"
    folder.mkdir(parents=True)
    for number in range(13):
        (folder / f"m{number}.py").write_text('"""A module that does one thing."""\n')
    (folder / "__init__.py").write_text('"""A folder that has many modules."""\n')

    assert [each.split(":")[0] for each in house.violations(tmp_path)] == [
        "streamreasoner/engine/__init__.py"
    ]


def test_the_lock_files_hold_every_requirement() -> None:
    """What `pyproject.toml` requires is in the lock files at a version that it allows."""
    assert len(LOCKS) == 8
    assert list(house.unlocked(ROOT)) == []


def test_the_lowest_versions_are_locked() -> None:
    """What the package requires is tested with the first version that it allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = (ROOT / "requirements/lowest.txt").read_text("utf-8").splitlines()
    pinned = {line.partition(" ")[0] for line in lines}
    required = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        required += extra
    firsts = {}
    for requirement in map(Requirement, required):
        bounds = [each.version for each in requirement.specifier if each.operator == ">="]
        assert len(bounds) == (requirement.name != "streamreasoner"), requirement
        firsts.setdefault(requirement.name, []).extend(bounds)
    del firsts["streamreasoner"]

    missing = [
        name
        for name, bounds in firsts.items()
        if not any(f"{name}=={bound}" in pinned for bound in bounds)
    ]

    assert missing == []


def test_a_stale_lock_file_is_found(tmp_path: Path) -> None:
    """A version in a lock file that `pyproject.toml` does not allow is reported."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    lock = tmp_path / "requirements/run.txt"
    lock.write_text(lock.read_text("utf-8").replace("\nnumpy==", "\nnumpy==0."), encoding="utf-8")

    found = list(house.unlocked(tmp_path))

    assert len(found) == 1
    assert found[0].startswith("requirements/run.txt:1: lacks numpy>=")


def test_every_locked_requirement_has_a_hash() -> None:
    """Installation can refuse what the lock files do not know by content."""
    for path in LOCKS:
        lines = path.read_text("utf-8").splitlines()
        bare = [
            line
            for line, after in zip(lines, [*lines[1:], ""], strict=True)
            if "==" in line and not line.startswith(" ") and "--hash=sha256:" not in after
        ]

        assert bare == []


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the package and contracts that stand in `root`."""
    script = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", script, "--no-cache"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copied_package(tmp_path: Path) -> Path:
    """A folder with a copy of the package and its import contracts."""
    shutil.copytree(
        ROOT / "streamreasoner",
        tmp_path / "streamreasoner",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    shutil.copy(ROOT / ".importlinter", tmp_path / ".importlinter")
    return tmp_path


def test_the_import_contracts_hold(copied_package: Path) -> None:
    """The package imports only downwards, and third parties only in their adapters."""
    finished = lint_imports(copied_package)

    assert finished.returncode == 0, finished.stdout + finished.stderr


LAYERS, CIRCLES = "Layers open downwards", "Modules of a package do not import in circles"
LIBRARY = re.compile(r"^ *(?:import|from) (\w+)(?:\.[\w.]+)?(?: import .*| as \w+)?$", re.MULTILINE)
OWN = {"streamreasoner", "_typeshed"}
EVERYWHERE = {"numpy", "pyarrow", "pyoxigraph", "rich"}
"""Libraries that several packages share."""
WRONG_IMPORTS = {
    "rdf/planted.py": ("streamreasoner.engine", LAYERS),
    "pipeline/planted.py": ("streamreasoner.server", LAYERS),
    "history/planted.py": ("streamreasoner.query", LAYERS),
    "state/planted.py": ("streamreasoner.history", LAYERS),
    "facts.py": ("streamreasoner.engine", LAYERS),
    "rulesets/planted.py": ("streamreasoner.facts", LAYERS),
    "config/planted.py": ("streamreasoner.service", LAYERS),
    "io/formats/nquads.py": (
        "streamreasoner.io.formats.ntriples",
        "Formats do not know each other",
    ),
    "engine/planted.py": ("pyspark", "Spark is known to its source and its users"),
    "explain/planted.py": (
        "duckdb",
        "DuckDB is known to the replica and queries",
    ),
    "state/delta/planted.py": ("deltalake", "Delta-rs is known to the tests"),
    "server/planted.py": (
        "confluent_kafka",
        "Kafka clients are known to io.kafka and the schema registry",
    ),
    "io/formats/rows/planted.py": (
        "fastavro",
        "The libraries of schemas are known to io.formats.schemas",
    ),
    "service/planted.py": ("prometheus_client", "Prometheus is known to server"),
    "server/also_planted.py": ("starlette", "Starlette and Uvicorn are known to the web server"),
    "values/planted.py": ("numba", "Numba is known to native"),
    "shapes/planted.py": ("lark", "Lark is known to the two parsers"),
    "query/planted.py": ("rdflib", "rdflib is known to the Python API"),
    "plan/planted.py": (
        "msgspec",
        "Msgspec is known to io, records of the pipeline and its epochs, and the journal",
    ),
    "history/replica/planted.py": (
        "obstore",
        "The client of object stores is known to its adapter",
    ),
    "shell/planted.py": ("typer", "Typer is known to the command line"),
    "cli/planted.py": ("prompt_toolkit", "Prompt_toolkit is known to the shell"),
    "lang/planted.py": ("re2", "RE2 is known to values"),
}


def plant(root: Path, file: str, imported: str) -> str:
    """Add an import to a module of a copy, which is made if need be; the name of the module."""
    with (root / "streamreasoner" / file).open("a", encoding="utf-8") as source:
        source.write(f"\nimport {imported}\n")
    return f"streamreasoner.{file.removesuffix('.py').replace('/', '.')}"


def test_planted_wrong_imports_are_found(copied_package: Path) -> None:
    """Each is reported with its line, and the contract that it breaks by its name."""
    planted = {
        f"{plant(copied_package, file, imported)} -> {imported} (l."
        for file, (imported, _) in WRONG_IMPORTS.items()
    }

    finished = lint_imports(copied_package)

    report = " ".join(finished.stdout.split())
    assert finished.returncode == 1, finished.stdout + finished.stderr
    assert [each for each in sorted(planted) if each not in report] == []
    assert [name for _, name in WRONG_IMPORTS.values() if f"{name} BROKEN" not in report] == []


@pytest.mark.parametrize(
    ("file", "imported", "broken"),
    [
        ("engine/ports.py", "streamreasoner.engine.epoch", CIRCLES),
        ("history/presence.py", "streamreasoner.history.past_facts", CIRCLES),
        ("misc.py", "streamreasoner.errors", LAYERS),
    ],
    ids=["modules in a circle", "modules of history in a circle", "a module without a place"],
)
def test_a_module_in_a_wrong_place_is_found(
    file: str, imported: str, broken: str, copied_package: Path
) -> None:
    """A circle of siblings is found, and a module that no layer has."""
    plant(copied_package, file, imported)

    finished = lint_imports(copied_package)

    assert finished.returncode == 1, finished.stdout + finished.stderr
    assert f"{broken} BROKEN" in " ".join(finished.stdout.split())


def test_every_contract_has_a_planted_violation() -> None:
    """A contract of `.importlinter` that nothing is planted for could be without effect."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    names = {contracts[each]["name"] for each in contracts.sections() if ":" in each}

    assert names == {CIRCLES, *(name for _, name in WRONG_IMPORTS.values())}


def test_every_library_is_confined_or_known_everywhere() -> None:
    """A library that the package begins to import gets a contract."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    confined = {
        module
        for each in contracts.sections()
        for key in ("protected_modules", "forbidden_modules")
        for module in contracts[each].get(key, "").split()
    }
    texts = (path.read_text("utf-8") for path in (ROOT / "streamreasoner").rglob("*.py"))
    found = {name for text in texts for name in LIBRARY.findall(text)}

    assert found - confined - OWN - sys.stdlib_module_names == EVERYWHERE


def test_the_formats_of_the_contract_are_those_of_the_registry() -> None:
    """So a new format cannot know another one unnoticed. Those of columns share their modules."""
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    named = contracts["importlinter:contract:formats"]["modules"].split()
    modules = {each.module for each in (*registry.DOCUMENTS, *registry.MESSAGES)}

    assert {*named} == {each for each in modules if ".columns." not in each}
