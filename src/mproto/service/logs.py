"""Logs as JSON lines on standard error.

They contain neither texts of clients nor error messages, which may quote one.
"""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from typing import TextIO

LOGGER = logging.getLogger("mproto.service")


class JsonLines(logging.Formatter):
    """Format a record as JSON: time, level, message, and the fields of `extra={"fields": …}`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1]:
            line |= error_fields(record.exc_info[1])
        return orjson.dumps(line, default=str).decode()


def error_fields(error: BaseException) -> dict[str, str]:
    """Return the class of an error and the file and line that raised it, but not its message."""
    frames = traceback.extract_tb(error.__traceback__)
    place = {"at": f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"} if frames else {}
    return {"error": type(error).__name__, **place}


def log(message: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log a message with fields."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, message, extra={"fields": fields})


def configure_logging(stream: TextIO | None = None) -> None:
    """Write the service's logs and uvicorn's warnings to a stream, by default standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("mproto.service", logging.INFO), ("uvicorn", logging.WARNING), ("asyncio", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
