from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import biluo_tags_to_spans
from spacy.vocab import Vocab

from mproto.text import WordSpan
from mproto.text.formats import Keeps
from mproto.text.tagging import TagError, decode, encode
from strategies import word_spans

TAGS = st.lists(st.sampled_from(["O", "O", *(f"{p}-{t}" for p in "BIESLU" for t in ("PER", "geo-loc"))]), max_size=10)
LENGTH = 10


@given(word_spans(LENGTH, Keeps.TOUCHING, ("PER", "LOC")))
def test_bio_round_trip(spans: list[WordSpan]) -> None:
    decoded = decode(encode(spans, LENGTH, "bio"))
    assert decoded.spans == tuple(spans)
    assert decoded.oddities.repairs("bio") == 0


@given(word_spans(LENGTH, Keeps(0), ("PER", "LOC")))
def test_io_round_trip_without_touching_spans(spans: list[WordSpan]) -> None:
    decoded = decode(encode(spans, LENGTH, "io"))
    assert decoded.spans == tuple(spans)
    assert decoded.oddities.repairs("io") == 0


def test_io_merges_touching_spans() -> None:
    tags = encode([WordSpan(0, 1, "PER"), WordSpan(1, 3, "PER"), WordSpan(3, 4, "LOC")], 4, "io")
    assert decode(tags).spans == (WordSpan(0, 3, "PER"), WordSpan(3, 4, "LOC"))


@given(word_spans(LENGTH, Keeps.TOUCHING, ("PER", "LOC")), st.sampled_from(["BIOES", "BILOU"]))
def test_bioes_and_bilou_as_spacy_reads_them(spans: list[WordSpan], letters: str) -> None:
    end, single = ("E", "S") if letters == "BIOES" else ("L", "U")
    tags = ["O"] * LENGTH
    for start, stop, label in spans:
        length = stop - start
        prefixes = [single] if length == 1 else ["B", *"I" * (length - 2), end]
        tags[start:stop] = [f"{prefix}-{label}" for prefix in prefixes]
    decoded = decode(tags)
    assert decoded.spans == tuple(spans)
    assert decoded.oddities.repairs("bioes") == 0
    doc = Doc(Vocab(), words=["x"] * LENGTH)
    biluo = [tag.replace("E-", "L-").replace("S-", "U-") for tag in tags]
    assert [(s.start, s.end, s.label_) for s in biluo_tags_to_spans(doc, biluo)] == [tuple(s) for s in decoded.spans]


@given(word_spans(LENGTH, Keeps.TOUCHING, ("PER", "LOC")))
def test_iob1(spans: list[WordSpan]) -> None:
    """B is used only for a span directly after one of the same label."""
    tags = encode(spans, LENGTH, "io")
    for one, other in pairwise(spans):
        if one.end == other.start and one.label == other.label:
            tags[other.start] = f"B-{other.label}"
    decoded = decode(tags)
    assert decoded.spans == tuple(spans)
    assert decoded.oddities.repairs("iob1") == 0
    assert decoded.oddities.repairs() == 0


def conlleval(tags: list[str]) -> list[tuple[int, int, str]]:
    """Chunks as in the script of the CoNLL shared task, with its two predicates."""
    spans, start = [], None
    pairs = [("O", ""), *(("O", "") if t == "O" else tuple(t.split("-", 1)) for t in tags), ("O", "")]
    for i in range(1, len(pairs)):
        (before, label_before), (tag, label) = pairs[i - 1], pairs[i]
        ends = before != "O" and (tag in "OBSU" or before in "ELSU" or label != label_before)
        begins = tag != "O" and (tag in "BSU" or before in "OELSU" or label != label_before)
        if ends and start is not None:
            spans.append((start, i - 1, label_before))
            start = None
        if begins:
            start = i - 1
    return spans


@given(TAGS)
def test_invalid_sequences_are_read_like_conlleval(tags: list[str]) -> None:
    assert [tuple(span) for span in decode(tags).spans] == conlleval(tags)


@given(TAGS)
def test_repaired_spans_are_valid(tags: list[str]) -> None:
    spans = decode(tags).spans
    repaired = decode(encode(spans, len(tags), "bio"))
    assert repaired.spans == spans
    assert repaired.oddities.repairs("bio") == 0


@pytest.mark.parametrize(
    ("tags", "scheme", "repairs"),
    [
        (["O", "I-PER", "I-PER"], "bio", 1),
        (["O", "I-PER", "I-PER"], "io", 0),
        (["B-PER", "I-LOC"], "bio", 1),
        (["B-PER", "I-PER", "O"], "bioes", 1),
        (["B-PER", "E-PER", "S-LOC"], "bioes", 0),
        (["E-PER"], "bioes", 1),
        (["B-PER", "O", "I-LOC"], None, 1),
        (["I-PER", "B-PER"], None, 0),
        (["B-PER", "I-PER", "E-PER", "I-PER"], None, 2),
        (["B-PER", "O"], "iob1", 1),
        (["I-PER", "B-PER"], "io", 1),
        (["B-PER", "O", "E-PER"], "bio", 2),
        (["S-PER", "O", "B-LOC"], None, 1),
        (["B_PER", "I_PER"], "bio", 0),
        (["S-PER", "B-PER"], "io", 2),
    ],
)
def test_repairs_are_counted(tags: list[str], scheme: str | None, repairs: int) -> None:
    assert decode(tags).oddities.repairs(scheme) == repairs  # type: ignore[arg-type]


@pytest.mark.parametrize("tag", ["", "o", "PER", "X-PER", "B-", "B", "b-PER", "-"])
def test_unknown_tags(tag: str) -> None:
    with pytest.raises(TagError, match=f"unknown tag '{tag}'"):
        decode(["O", tag])


def test_bare_tags() -> None:
    assert decode(["person-actor", "person-actor", "O", "film"], bare=True).spans == (
        WordSpan(0, 2, "person-actor"),
        WordSpan(3, 4, "film"),
    )


def test_overlaps_cannot_be_encoded() -> None:
    with pytest.raises(ValueError, match="overlaps"):
        encode([WordSpan(0, 2, "A"), WordSpan(1, 3, "B")], 3)
