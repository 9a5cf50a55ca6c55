"""Models that classify spans: against brute force on short sentences."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoders import write_roberta
from mproto import Document, Span
from mproto.config import load_config
from mproto.errors import InputError
from mproto.models.baselines import span_sampling
from mproto.models.baselines.autoner import AutoNERModel, typing_loss
from mproto.models.baselines.span_sampling import SpanSamplingModel, random_spans
from mproto.models.baselines.spans import HIDDEN, SpanScorer, all_spans, greedy, tag_words
from mproto.models.batch import Batch, collate, make_windows
from mproto.models.encoder import Encoder
from mproto.models.registry import get_method
from mproto.text.document import WordSpan
from mproto.text.tagging import decode

LABELS = ("A", "B")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return Encoder.load(str(write_roberta(tmp_path_factory.mktemp("encoder"), positions=200)))


def batch_of(encoder: Encoder, sentences: list[list[str]], labels: list[list[int]] | None = None) -> Batch:
    return collate(make_windows(sentences, encoder.tokens, encoder.window), encoder.pad_id, labels)


def build(name: str, encoder: Encoder, *settings: str) -> object:
    torch.manual_seed(0)
    return get_method(name).build(encoder, LABELS, load_config(settings=[*settings, "dropout=0"]))


def test_a_span_is_scored_by_the_published_formula() -> None:
    torch.manual_seed(0)
    scorer, features = SpanScorer(5, 3), torch.randn(6, 5)
    # W = [first + c; last − c; c; product] for any c gives the same, since h_i and h_j can stand in for their difference.
    c = torch.randn(HIDDEN, 5)
    weight = torch.cat([scorer.first.weight - c, scorer.last.weight + c, c, scorer.product.weight], -1)
    for i, j in ((0, 0), (1, 4), (2, 5)):
        h_i, h_j = features[i], features[j]
        hidden = torch.tanh(weight @ torch.cat([h_i, h_j, h_i - h_j, h_i * h_j]) + scorer.first.bias)
        found = scorer(features, torch.tensor([i]), torch.tensor([j]))[0]
        torch.testing.assert_close(found, scorer.output(hidden))


@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(1, 8))
def test_all_spans_are_all_of_each_sentence(lengths: list[int], longest: int) -> None:
    class Words:
        rows = torch.zeros(sum(lengths))
        own_words = [(None, slice(sum(lengths[:n]), sum(lengths[: n + 1]))) for n in range(len(lengths))]

    found = list(zip(*(t.tolist() for t in all_spans(Words(), longest)), strict=True))  # type: ignore[arg-type]
    sentence = [n for n, length in enumerate(lengths) for _ in range(length)]
    words = range(sum(lengths))
    expected = [(i, j) for i in words for j in words if i <= j < i + longest and sentence[i] == sentence[j]]
    assert sorted(found) == sorted(expected)
    assert len(set(found)) == len(found)


@given(
    st.lists(
        st.tuples(st.integers(0, 1000), st.integers(0, 6), st.integers(0, 3)), max_size=8, unique_by=lambda t: t[0]
    )
)
def test_greedy_decoding_against_brute_force(drawn: list[tuple[int, int, int]]) -> None:
    """The oracle: the set of disjoint spans with the largest scores, compared from the highest."""
    spans = [(score / 1000, first, first + extra) for score, first, extra in drawn]

    def apart(chosen: tuple[int, ...]) -> bool:
        return all(spans[a][2] < spans[b][1] or spans[b][2] < spans[a][1] for a, b in combinations(chosen, 2))

    subsets = (c for size in range(len(spans) + 1) for c in combinations(range(len(spans)), size))
    best = max(filter(apart, subsets), key=lambda chosen: sorted((spans[n][0] for n in chosen), reverse=True))
    assert greedy(spans) == sorted(best)


def test_random_spans_are_any_but_the_labelled() -> None:
    torch.manual_seed(0)
    labelled = {(10, 11), (12, 12)}
    seen = [span for _ in range(300) for span in random_spans(10, 14, 2, labelled)]
    every = {(i, j) for i in range(10, 14) for j in range(i, 14)}
    assert set(seen) == every - labelled
    assert len(seen) == 600
    assert all(60 < seen.count(span) < 90 for span in set(seen))  # 600 / 8
    assert sorted(random_spans(10, 14, 99, labelled)) == sorted(every - labelled)
    assert random_spans(10, 11, 1, {(10, 10)}) == []


def test_what_the_span_model_learns_from(encoder: Encoder) -> None:
    model = build("negative-sampling-span", encoder)
    assert isinstance(model, SpanSamplingModel)
    labels = [[0, 1, 2, 0, 0, 3], [0, 0]]  # O B-A I-A O O B-B; O O
    batch = batch_of(encoder, [["a"] * 6, ["b"] * 2], labels)
    chosen = model._sample(batch)
    assert [span for span in chosen if span[2]] == [(1, 2, 1), (5, 5, 2)]
    others = [span for span in chosen if not span[2]]
    assert sum(last < 6 for _, last, _ in others) == 3  # int(0.35 · 6) + 1
    assert sum(first >= 6 for first, _, _ in others) == 1  # int(0.35 · 2) + 1, of three
    step = model.step(batch, 0.0)
    assert step.weight == 6


def test_span_predictions_against_brute_force(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_sampling, "MAX_WORDS", 3)
    model = build("negative-sampling-span", encoder)
    assert isinstance(model, SpanSamplingModel)
    sentences = [["hello", "world", "this", "is"], ["a", "text", "of"], ["words"]]
    batch = batch_of(encoder, sentences)
    with torch.no_grad():
        model.scorer.output.weight.mul_(20)  # so that entities are found
        features, found = encoder(batch), model.predict(batch)
        candidates = []
        start = 0
        for sentence in sentences:
            for i in range(start, start + len(sentence)):
                for j in range(i, min(i + 3, start + len(sentence))):
                    p = model.scorer(features, torch.tensor([i]), torch.tensor([j])).softmax(-1)[0]
                    if p.argmax():
                        candidates.append((p.max().item(), i, j, LABELS[int(p.argmax()) - 1]))
            start += len(sentence)
    taken: list[WordSpan] = []
    for _, i, j, label in sorted(candidates, reverse=True):
        if all(j < span.start or span.end <= i for span in taken):
            taken.append(WordSpan(i, j + 1, label))
    assert taken
    assert list(decode([model.tags[n] for n in found.tags.tolist()]).spans) == sorted(taken)


def test_tags_of_spans(encoder: Encoder) -> None:
    tags = ("O", "B-A", "I-A", "B-B", "I-B")
    spans = [(WordSpan(0, 2, "A"), 0.5), (WordSpan(2, 3, "A"), 0.75), (WordSpan(4, 5, "B"), 0.25)]
    numbers, scores = tag_words(batch_of(encoder, [["a"] * 6]), spans, tags)
    assert numbers.tolist() == [1, 2, 1, 0, 3, 0]
    assert scores.tolist() == [0.5, 0.5, 0.75, 1, 0.25, 1]


def test_entities_across_the_edge_of_a_window_are_one(encoder: Encoder) -> None:
    """A model that labels all words as one entity, on a text of several windows."""
    model = build("autoner", encoder)
    assert isinstance(model, AutoNERModel)
    windows = make_windows([["hello", "world"] * 15, ["text"]], encoder.tokens, 12)
    assert len(windows) > 4
    with torch.no_grad():
        for scorer in (model.gaps, model.types):
            scorer.output.weight.zero_()
            scorer.output.bias.copy_(torch.tensor([0.0, 9.0, 0.0][: len(scorer.output.bias)]))
    tags = [tag for window in windows for tag in model.predict(collate([window], encoder.pad_id)).tags.tolist()]
    assert decode([model.tags[tag] for tag in tags[:30]]).spans == (WordSpan(0, 30, "A"),)
    assert model.tags[tags[30]] == "B-A"


class TestAutoNER:
    def test_typing_by_hand(self) -> None:
        """p = 0.5, 0.3, 0.2: −log 0.3 for the second alone, −log 0.5 for the last two, 0 for all."""
        logits = torch.tensor([0.5, 0.3, 0.2]).log().expand(3, -1).clone().requires_grad_()
        allowed = torch.tensor([[False, True, False], [False, True, True], [True, True, True]])
        expected = -torch.log(torch.tensor(0.3)) - torch.log(torch.tensor(0.5))
        loss = typing_loss(logits, allowed)
        assert loss.item() == pytest.approx(expected.item())
        loss.backward()
        assert logits.grad is not None
        # p minus p restricted to the allowed ones
        assert logits.grad[1].tolist() == pytest.approx([0.5, 0.3 - 0.6, 0.2 - 0.4], abs=1e-6)
        assert logits.grad[2].tolist() == pytest.approx([0, 0, 0], abs=1e-6)

    def test_what_labels_teach(self, encoder: Encoder) -> None:
        """O B-A I-A B-A, then a phrase of two words and O; the gaps at the phrase and inside it are left out."""
        model = build("autoner", encoder)
        assert isinstance(model, AutoNERModel)
        batch = batch_of(encoder, [["a"] * 7, ["b"]], [[0, 1, 2, 1, 5, 6, 0], [3]])
        targets = model.targets(batch)
        assert list(zip(targets.gaps.tolist(), targets.ties.tolist(), strict=True)) == [(0, 0), (1, 1), (2, 0)]
        spans = list(zip(targets.first.tolist(), targets.last.tolist(), strict=True))
        assert spans == [(0, 0), (1, 2), (3, 3), (4, 5), (6, 6), (7, 7)]
        none, a, b, every = [True, False, False], [False, True, False], [False, False, True], [True] * 3
        assert targets.allowed.tolist() == [none, a, a, every, none, b]

    def test_the_loss_by_its_definition(self, encoder: Encoder) -> None:
        model = build("autoner", encoder)
        assert isinstance(model, AutoNERModel)
        batch = batch_of(encoder, [["hello", "world", "this"]], [[1, 2, 0]])
        features = encoder(batch)

        def p(scorer: SpanScorer, i: int, j: int, answer: int) -> torch.Tensor:
            return scorer(features, torch.tensor([i]), torch.tensor([j])).softmax(-1)[0, answer]

        tying = -(p(model.gaps, 0, 1, 1).log() + p(model.gaps, 1, 2, 0).log()) / 2
        typing = -(p(model.types, 0, 1, 1).log() + p(model.types, 2, 2, 0).log()) / 2
        torch.testing.assert_close(model.step(batch, 0.0).loss, tying + typing)

    def test_predictions_against_brute_force(self, encoder: Encoder) -> None:
        model = build("autoner", encoder)
        assert isinstance(model, AutoNERModel)
        with torch.no_grad():
            model.types.output.weight.mul_(20)
            model.gaps.output.weight.mul_(20)
        sentences = [["hello", "world", "this", "is", "a"], ["text"], ["of", "words"]]
        batch = batch_of(encoder, sentences)
        found = model.predict(batch)
        with torch.no_grad():
            features = encoder(batch)
            expected, start = [], 0
            for sentence in sentences:
                stop = start + len(sentence)
                tied = [
                    bool(model.gaps(features, torch.tensor([i]), torch.tensor([i + 1]))[0].argmax())
                    for i in range(start, stop - 1)
                ]
                first = start
                for i in range(start, stop):
                    if i == stop - 1 or not tied[i - start]:
                        kind = int(model.types(features, torch.tensor([first]), torch.tensor([i]))[0].argmax())
                        expected += [WordSpan(first, i + 1, LABELS[kind - 1])] if kind else []
                        first = i + 1
                start = stop
        assert expected
        assert list(decode([model.tags[n] for n in found.tags.tolist()]).spans) == expected

    def test_phrases_of_unknown_type(self, encoder: Encoder, tmp_path: Path) -> None:
        (tmp_path / "phrases.txt").write_text("hello world\nthis\n")
        model = build("autoner", encoder, f"autoner.phrases={tmp_path / 'phrases.txt'}")
        assert isinstance(model, AutoNERModel)
        document = Document("hello world and this text", (Span(16, 25, "A"),))
        assert model.tag_numbers(document) == [5, 6, 0, 1, 2]  # "this" is part of an entity

    def test_phrases_that_are_not_there(self, encoder: Encoder) -> None:
        model = build("autoner", encoder, "autoner.phrases=nowhere.txt")
        assert isinstance(model, AutoNERModel)
        with pytest.raises(InputError, match=r"autoner.phrases cannot be read: nowhere.txt: no such file"):
            model.tag_numbers(Document("hello"))
