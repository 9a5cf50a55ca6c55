"""One JSON object a line on standard error; never a text of a caller, nor a message that may quote one."""

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
    """A record as JSON: time, level, message, and what `extra={"fields": …}` holds."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1]:
            line |= where(record.exc_info[1])
        return orjson.dumps(line, default=str).decode()


def where(error: BaseException) -> dict[str, str]:
    """The kind of an error, and the place that raised it: enough to find it, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    place = {"at": f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"} if frames else {}
    return {"error": type(error).__name__, **place}


def log(message: str, level: int = logging.INFO, **fields: Any) -> None:
    """Write a line."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, message, extra={"fields": fields})


def write_logs(stream: TextIO | None = None) -> None:
    """Send our lines, and warnings of the server below, to standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("mproto.service", logging.INFO), ("uvicorn", logging.WARNING), ("asyncio", logging.ERROR)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
