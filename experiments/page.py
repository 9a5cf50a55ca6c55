"""RESULTS.md: one section for each experiment, which writes its own and leaves the others alone."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent / "RESULTS.md"
ORDER = (
    "Main table",
    "Own labels",
    "Annotation quality",
    "Ablation",
    "Number of prototypes",
    "Dictionary coverage",
    "Words and prototypes",
    "Denoised transport over training",
    "The label leak of the published code",
)
TITLE = """# Results

`python -m experiments list` names the command that writes each section; [LOG.md](LOG.md) has how it came about.
"""


def write_section(heading: str, text: str) -> None:
    """Put a section into the page, in place of the one with the same heading; known ones come first, in their order."""
    before = PAGE.read_text() if PAGE.exists() else TITLE
    head, *sections = before.split("\n## ")
    found = {section.partition("\n")[0]: section.partition("\n")[2].strip() for section in sections}
    found[heading] = text.strip()
    names = sorted(found, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    parts = [head.rstrip(), *(f"## {name}\n\n{found[name]}" for name in names)]
    PAGE.write_text("\n\n".join(parts) + "\n")
