"""The log of a command, as text or as JSON lines on standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamreasoner.config.process import LogConfig


def configure_logging(log: LogConfig) -> None:
    """Send streamreasoner's log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if log.format == "json" else _TextFormatter())
    root = logging.getLogger("streamreasoner")
    root.handlers[:] = [handler]
    root.setLevel(log.level.upper())
    root.propagate = False
    # librdkafka logs what it retries; real failures raise errors.
    quiet = logging.DEBUG if log.level == "debug" else logging.CRITICAL
    logging.getLogger("streamreasoner.kafka").setLevel(quiet)


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = f"{_when(record)} {record.levelname:<7} {record.getMessage()}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "ts": _when(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


def _when(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
