"""House rules that no off-the-shelf linter knows. Invariant: a rule is one function of one file.

Run it from the root of the repository: it prints `path:line: sentence` for every violation and
exits 1 if there is one.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Rule = Callable[[Path, str], Iterator[tuple[int, str]]]

TEXT_NAMES = frozenset({"Makefile", "Dockerfile", "run", "lock", "prerequisites", ".importlinter"})
TEXT_SUFFIXES = frozenset(
    {
        *(".cfg", ".css", ".dl", ".html", ".js", ".json", ".lark", ".md", ".py", ".sh", ".toml"),
        *(".txt", ".yaml", ".yml"),
    }
)
SKIPPED_FOLDERS = frozenset({"build", "dist", "__pycache__"})
# These spell out what is forbidden.
SELF = frozenset({"docs/glossary.md", "scripts/house.py", "tests/unit/test_house.py"})

MARKER = re.compile(r"\b(TODO|FIXME|XXX)\b")
MACHINE_PATH = re.compile(r"(?<![\w.$~}*-])/(home|Users|root|work)/\w|/tmp/dev\b")
CREDENTIALS = re.compile(r"://[^/\s:@'\"<>{}$]+:[^/\s@'\"<>{}$]+@")
REGISTRY = re.compile(r"--(extra-)?index-url|--find-links|--trusted-host|://|\bfile:")
HISTORY = re.compile(
    r"#.*\b(we now|used to be|no longer used|ported from|legacy|formerly|previously)\b",
    re.IGNORECASE,
)
EMPTY_NAME = re.compile(r"(?<=[a-z])(Manager|Helper|Util|Utils|Base|Impl)$")
MOCKS = frozenset({"mock", "unittest.mock", "pytest_mock"})
# What reads as translated, with what to write; docs/glossary.md lists the same words.
FOREIGN = {
    r"\b(is|are|was|were) no (?!(?:longer|more|less|later|earlier|other|one|such|different|better|"
    r"worse|room|part|reason|need|way|doubt|limit|use)\b)(?<!there is no )(?<!there are no )"
    r"(?<!there was no )(?<!there were no )\w": "write 'is not a'",
    r"(?<![\w.])(?-i:[Bb]eside)\b(?! ?[:=,)\]])": "write 'next to', 'besides' or 'compared with'",
    r"\bha(s|ve) not (the|a|an|any)\b": "write 'does not have'",
    r"\bwhich\b[^.;:]{0,40}\blacks?\b": "write 'that does not have', or say it in two sentences",
    r"\bthe latter\b": "name it again",
    r"\bas ever\b": "write 'as usual'",
    r"\bwhoever\b": "write 'anyone who'",
    r"\bfor ever\b": "write 'forever', or how long",
    r"\bnobody\b": "write 'no one', or say who does not",
    r"\bgone through\b": "write 'read' or 'visited'",
}
FOREIGN_WORDS = re.compile(
    "|".join(f"(?P<w{i}>{each})" for i, each in enumerate(FOREIGN)), re.IGNORECASE
)
PROSE = frozenset({".md", ".html", ".js"})
LEAST_WORDS = 5
# Where the offsets of records are said, and read; in these folders nothing else may spell one.
COLUMNAR = ("streamreasoner", "backends", "columnar")
OFFSETS_SAID = frozenset({"records", "superaccumulator.py"})
RECORDS = frozenset(
    {"candidate", "chunk", "entry", "fact", "group", "lost", "match", "member", "node", "record"}
)
LEAST_PACKED = 8
KERNEL_FOLDERS = frozenset({"kernels", "native"})
MOST_MODULES = 12
MOST_LINES = 450
LONGEST_FUNCTION = 80
# A list of names, which promises to be the only one.
LONG_MODULES = frozenset({"streamreasoner/backends/columnar/kernels/records/layout.py"})
# How terms begin. Text that is split into tokens is read with a position, or in one of these.
STARTS = frozenset({"<", "<<", "<<(", "_:", '"'})
SYNTAX = ("rdf/term_kind.py", "sparql/reading/mistakes.py")


@lru_cache(maxsize=1)
def _tree(text: str) -> ast.Module:
    """The tree of a module, for all rules that look at it."""
    return ast.parse(text)


@lru_cache(maxsize=1)
def _nodes(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a module's tree."""
    return tuple(ast.walk(_tree(text)))


def no_markers(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Work that is left is in the tracker, not in the files."""
    del path
    for number, line in enumerate(text.splitlines(), start=1):
        if found := MARKER.search(line):
            yield number, f"{found[0]}: put work that is left into the tracker."


def no_machine(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Nothing in the files belongs to one machine: no home folder, no credentials."""
    del path
    for number, line in enumerate(text.splitlines(), start=1):
        if found := MACHINE_PATH.search(line):
            yield number, f"'{found[0]}' is a path of one machine."
        if CREDENTIALS.search(line):
            yield number, "An address carries a user and a password."


def locks_name_no_registry(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """A lock file holds versions and hashes; where packages come from is the reader's choice."""
    if path.parent.name != "requirements":
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if found := REGISTRY.search(line):
            yield number, f"'{found[0]}' ties the lock file to one registry or machine."


def no_history(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Comments speak in the present tense; history is in the repository."""
    if path.suffix != ".py":
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if found := HISTORY.search(line):
            yield number, f"'{found[1]}': say what is, not what was."


def native_english(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Comments, texts and documents use the words that a native technical writer would."""
    if path.suffix == ".py":
        # Most modules have none of the words, and need not be split.
        parts = _texts(text) if FOREIGN_WORDS.search(text) else []
    elif path.suffix in PROSE:
        parts = [(1, text)]
    else:
        return
    advice = [*FOREIGN.values()]
    for first, part in parts:
        for found in FOREIGN_WORDS.finditer(part):
            place = first + part.count("\n", 0, found.start())
            rule = next(i for i in range(len(advice)) if found[f"w{i}"])
            yield place, f"'{' '.join(found[0].split())}': {advice[rule]}."


def _texts(text: str) -> list[tuple[int, str]]:
    """Line and text of the comments and strings of a module that hold more than a name."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", None)}
    return [
        (token.start[0], token.string)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type in kinds and " " in token.string
    ]


def docstrings_say_something(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """A module's docstring states its job, in more words than its name; tests state their laws."""
    if path.suffix != ".py" or path.name.startswith("test_") or not text.strip():
        return
    docstring = ast.get_docstring(_tree(text))
    if docstring is None or len(docstring.split()) < LEAST_WORDS:
        yield 1, "The module's docstring has to state its job, and the invariant it keeps."


def names_mean_something(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """A class is named after what it is, in words of the glossary."""
    if path.suffix != ".py":
        return
    for node in _nodes(text):
        if isinstance(node, ast.ClassDef) and (found := EMPTY_NAME.search(node.name)):
            yield node.lineno, f"'{node.name}': '{found[0]}' says nothing about what it is."


def no_mocks(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Tests run real parts, or fakes that implement a port."""
    if path.suffix != ".py":
        return
    for node in _nodes(text):
        match node:
            case ast.Import(names=names):
                modules = {name.name for name in names}
            case ast.ImportFrom(module=str(module), names=names):
                modules = {module, *(f"{module}.{name.name}" for name in names)}
            case _:
                continue
        if modules & MOCKS:
            yield node.lineno, "Use the real thing, or a fake that implements the port."


def kernels_stand_alone(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """A change of what is compiled invalidates its cache, which looks at these folders only."""
    if path.suffix != ".py" or "streamreasoner" not in path.parts:
        return
    compiled = [
        node
        for node in _nodes(text)
        if isinstance(node, ast.FunctionDef)
        and {"kernel", "inlined"} & {ast.unparse(each) for each in node.decorator_list}
    ]
    if not KERNEL_FOLDERS & {*path.parts}:
        for node in compiled:
            yield node.lineno, f"'{node.name}' is compiled: move it below a folder 'kernels'."
    elif compiled or "kernels" in path.parts:
        # Imports at the top level; those for type checkers stand in an `if`.
        for statement in _tree(text).body:
            if (
                isinstance(statement, ast.ImportFrom)
                and str(statement.module).startswith("streamreasoner")
                and not KERNEL_FOLDERS & {*str(statement.module).split(".")}
            ):
                yield (
                    statement.lineno,
                    f"{statement.module} is compiled in, but no part of the cache's stamp.",
                )


def offsets_are_named(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Only `layout.py` and the modules of records say where something is in memory."""
    parts = path.parts
    if path.suffix != ".py" or COLUMNAR not in zip(parts, parts[1:], parts[2:], strict=False):
        return
    if OFFSETS_SAID & {*parts}:
        return
    for node in _nodes(text):
        parts_of_index = ast.walk(node.slice) if isinstance(node, ast.Subscript) else ()
        spelled = [each for each in parts_of_index if _is_offset(each)]
        if _is_packing(node) or _is_in_record(node):
            spelled.append(node)
        for each in spelled:
            if isinstance(each, ast.BinOp):
                yield each.lineno, f"'{ast.unparse(each)}' is an offset: name it in layout.py."


def _is_offset(node: ast.AST) -> bool:
    """Whether a part of an index is a product with a number, or adds a number above 1."""
    match node:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            return any(isinstance(each, ast.Constant) for each in (left, right))
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return any(
                isinstance(each, ast.Constant) and each.value not in (0, 1)
                for each in (left, right)
            )
        case _:
            return False


def _is_packing(node: ast.AST) -> bool:
    """Whether a shift by a number takes a packed word apart."""
    match node:
        case ast.BinOp(
            op=ast.LShift() | ast.RShift(), left=left, right=ast.Constant(value=int(bits))
        ):
            return bits >= LEAST_PACKED and not isinstance(left, ast.Constant)
        case _:
            return False


def _is_in_record(node: ast.AST) -> bool:
    """Whether a number is added to a record, or a record multiplied by one."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Mult(), left=left, right=right):
            names = {each.id for each in (left, right) if isinstance(each, ast.Name)}
            return bool(names & RECORDS) and any(
                isinstance(each, ast.Constant) for each in (left, right)
            )
        case _:
            return False


def native_names_nothing_above(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """A path in a string is an import that no linter sees."""
    if path.suffix != ".py" or "native" not in path.parts:
        return
    above = {"backends", "engine", "plan", "program", "analysis", "lang", "values", "rdf", "io"}
    for node in _nodes(text):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = above & {*re.split(r"[/.]", node.value)}
            if named:
                yield node.lineno, f"'{node.value}' names {', '.join(sorted(named))}."


def term_kinds_are_told_once(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """A new kind of term is added in one module, so no other looks at how a term begins."""
    if (
        path.suffix != ".py"
        or "streamreasoner" not in path.parts
        or KERNEL_FOLDERS & {*path.parts}
        or path.as_posix().endswith(SYNTAX)
    ):
        return
    for node in _nodes(text):
        match node:
            case ast.Call(func=ast.Attribute(attr="startswith") | ast.Name("ord"), args=[start]):
                found = STARTS & _texts_of(start)
            case ast.Call(func=ast.Attribute(attr="starts_with"), args=[_, start, *_]):
                found = STARTS & _texts_of(start)
            case ast.Compare(left=first, comparators=[start]) if _is_first(first):
                found = STARTS & {*"".join(_texts_of(start))}
            case ast.Match(subject=first, cases=cases) if _is_first(first):
                found = STARTS & {text for case in cases for text in _texts_of(case.pattern)}
            case _:
                continue
        if found:
            yield node.lineno, "Ask `rdf.term_kind`, or `rdf.texts` of a column, which kind it is."


def _texts_of(node: ast.AST) -> frozenset[str]:
    """The texts that an expression or pattern names; an f-string has more than it names."""
    if isinstance(node, ast.JoinedStr):
        return frozenset()
    constants = (each.value for each in ast.walk(node) if isinstance(each, ast.Constant))
    return frozenset(each for each in constants if isinstance(each, str))


def _is_first(node: ast.AST) -> bool:
    """Whether an expression is the first character of something: `x[0]` or `x[:1]`."""
    return isinstance(node, ast.Subscript) and ast.unparse(node.slice) in {"0", ":1"}


def folders_have_rooms(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """A newcomer reads a folder at a glance."""
    del text
    if path.name == "__init__.py" and "streamreasoner" in path.parts:
        count = sum(1 for _ in path.parent.glob("*.py")) - 1
        if count > MOST_MODULES:
            yield 1, f"{count} modules in one folder: give it rooms of at most {MOST_MODULES}."


def nothing_is_long(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """A function fits a screen or two, and a module has one job."""
    if path.suffix != ".py" or "streamreasoner" not in path.parts:
        return
    lines = text.count("\n")
    if lines > MOST_LINES and not path.as_posix().endswith((*LONG_MODULES,)):
        yield 1, f"{lines} lines in one module: split it by jobs, at most {MOST_LINES} each."
    for node in _nodes(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION:
                yield (
                    node.lineno,
                    f"'{node.name}' has {lines} lines: split it, at most {LONGEST_FUNCTION} each.",
                )


RULES: tuple[Rule, ...] = (
    no_markers,
    no_machine,
    locks_name_no_registry,
    no_history,
    native_english,
    docstrings_say_something,
    names_mean_something,
    no_mocks,
    kernels_stand_alone,
    offsets_are_named,
    native_names_nothing_above,
    term_kinds_are_told_once,
    folders_have_rooms,
    nothing_is_long,
)


def files(root: Path) -> Iterator[Path]:
    """Text files of the repository, sorted; environments, builds and caches are left out."""
    for path in sorted(root.iterdir()):
        if path.is_symlink():
            continue
        if path.is_dir():
            hidden = path.name.startswith(".") and path.name != ".ci"
            if not (hidden or path.name in SKIPPED_FOLDERS or (path / "pyvenv.cfg").exists()):
                yield from files(path)
        elif path.suffix in TEXT_SUFFIXES or path.name in TEXT_NAMES:
            yield path


def unlocked(root: Path) -> Iterator[str]:
    """Requirements of `pyproject.toml` that a lock file does not hold at a version they allow."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    groups, extras = project["dependency-groups"], project["project"]["optional-dependencies"]
    run = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    everything = [*run, *(each for extra in extras.values() for each in extra)]
    needed = {
        "run": [*run, *extras["pipeline"], *extras["server"], *extras["shell"]],
        "dev": [*everything, *groups["dev"], *groups["test"]],
        "docs": groups["docs"],
        "release": [*project["build-system"]["requires"], *groups["release"]],
        "lowest": [*everything, *groups["test"]],
        "newest": [*everything, *groups["test"]],
    }
    for name, requirements in needed.items():
        path = root / "requirements" / f"{name}.txt"
        locked = dict(
            re.findall(r"^([\w.-]+)==([^\s;]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
        named = map(Requirement, (each for each in requirements if isinstance(each, str)))
        for requirement in named:
            if requirement.name != project["project"][
                "name"
            ] and not requirement.specifier.contains(locked.get(requirement.name, "")):
                yield f"{path.relative_to(root)}:1: lacks {requirement}; run `make lock`."


def violations(root: Path) -> Iterator[str]:
    """Every violation under `root`, as `path:line: sentence`."""
    for path in files(root):
        name = path.relative_to(root).as_posix()
        if name in SELF:
            continue
        text = path.read_text(encoding="utf-8")
        for rule in RULES:
            for line, sentence in rule(path, text):
                yield f"{name}:{line}: {sentence}"


def main() -> int:
    """Print the violations of the repository in the working directory."""
    found = [*violations(Path.cwd()), *unlocked(Path.cwd())]
    for violation in found:
        print(violation)
    print(f"House rules: {len(found)} violations.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
