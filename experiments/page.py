"""RESULTS.md: each experiment writes its own section and leaves the others alone."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent / "RESULTS.md"
ORDER = (
    "Default",
    "Yardstick",
    "Development settings",
    "Relabelled words",
    "Main table",
    "Own labels",
    "Annotation quality",
    "Ablation",
    "Number of prototypes",
    "Dictionary coverage",
    "Words and prototypes",
    "Denoising over training",
    "The label leak of the published code",
    "Few labels",
    "Ingredients of the recipe",
    "What limits the score",
)
TITLE = """# Results

Each section is generated; [README.md](README.md) lists the commands, and the limits of these figures.
[DECISIONS.md](DECISIONS.md) says what follows from them.

*Default*, *Yardstick* and *Development settings* are about the present default. All other sections are
about version 0.1: its recipe (`mproto.denoising=threshold`), and one or two epochs for every method.
"""


def write_section(heading: str, text: str) -> None:
    """Replace the section with this heading, or add it; those of `ORDER` come first."""
    before = PAGE.read_text() if PAGE.exists() else TITLE
    head, *sections = before.split("\n## ")
    found = {section.partition("\n")[0]: section.partition("\n")[2].strip() for section in sections}
    found[heading] = text.strip()
    names = sorted(found, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    parts = [head.rstrip(), *(f"## {name}\n\n{found[name]}" for name in names)]
    PAGE.write_text("\n\n".join(parts) + "\n")
