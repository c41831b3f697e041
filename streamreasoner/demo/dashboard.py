"""The live view on a terminal. Invariant: threads change data; only rich's refresh draws it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, Group
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from streamreasoner.demo.ontology import sentence
from streamreasoner.demo.tally import History
from streamreasoner.demo.university import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.console import ConsoleOptions, RenderableType, RenderResult

    from streamreasoner.demo.page import PageAddress
    from streamreasoner.demo.tally import Totals
    from streamreasoner.demo.university import Change

_BARS = "▁▂▃▄▅▆▇█"


def spark(series: Sequence[float], width: int) -> str:
    """The last values as bars; a square-root scale keeps small ones visible next to a burst."""
    shown = list(series)[-width:]
    highest = max(shown, default=0.0) or 1.0
    steps = len(_BARS) - 1
    return "".join(_BARS[round((max(value, 0.0) / highest) ** 0.5 * steps)] for value in shown)


_REFRESHES = 5
_SPARK_WIDTH = 28
_EVENT_LINES = 5
_SCHEMA_LINES = 6
_SCHEMA_WIDTH = 78
_WIDE = 110


class Dashboard:
    """Draws the startup as a list of steps, then the stream on the full screen.

    Args:
        duration: Length of the stream in seconds.
        console: Where to draw.
    """

    def __init__(self, duration: float, console: Console | None = None) -> None:
        self._console = console or Console()
        self._duration = duration
        self._steps: dict[str, float | None] = {}
        self._parts: dict[str, str] = {}
        self._spinner = Spinner("dots", style="cyan")
        self._announcements: deque[str] = deque(maxlen=_EVENT_LINES)
        self._schema: deque[str] = deque(maxlen=_SCHEMA_LINES)
        self._history = History()
        self._snapshot: Totals | None = None
        self._elapsed = 0.0
        self._live: Live | None = None
        self._page: PageAddress | None = None
        self._configuration: Path | None = None

    def open(self, address: PageAddress, configuration: Path) -> None:
        """Record where the page is and how to take part, which both screens show."""
        self._page, self._configuration = address, configuration

    def step(self, what: str, now: float, seconds: float | None = None) -> None:
        """Record a step and how long it took, once it is done; the first one starts drawing."""
        del now
        self._steps[what] = seconds
        if self._live is None:
            self._start_live(screen=False)

    def progress(self, what: str, now: float, done: int, total: int) -> None:
        """Record how many parts of a step are done."""
        del now
        self._parts[what] = f"{done} of {total}"

    def stream(self) -> None:
        """Replace the list of steps by the full-screen view."""
        self.close()
        self._start_live(screen=True)

    def announce(self, kind: EventKind, sentence: str) -> None:
        """Record the sentence; schema changes have a panel of their own."""
        (self._schema if kind is EventKind.SCHEMA else self._announcements).append(sentence)

    def show(self, snapshot: Totals, elapsed: float) -> None:
        """Record the totals."""
        self._history.add(snapshot, elapsed)
        self._snapshot, self._elapsed = snapshot, elapsed

    def finish(self, reason: str) -> None:
        """Leave the full-screen view."""
        self.close()
        self._console.print(f"{reason}\n", style="bold", highlight=False)

    def conclude(self, lines: Iterable[str], *, equal: bool) -> None:
        """Print the run and the result below the steps of the startup."""
        *lines, result = lines
        for line in lines:
            self._console.print(line, highlight=False, markup=False)
        self._console.print(f"\n{result}", style="bold green" if equal else "bold red")

    def stop(self, what: str) -> None:
        """Print what is stopped, below the result."""
        self._console.print(f"\n{what}", style="dim", highlight=False)

    def close(self) -> None:
        """Stop drawing."""
        live, self._live = self._live, None
        if live is not None:
            live.stop()

    def render(self) -> RenderableType:
        """The current screen."""
        if self._snapshot is None:
            return self._startup_table()
        return self._screen(self._snapshot)

    def _start_live(self, *, screen: bool) -> None:
        self._live = Live(
            console=self._console,
            get_renderable=self.render,
            refresh_per_second=_REFRESHES,
            screen=screen,
            vertical_overflow="crop",
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start(refresh=True)

    def _invitation(self) -> Text:
        """Where the page is, and a fact to watch there, as links where terminals have them."""
        if self._page is None:
            return Text()
        url, fact = self._page.url, self._page.watched_sentence
        return Text.assemble(
            "open ",
            (url, f"bold cyan link {url}"),
            " · watch: ",
            (fact, f"cyan link {self._page.watched}"),
        )

    def _taking_part(self) -> Text:
        """What commands need to take part in the stream."""
        if self._configuration is None:
            return Text()
        return Text.assemble("take part: ", (f"--config {self._configuration}", "cyan"))

    def _startup_table(self) -> Table:
        table = Table.grid(padding=(0, 1))
        for what, seconds in list(self._steps.items()):
            if seconds is None:
                table.add_row(self._spinner, Text(what, style="cyan"), self._parts.get(what, ""))
            else:
                duration = Text(f"{seconds:5.1f} s", style="dim")
                table.add_row(Text("✓", style="green"), what, duration)
        table.add_row("", self._invitation(), "")
        table.add_row("", self._taking_part(), "")
        return table

    def _screen(self, snapshot: Totals) -> Layout:
        layout = Layout()
        layout.split_column(
            Layout(self._header(snapshot), size=4),
            Layout(name="middle", ratio=1),
            Layout(name="news", size=max(_EVENT_LINES, _SCHEMA_LINES) + 2),
        )
        layout["middle"].split_row(
            Layout(_panel("stream", self._totals(snapshot)), size=_SPARK_WIDTH + 18),
            Layout(_panel("derived changes, as committed", _Latest(snapshot.latest)), ratio=1),
        )
        schema = _panel("schema changes", _lines(self._schema, "bold yellow"))
        university = _panel("university", _lines(self._announcements, "dim"))
        layout["news"].split_row(
            Layout(schema, ratio=3, minimum_size=_SCHEMA_WIDTH),
            Layout(university, ratio=2, visible=self._console.width >= _WIDE),
        )
        return layout

    def _header(self, snapshot: Totals) -> Panel:
        head = Table.grid(expand=True, padding=(0, 1))
        head.add_column()
        head.add_column(ratio=1)
        head.add_column(justify="right")
        head.add_row(
            Text("streamreasoner demo", style="bold cyan"),
            ProgressBar(self._duration, min(self._elapsed, self._duration)),
            f"{self._elapsed:.0f} / {self._duration:.0f} s   epoch [bold]{snapshot.epoch:,}[/]"
            f"   Ctrl-C: compare now",
        )
        content = Group(head, self._taking_part())
        return Panel(content, border_style="cyan", subtitle=self._invitation())

    def _totals(self, snapshot: Totals) -> Group:
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", width=11)
        table.add_column(justify="right")
        table.add_column()
        table.add_row(
            "updates in",
            f"[bold]{snapshot.updates_in:,}",
            f"[green]+{snapshot.asserted_in:,}[/] [red]-{snapshot.retracted_in:,}[/]",
        )
        table.add_row(
            "derived out",
            f"[bold]{snapshot.plus + snapshot.minus:,}",
            f"[green]+{snapshot.plus:,}[/] [red]-{snapshot.minus:,}[/]",
        )
        table.add_row("latency", *_latency(snapshot))
        table.add_row("asserted", f"{snapshot.facts:,}", "facts")
        table.add_row("derived", f"[bold]{snapshot.derived:,}", "facts")
        table.add_row("terms", f"{snapshot.terms:,}", "")
        table.add_row("iterations", f"{snapshot.iterations}", "in the last epoch")
        sparks = Table.grid(padding=(0, 2))
        sparks.add_column(style="dim", width=11)
        sparks.add_column(no_wrap=True)
        for label, series, style in (
            ("updates/s", self._history.updates, "cyan"),
            ("derived/s", self._history.changes, "green"),
            ("p50 ms", self._history.medians, "magenta"),
        ):
            sparks.add_row(label, Text(spark(series, _SPARK_WIDTH), style=style))
        return Group(table, Text(), sparks)


class _Latest:
    """The newest changes, as many as fit."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self._changes = changes

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> RenderResult:
        room = options.height or len(self._changes)
        for change in self._changes[-room:]:
            sign, style = ("+", "green") if change.diff > 0 else ("-", "red")
            line = f"{sign} {sentence(change.fact, change.predicate)}"
            yield Text(line, style=style, no_wrap=True, overflow="ellipsis")


def _panel(title: str, content: RenderableType) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="dim")


def _lines(lines: Sequence[str], style: str) -> Text:
    return Text("\n".join(list(lines)), style=style, no_wrap=True, overflow="ellipsis")


def _latency(snapshot: Totals) -> tuple[str, str]:
    if not len(snapshot.recent):
        return "-", ""
    median, high = np.percentile(snapshot.recent, (50, 95)) * 1000
    return f"[bold]{median:,.0f}[/] ms", f"p95 {high:,.0f} ms"
