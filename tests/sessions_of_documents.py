"""Run the blocks of a document as a reader would. Invariant: what it shows is what is printed.

A block with a title writes the file of that name, unless its language is `console`. In a console
block a line that begins with `$ ` is a command, which a backslash at its end continues; the other
lines are its output, where `…` stands for any text. The title of a console names a terminal that
keeps running: a later block of that title shows what it prints next. A comment
`<!-- not run: REASON -->` before a block leaves it out. Blocks of Python without a title share
their names, and what they print is in the block with the title `output` after them.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from pipelines import DEADLINE_SECONDS

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^\n]*?) -->\n+)?"
    r'^```(?P<language>[^\s`]*)(?: title="(?P<title>[^"]*)")?\n(?P<text>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document, with the line where it begins."""

    language: str
    title: str | None
    text: str
    reason: str | None
    line: int


def blocks_of(text):
    """The blocks of a document, in order."""
    return [
        Block(
            found["language"],
            found["title"],
            found["text"],
            found["reason"],
            text.count("\n", 0, found.end()) + 1 - found["text"].count("\n"),
        )
        for found in _BLOCK.finditer(text)
    ]


def commands_of(block):
    """(command, lines of output) of a console block; output before a command has none."""
    parts = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            parts.append((line[2:], []))
        elif parts and not parts[-1][1] and str(parts[-1][0]).endswith("\\"):
            parts[-1] = (f"{parts[-1][0]}\n{line}", [])
        else:
            if not parts:
                parts.append((None, []))
            parts[-1][1].append(line)
    return parts


def pattern(line):
    """A line of output as a regular expression."""
    return re.compile(".*".join(map(re.escape, line.split("…"))))


def unmatched(expected, printed):
    """The lines that are expected and not printed; the others are taken from *printed*."""
    missing = []
    for line in expected:
        found = next((each for each in printed if pattern(line).fullmatch(each)), None)
        if found is None:
            missing.append(line)
        else:
            printed.remove(found)
    return missing


@dataclass
class Terminal:
    """A command that goes on, and the lines that it has printed since they were last compared."""

    process: subprocess.Popen
    printed: list = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def read(self):
        """Collect lines until the command ends."""
        for line in self.process.stdout:
            with self.changed:
                self.printed.append(line.rstrip("\n"))
                self.changed.notify_all()

    def expect(self, lines):
        """Wait until all lines are printed, in any order, as topics have partitions."""
        with self.changed:

            def all_there():
                return not unmatched(lines, [*self.printed])

            assert self.changed.wait_for(all_there, DEADLINE_SECONDS), (lines, self.printed)
            unmatched(lines, self.printed)


@contextmanager
def terminal(command, folder, environment):
    """A terminal that runs a command until the end of the document."""
    with subprocess.Popen(
        ["bash", "-c", f"exec {command}"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        opened = Terminal(process)
        reader = threading.Thread(target=opened.read)
        reader.start()
        try:
            yield opened
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(DEADLINE_SECONDS)
            reader.join()


def run(text, folder):
    """Run the blocks of a document in an empty folder.

    Args:
        text: The document.
        folder: The working directory of its commands.
    """
    program = folder / "bin/streamreasoner"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m streamreasoner "$@"\n')
    program.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{program.parent}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}",  # noqa: PTH120 - a text
        "COLUMNS": "200",
        "NO_COLOR": "1",
    }
    terminals = {}
    names, printed = {}, ""
    with ExitStack() as stack:
        for block in blocks_of(text):
            if block.reason is not None:
                continue
            if block.language == "console":
                for command, output in commands_of(block):
                    if block.title is None:
                        _compare(block, command, output, folder, environment)
                        continue
                    if command is not None:
                        opened = stack.enter_context(terminal(command, folder, environment))
                        terminals[block.title] = opened
                    terminals[block.title].expect(output)
            elif block.title == "output":
                assert printed == block.text, f"line {block.line}"
            elif block.language == "python" and block.title is None:
                with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.chdir(folder):
                    exec(block.text, names)  # noqa: S102 - the document's own text
                printed = out.getvalue()
            elif block.title is not None:
                (folder / block.title).write_text(block.text, "utf-8")
    return terminals


def _compare(block, command, output, folder, environment):
    """Run a command, and compare its standard output."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    printed = done.stdout.splitlines()
    where = f"line {block.line}: $ {command}\n{done.stdout}{done.stderr}"

    assert len(printed) == len(output), where
    assert unmatched(output, printed) == [], where
