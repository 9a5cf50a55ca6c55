"""RESULTS.md: one section for each experiment, which writes its own and leaves the others alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TITLE = "# Results\n\nEvery section is written by the command that it names; [LOG.md](LOG.md) has how it came about.\n"


def write_section(page: Path, heading: str, text: str) -> None:
    """Put a section into the page, in place of the one with the same heading."""
    before = page.read_text() if page.exists() else TITLE
    head, *sections = before.split("\n## ")
    found = {section.partition("\n")[0]: section.partition("\n")[2].strip() for section in sections}
    found[heading] = text.strip()
    parts = [head.rstrip(), *(f"## {name}\n\n{body}" for name, body in found.items())]
    page.write_text("\n\n".join(parts) + "\n")
