"""The model card: a README that tells whoever finds the model what it is, what it learnt from, and where it will fail.

Labels, names and whatever else a user wrote are text of somebody else's: here they can break neither YAML nor Markdown.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DOCUMENTS, BY_PEOPLE, GAZETTEER, SCORES = "training documents", "documents labelled by people", "gazetteer", "scores"
CALIBRATED = "scores of entities calibrated on"
NAMES = "types matched as names"  # mproto 0.1 saved them here; see `name_types`
"""What a card may hold that has a place of its own; whatever else it holds is listed as it is."""
MEASURES = ("precision", "recall", "f1")
_MARKUP = re.compile(r"[\\`*_\[\]<>#|&~$]|:(?=//)|^[-+=]")
_NUMBER = re.compile(r"^(\d+)([.)])(?=\s|$)")
"""What would begin a list; the others of that kind are at the end of `_MARKUP`."""
TAGS = ("mproto", "named-entity-recognition")
DISTANT_TAGS = ("distant-supervision", "gazetteer")


class Score(NamedTuple):
    """What was measured, as fractions; an entry of `card["scores"]` is a mapping with these keys, or some of them."""

    corpus: str
    values: dict[str, float]


def model_card(
    labels: Sequence[str],
    method: str,
    encoder: str,
    card: Mapping[str, Any],
    version: str,
    settings: Mapping[str, Any],
    *,
    name_types: Sequence[str] = (),
    scheme: str | None = None,
    keeps_case: bool | None = None,
    int8: bool | None = None,
) -> str:
    """A model card as Hugging Face has them: Markdown behind a block of YAML.

    Args:
        labels: the entity types.
        method: that it was trained with.
        encoder: its name.
        card: what is known of the training, by the names above. `scores` is a list of mappings, with `corpus` and any of
            `precision`, `recall` and `f1`, as `Counts.as_dict` gives them; they go into the `model-index` too.
        version: of mproto.
        settings: of the run.
        name_types: entity types whose terms were matched as names in training.
        scheme: of the tags; where it is `io`, the card warns of entities that touch.
        keeps_case: whether the encoder's tokenizer does; where not, the card says so.
        int8: of an exported model, whether its weights have eight bits.
    """
    scores = _scores(card)
    title = f"Named-entity recogniser: {', '.join(labels)}"
    needs = f"`pip install 'mproto-ner[{'train' if int8 is None else 'onnx'}]'` installs what this needs."
    sections = [
        [f"# {_text(title)}", "", *_what(labels, method, encoder, version), *_form(int8)],
        ["## Training data", "", *_data(card, settings, name_types), *_rest(card, scores)],
        ["## Scores", "", *_measured(scores)],
        ["## Limits", "", *_limits(card, settings, scheme, keeps_case)],
        ["## How to use it", "", *USE, "", needs],
    ]
    return "\n\n".join("\n".join(lines) for lines in [list(_front_matter(title, card, scores)), *sections]) + "\n"


USE = """```python
from mproto import Recognizer

ner = Recognizer.from_pretrained("this-folder")
ner("a text")  # [{"entity_group": …, "score": …, "word": …, "start": …, "end": …}, …]
```

```
mproto predict this-folder new.txt --output found.jsonl
mproto evaluate this-folder test.jsonl
```""".splitlines()


def with_scores(card: Mapping[str, Any], corpus: str, values: Mapping[str, float]) -> dict[str, Any]:
    """A card that also says how good a model is on a corpus; what it said of this corpus before is replaced."""
    others = [one for one in card[SCORES] if one.get("corpus") != corpus] if _scores(card) else []
    return {**card, SCORES: [*others, {"corpus": corpus, **{measure: values[measure] for measure in MEASURES}}]}


def _front_matter(title: str, card: Mapping[str, Any], scores: Sequence[Score]) -> Iterator[str]:
    yield from ("---", "library_name: mproto", "pipeline_tag: token-classification", "tags:")
    yield from (f"- {tag}" for tag in (*TAGS, *(DISTANT_TAGS if GAZETTEER in card else ())))
    if scores:
        yield from ("model-index:", f"- name: {_yaml(title)}", "  results:")
    for score in scores:
        yield from ("  - task:", "      type: token-classification", "      name: Named-entity recognition")
        yield from ("    dataset:", f"      name: {_yaml(score.corpus)}", f"      type: {_yaml(score.corpus)}")
        yield "    metrics:"
        for measure, value in score.values.items():
            yield from (f"    - type: {measure}", f"      value: {value:.4f}", f"      name: strict {measure}")
    yield "---"


def _what(labels: Sequence[str], method: str, encoder: str, version: str) -> Iterator[str]:
    yield "Finds entities in text, with their places and scores. It knows these types:"
    yield ""
    yield from (f"- {_text(label)}" for label in labels)
    yield ""
    yield f"Made with mproto {_text(version)}: method {_text(method)}, on the encoder {_text(encoder)}."


def _form(int8: bool | None) -> Iterator[str]:
    if int8 is not None:
        yield ""
        bits = "rounded to eight bits, which may change what it finds a little" if int8 else "as they were trained"
        yield f"It is exported: a graph of ONNX, which needs no torch, with weights {bits}."


def _data(card: Mapping[str, Any], settings: Mapping[str, Any], name_types: Sequence[str]) -> Iterator[str]:
    documents, people = card.get(DOCUMENTS), card.get(BY_PEOPLE)
    if documents is not None and GAZETTEER in card:
        yield f"- {_count(documents)} documents, labelled by looking up the terms of a gazetteer, not by people."
    elif documents is not None:
        yield f"- {_count(documents)} documents with labels; whether people or a term list gave these was not recorded."
    if people is not None:
        yield f"- {_count(people)} documents that people labelled."
    if documents is None and people is None:
        yield "- What it was trained on was not recorded."
    if GAZETTEER in card:
        yield f"- Terms of the gazetteer: {_text(card[GAZETTEER])}. The fingerprint tells whether two are the same."
    if name_types:
        yield f"- Types matched as names: {', '.join(map(_text, name_types))}."
    seed = settings.get("training", {}).get("seed")
    if seed is not None:
        yield f"- Every setting of the run is in config.json, such as its seed, {_text(seed)}."


def _rest(card: Mapping[str, Any], scores: Sequence[Score]) -> Iterator[str]:
    """What has no place of its own; scores too, where they are not what they should be."""
    placed = {DOCUMENTS, BY_PEOPLE, GAZETTEER, CALIBRATED, NAMES, *([SCORES] if scores else [])}
    yield from (f"- {_text(key)}: {_text(value)}" for key, value in card.items() if key not in placed)


def _measured(scores: Sequence[Score]) -> Iterator[str]:
    if not scores:
        yield "None were recorded. `mproto evaluate` measures them on text that people labelled; do so before relying on it."
        return
    yield f"| corpus | {' | '.join(MEASURES)} |"
    yield "|---" * (1 + len(MEASURES)) + "|"
    for score in scores:
        values = (f"{100 * score.values[m]:.2f}" if m in score.values else "" for m in MEASURES)
        yield f"| {_text(score.corpus)} | {' | '.join(values)} |"
    yield ""
    yield "In percent, counted strictly: an entity is right if its first word, its last word and its type are. Precision"
    yield "is the share of what the model found that is right, recall the share of what is there that it found, F1 their"
    yield "harmonic mean."


def _limits(
    card: Mapping[str, Any], settings: Mapping[str, Any], scheme: str | None, keeps_case: bool | None
) -> Iterator[str]:
    if GAZETTEER in card:
        yield "- What it learnt a type to be comes from a term list. Terms that stand there under a wrong type, or that also"
        yield "  mean something else, teach it mistakes, and kinds of entity that the list lacks it may never find."
    yield "- On text of another kind than it was trained on (another field, style or language) expect it to be worse, by"
    yield "  an amount that nobody knows before measuring it there."
    if keeps_case is False:
        yield "- Its encoder does not see capitals" + (
            "; it is told how a word is written beside, such as in capitals or with digits."
            if settings.get("word_shapes")
            else ": words that differ in them alone are the same to it."
        )
    if scheme == "io":
        yield "- Two entities of one type without a word between them become one."
    yield "- Entities do not overlap, and none lies inside another."
    if CALIBRATED in card:
        yield f"- Scores say how sure it is of an entity; they were calibrated on {_text(card[CALIBRATED])}."
    else:
        yield "- Scores rank what it found by how sure it is; they are no measured probabilities of being right."


def _scores(card: Mapping[str, Any]) -> list[Score]:
    """The scores of a card; none, where any is not what it should be."""
    given = card.get(SCORES)
    found = []
    for one in given if isinstance(given, list | tuple) else ():
        values = {m: one[m] for m in MEASURES if m in one} if isinstance(one, Mapping) else {}
        if not values or not all(isinstance(v, int | float) and 0 <= v <= 1 for v in values.values()):
            return []
        found.append(Score(str(one.get("corpus", "unnamed")), values))
    return found


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else _text(value)


def _text(value: object) -> str:
    """Somebody's words in a line of Markdown, as they are: no markup, no HTML, and no second line."""
    shown = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in str(value))
    return _NUMBER.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", shown.strip())) or "(nothing)"


def _yaml(value: str) -> str:
    """Somebody's words as a YAML scalar: a string of JSON is one, but for characters that YAML does not take as they are."""
    quoted = json.dumps(value.encode("utf-8", "replace").decode(), ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)
