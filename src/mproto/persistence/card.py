"""The model card: a README about a model, its training data and its limits.

Labels, names and other text of users are escaped, so that they can break neither YAML nor Markdown.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mproto.denoising.outlook import Way
    from mproto.inference.gazetteer_terms import Combination

DOCUMENTS, HUMAN_LABELLED = "training documents", "documents labelled by people"
GAZETTEER, SCORES = "gazetteer", "scores"
RECOMMENDED, EXPECTED = "recommended", "expected scores"  # as in `denoising/outlook.py`, which needs torch
CALIBRATED = "scores of entities calibrated on"
NAMES = "types matched as names"  # where version 0.1 saved them; see `name_types`
"""The keys of a card that have their own place in the README; other entries are listed
unchanged."""
MEASURES = ("precision", "recall", "f1")
COMBINATION_OF: Mapping[Way, Combination] = {"both": "prefer-gazetteer", "model": "off", "terms": "terms"}
"""The combination of a model and a gazetteer for each value of `card["recommended"]`."""
WAYS: Mapping[Way, str] = {
    "both": "the model and the terms together",
    "model": "the model alone",
    "terms": "the terms alone",
}
_MARKUP = re.compile(r"[\\`*_\[\]<>#|&~$]|:(?=//)|^[-+=]")
_NUMBER = re.compile(r"^(\d+)([.)])(?=\s|$)")
"""The start of a numbered list; the starts of other lists are at the end of `_MARKUP`."""
TAGS = ("mproto", "named-entity-recognition")
DISTANT_TAGS = ("distant-supervision", "gazetteer")


class Score(NamedTuple):
    """The scores on a corpus, as fractions.

    An entry of `card["scores"]` is a mapping with `corpus` and some of `MEASURES`.
    """

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
    """Return a model card in the format of Hugging Face: a block of YAML, then Markdown.

    Args:
        labels: the entity types.
        method: the method that it was trained with.
        encoder: the name of the encoder.
        card: facts about the training, with the keys above. `scores` is a list of mappings with
            `corpus` and any of `precision`, `recall` and `f1`, as `Counts.as_dict` returns them;
            they go into the `model-index`, too.
        version: the version of mproto.
        settings: the settings of the run.
        name_types: entity types whose terms were matched as names in training.
        scheme: the tagging scheme; with `io`, the card warns that adjacent entities are merged.
        keeps_case: whether the encoder's tokenizer keeps letter case; if not, the card says so.
        int8: for an exported model, whether its weights have eight bits.
    """
    scores = _scores(card)
    title = f"Named-entity recogniser: {', '.join(labels)}"
    needs = f"`pip install 'mproto-ner[{'train' if int8 is None else 'onnx'}]'` installs the required packages."
    sections = [
        [f"# {_text(title)}", "", *_summary(labels, method, encoder, version), *_form(int8)],
        ["## Training data", "", *_data(card, settings, name_types), *_rest(card, scores)],
        ["## Scores", "", *_measured(scores), *_expected(card)],
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
    """Return a card with the scores on a corpus added; older scores on this corpus are replaced."""
    others = [one for one in card[SCORES] if one.get("corpus") != corpus] if _scores(card) else []
    return {**card, SCORES: [*others, {"corpus": corpus, **{measure: values[measure] for measure in MEASURES}}]}


def recommended_way(card: Mapping[str, Any]) -> Way | None:
    """Return what training recommended: the model, the terms or both; `None` if it recommended nothing."""
    return next((way for way in WAYS if way == card.get(RECOMMENDED)), None)


def recommended_combination(card: Mapping[str, Any]) -> Combination | None:
    """Return the combination of model and gazetteer that training recommended, if it recommended any."""
    way = recommended_way(card)
    return None if way is None else COMBINATION_OF[way]


def expected_scores(card: Mapping[str, Any]) -> dict[Way, dict[str, float]]:
    """Return the scores that training expected of the model, the terms and both, as fractions.

    Empty if there are none, or one is invalid.
    """
    given = card.get(EXPECTED)
    if not isinstance(given, Mapping) or set(given) != set(WAYS):
        return {}
    found = {way: _fractions(given[way]) for way in WAYS}
    return found if all(len(values) == len(MEASURES) for values in found.values()) else {}


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


def _summary(labels: Sequence[str], method: str, encoder: str, version: str) -> Iterator[str]:
    yield "Finds entities in text, with their offsets and scores. Entity types:"
    yield ""
    yield from (f"- {_text(label)}" for label in labels)
    yield ""
    yield f"Trained with mproto {_text(version)}: method {_text(method)}, encoder {_text(encoder)}."


def _form(int8: bool | None) -> Iterator[str]:
    if int8 is not None:
        yield ""
        bits = "rounded to eight bits, which may change its predictions a little" if int8 else "as they were trained"
        yield f"This is an exported model: an ONNX graph, which needs no torch, with weights {bits}."


def _data(card: Mapping[str, Any], settings: Mapping[str, Any], name_types: Sequence[str]) -> Iterator[str]:
    documents, labelled = card.get(DOCUMENTS), card.get(HUMAN_LABELLED)
    if documents is not None and GAZETTEER in card:
        yield f"- {_count(documents)} documents, labelled by looking up the terms of a gazetteer, not by humans."
    elif documents is not None:
        yield f"- {_count(documents)} labelled documents; it was not recorded whether by humans or by a gazetteer."
    if labelled is not None:
        yield f"- {_count(labelled)} human-labelled documents."
    if documents is None and labelled is None:
        yield "- The training data were not recorded."
    if GAZETTEER in card:
        yield f"- Terms of the gazetteer: {_text(card[GAZETTEER])}. Equal gazetteers have equal fingerprints."
    if name_types:
        yield f"- Types matched as names: {', '.join(map(_text, name_types))}."
    seed = settings.get("training", {}).get("seed")
    if seed is not None:
        yield f"- All settings of the run are in config.json; its seed was {_text(seed)}."


def _rest(card: Mapping[str, Any], scores: Sequence[Score]) -> Iterator[str]:
    """Yield the entries without their own place in the README, and scores that are invalid."""
    valid = {SCORES: scores, RECOMMENDED: recommended_way(card), EXPECTED: expected_scores(card)}
    placed = {DOCUMENTS, HUMAN_LABELLED, GAZETTEER, CALIBRATED, NAMES, *(key for key, value in valid.items() if value)}
    yield from (f"- {_text(key)}: {_text(value)}" for key, value in card.items() if key not in placed)


def _measured(scores: Sequence[Score]) -> Iterator[str]:
    if not scores:
        yield "No scores were recorded. Measure them with `mproto evaluate` on human-labelled text before you rely on it."
        return
    yield f"| corpus | {' | '.join(MEASURES)} |"
    yield "|---" * (1 + len(MEASURES)) + "|"
    for score in scores:
        values = (f"{100 * score.values[m]:.2f}" if m in score.values else "" for m in MEASURES)
        yield f"| {_text(score.corpus)} | {' | '.join(values)} |"
    yield ""
    yield "In percent, with strict matching: a predicted entity is correct if its first word, its last word and its type"
    yield "are. Precision is the share of predicted entities that are correct, recall the share of the gold entities that"
    yield "are found, and F1 their harmonic mean."


def _expected(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield the expected scores of the model, the terms and both, and the recommendation."""
    way, scores = recommended_way(card), expected_scores(card)
    if scores:
        yield ""
        yield "Scores expected in training, by word and in percent. No human label was used, so they are rough."
        yield ""
        yield f"| found by | {' | '.join(MEASURES)} |"
        yield "|---" * (1 + len(MEASURES)) + "|"
        for name, values in scores.items():
            yield f"| {WAYS[name]} | {' | '.join(f'{100 * values[m]:.2f}' for m in MEASURES)} |"
    if way:
        yield ""
        yield f"Training recommends {WAYS[way]}. This is the default wherever a gazetteer is given with this model"
        yield f"(combination `{COMBINATION_OF[way]}`)."
    if way == "terms":
        yield "The model is expected to be worse than the term list alone."


def _limits(
    card: Mapping[str, Any], settings: Mapping[str, Any], scheme: str | None, keeps_case: bool | None
) -> Iterator[str]:
    if GAZETTEER in card:
        yield "- It learnt its types from a term list. Terms with a wrong type and ambiguous terms cause errors,"
        yield "  and it may never find kinds of entities that are not in the list."
    yield "- Expect lower scores on text of another domain, style or language than the training data. Only an evaluation"
    yield "  there shows how much lower."
    if keeps_case is False:
        yield "- Its encoder ignores letter case" + (
            "; the shape of each word (capitals, digits) is a separate input."
            if settings.get("word_shapes")
            else ": it cannot tell words apart that differ only in case."
        )
    if scheme == "io":
        yield "- Adjacent entities of the same type are merged into one."
    yield "- Entities are flat: they neither overlap nor nest."
    if CALIBRATED in card:
        yield f"- The scores of entities are probabilities, calibrated on {_text(card[CALIBRATED])}."
    else:
        yield "- The scores of entities are not calibrated: they rank entities, but are not probabilities of being correct."


def _scores(card: Mapping[str, Any]) -> list[Score]:
    """Return the scores of a card; an empty list if any of them is invalid."""
    given = card.get(SCORES)
    valid = []
    for one in given if isinstance(given, list | tuple) else ():
        values = _fractions(one)
        if not values:
            return []
        valid.append(Score(str(one.get("corpus", "unnamed")), values))
    return valid


def _fractions(given: Any) -> dict[str, float]:
    """Return those of `MEASURES` that are given; none if one of them is not a fraction."""
    values = {m: given[m] for m in MEASURES if m in given} if isinstance(given, Mapping) else {}
    return values if all(isinstance(v, int | float) and 0 <= v <= 1 for v in values.values()) else {}


def _count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else _text(value)


def _text(value: object) -> str:
    """Escape a value for a line of Markdown: no markup, no HTML, and no line break."""
    shown = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in str(value))
    return _NUMBER.sub(r"\1\\\2", _MARKUP.sub(r"\\\g<0>", shown.strip())) or "(nothing)"


def _yaml(value: str) -> str:
    """Return a YAML scalar: a JSON string, with characters escaped that YAML does not allow."""
    quoted = json.dumps(value.encode("utf-8", "replace").decode(), ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)
