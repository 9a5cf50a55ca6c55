"""The parts of a report, against plain loops, and their properties."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from encoders import embedded
from mproto import Document, Recognizer, Span, annotate, demo, train
from mproto.analysis.coverage import coverage
from mproto.analysis.curves import POINTS, Curve, curves
from mproto.analysis.disagreements import largest_disagreements
from mproto.analysis.missing_terms import missing_terms
from mproto.analysis.projection import choose_words, project
from mproto.analysis.prototypes import WORDS_PER_STEP, prototype_cards, prototype_model, reassign
from mproto.analysis.word_table import WordTable, read_words, sample_documents
from mproto.denoising.base import Denoised, Denoiser, StepWords
from mproto.errors import InputError
from mproto.html.charts import line_chart, line_class, scatter, shape_number, ticks
from mproto.method.assignment import Assignment
from mproto.models.batch import collate, make_windows
from mproto.models.mproto import MProtoModel
from mproto.recognizer import Entity
from mproto.training.data import Data
from mproto.training.folder import restore_state
from mproto.training.loop import Progress
from runs import labelled, small_config, small_model


@pytest.fixture(autouse=True)
def encoder() -> None:
    embedded()


@cache
def word_table() -> WordTable:
    """A table of test sentences with the gazetteer's labels and human labels."""
    return read_words(small_model(), list(annotate(demo.documents("test")[:40], demo.gazetteer())))


class TestWordTable:
    def test_every_word_once_in_order_with_its_feature(self) -> None:
        words = word_table()
        expected = [(n, i) for n, document in enumerate(words.documents) for i in range(document.word_count)]
        assert list(zip(words.document.tolist(), words.index.tolist(), strict=True)) == expected
        place = expected.index((7, 0))
        encoder, texts = small_model().model.encoder, words.documents[7].word_texts
        with torch.no_grad():
            features = encoder(collate(make_windows([texts], encoder.tokens, encoder.window), encoder.pad_id))
        torch.testing.assert_close(words.features[place : place + len(texts)], features, atol=1e-5, rtol=1e-4)

    def test_classes_agree_with_the_spans(self) -> None:
        words, names = word_table(), ("O", *small_model().labels)
        for n, document in enumerate(words.documents):
            own = words.document == n
            predicted = document.with_spans([entity.span for entity in words.entities[n]], None).word_spans
            for column, spans in (
                (words.labels, document.word_spans),
                (words.gold, document.gold_word_spans or ()),
                (words.predicted, predicted),
            ):
                expected = ["O"] * document.word_count
                for start, end, label in spans:
                    expected[start:end] = [label] * (end - start)
                assert [names[number] for number in column[own].tolist()] == expected

    def test_entities_agree_with_the_recogniser(self) -> None:
        words = word_table()
        found = [
            [entity.span for entity in entities] for entities in small_model().predict_entities(list(words.documents))
        ]
        assert [[entity.span for entity in entities] for entities in words.entities] == found

    def test_contexts_are_in_the_text(self) -> None:
        words = word_table()
        for place in range(0, len(words), 17):
            before, word, after = words.context(place)
            assert before + word + after in words.documents[int(words.document[place])].text

    def test_samples(self) -> None:
        documents = labelled()
        assert sample_documents(documents, 10**6) == [d for d in documents if d.word_count]
        some = sample_documents(documents, 200)
        assert 150 < sum(d.word_count for d in some) <= 200
        assert some == [d for d in documents if d in some] == sample_documents(documents, 200)
        assert some != sample_documents(documents, 200, seed=1)
        long = Document("word " * 300)
        for seed in range(5):  # one long document does not exclude the others
            assert sum(d.word_count for d in sample_documents([long, *documents], 250, seed)) > 150
        assert sample_documents([long], 200) == []


class TestProjection:
    def test_clusters_stay_apart_and_maps_are_repeatable(self) -> None:
        generator = torch.Generator().manual_seed(0)
        centres = torch.randn(3, 40, generator=generator) * 4
        kinds = torch.arange(90) % 3
        points = centres[kinds] + torch.randn(90, 40, generator=generator)
        places, method = project(points)
        assert method == "t-SNE"
        assert places.min() == 0
        assert places.max() == 1
        distances = torch.cdist(places, places).fill_diagonal_(9)
        assert (kinds[distances.argmin(-1)] == kinds).all()
        assert torch.equal(project(points).places, places)

    def test_identical_points(self) -> None:
        """t-SNE would divide by their distances."""
        for count in (12, 16, 40):
            places, method = project(torch.ones(count, 8))
            assert method == "PCA"
            assert torch.isfinite(places).all()

    @pytest.mark.parametrize("count", [1, 2, 5])
    def test_few_points(self, count: int) -> None:
        places, method = project(torch.randn(count, 8))
        assert places.shape == (count, 2)
        assert method == "PCA"
        assert torch.isfinite(places).all()

    def test_words_are_chosen_by_class(self) -> None:
        words = word_table()
        sizes = torch.bincount(words.gold)
        chosen = choose_words(words, 90)
        assert len(chosen) == len(chosen.unique()) == 90
        found = torch.bincount(words.gold[chosen])
        assert (found == torch.minimum(sizes, torch.tensor(30))).all()
        assert len(choose_words(words, 10**6)) == len(words)


class TestPrototypes:
    def test_every_word_is_on_one_card_and_the_nearest_are_shown(self) -> None:
        model, words = prototype_model(small_model().model), word_table()
        assert isinstance(model, MProtoModel)
        cards = prototype_cards(model, words)
        assert [card.name for card in cards] == list(model.prototype_names)
        assert sum(card.words for card in cards) == len(words)
        similarity = model.bank.similarity(words.features)
        for place, card in enumerate(cards):
            shown = [n.similarity for n in card.nearest]
            assert shown == sorted(shown, reverse=True)
            assert len({n.word.casefold() for n in card.nearest}) == len(card.nearest)
            if card.words:
                own = similarity[similarity.argmax(-1) == place, place]
                assert shown[0] == pytest.approx(own.max().item(), abs=1e-5)

    @pytest.mark.parametrize("denoising", ["threshold", "transport"])
    def test_words_that_are_left_out_are_those_of_a_training_step(
        self, denoising: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The table is compared with what the next step of training leaves out, with the state at its end."""
        model, documents = trained(denoising), labelled(40)
        words = read_words(Recognizer(model, small_config()), documents)
        data = Data.of([document.with_spans(document.spans, None) for document in documents], model)
        decisions: list[tuple[StepWords, Assignment]] = []
        assign = type(model.denoiser).assign

        def record(self: Denoiser, step: StepWords, *arguments: Any, **named: Any) -> Denoised:
            found = assign(self, step, *arguments, **named)
            decisions.append((step, found.assignment))
            return found

        monkeypatch.setattr(type(model.denoiser), "assign", record)
        model.eval().step(data.batch(range(len(data.windows))), 0.99)
        ((step, assignment),) = decisions
        found = reassign(model, words)
        other = step.labels == 0
        assert 0 < int((~assignment.keep).sum()) < int(other.sum()) <= WORDS_PER_STEP
        expected = torch.bincount(model.bank.class_of[assignment.target[other]], minlength=3)
        difference = found.counts.sum(0) - expected
        assert difference.abs().max() <= 2  # another order of the words rounds differently
        truth = words.predicted if not found.human_labelled else words.gold
        assert found.counts.sum(1).tolist() == torch.bincount(truth[words.labels == 0], minlength=3).tolist()

    def test_a_saved_run_leaves_out_the_same_words(self, tmp_path: Path) -> None:
        documents = labelled(40)
        config = small_config("training.min_steps=20", "mproto.denoising=threshold")
        result = train(documents, config=config, output=tmp_path / "run", progress=False)
        loaded = Recognizer.from_pretrained(tmp_path / "run")
        assert not len(prototype_model(loaded.model).word_ids)  # type: ignore[union-attr]
        restore_state(loaded, tmp_path / "run")
        found = []
        for recognizer in (result.recognizer, loaded):
            model = prototype_model(recognizer.model)
            assert model is not None
            found.append(reassign(model, read_words(recognizer, documents)).counts)
        assert found[0][:, 1:].sum() > 0
        assert torch.equal(*found)
        (tmp_path / "run" / "state.safetensors").write_bytes(b"nonsense")
        with pytest.raises(InputError, match=r"state.safetensors: cannot be read .*; delete the file"):
            restore_state(loaded, tmp_path / "run")

    def test_other_methods_have_no_prototypes(self) -> None:
        assert prototype_model(small_model("tagger").model) is None


@cache
def trained(denoising: str) -> MProtoModel:
    """A model whose denoiser has a state; with transport, one that leaves some words out."""
    beta = "auto" if denoising == "threshold" else "0.5"
    config = small_config(
        f"mproto.denoising={denoising}", f"mproto.beta={beta}", "training.average=0", "training.min_steps=20"
    )
    model = train(labelled(200), config=config).recognizer.model
    assert isinstance(model, MProtoModel)
    return model


def invented(*rows: tuple[str, list[Span], list[Span] | None, list[tuple[Span, float]]]) -> WordTable:
    """Make a table of texts with the gazetteer's labels, human labels, and predictions."""
    documents = [Document(text, spans, gold=gold) for text, spans, gold, _ in rows]
    entities = [[Entity(span, score) for span, score in found] for _, _, _, found in rows]
    none = torch.zeros(0, dtype=torch.long)
    return WordTable(documents, entities, none, none, none, none, none, none, none)


class TestCoverageAndMissingTerms:
    WORDS = invented(
        ("aspirin and Zinc", [Span(0, 7, "A")], None, [(Span(0, 7, "A"), 0.9), (Span(12, 16, "A"), 0.5)]),
        ("zinc, zinc", [], None, [(Span(0, 4, "A"), 0.7), (Span(6, 10, "B"), 0.6)]),
        ("Aspirin or gout", [], None, [(Span(0, 7, "B"), 0.9), (Span(11, 15, "B"), 1.0)]),
    )

    def test_coverage(self) -> None:
        assert [tuple(line) for line in coverage(self.WORDS, ("A", "B"))] == [("A", 1, 1, 3, 1), ("B", 0, 0, 3, 0)]

    def test_missing_terms(self) -> None:
        """Zinc is found three times, twice as `zinc` and twice as A. Gout is found once. Aspirin is known, in any case."""
        zinc, gout = missing_terms(self.WORDS)
        assert (zinc.surface, zinc.type, zinc.count) == ("zinc", "A", 3)
        assert zinc.score == pytest.approx(0.6)
        assert (zinc.before, zinc.match, zinc.after) == ("", "zinc", ", zinc")
        assert (gout.surface, gout.type, gout.before) == ("gout", "B", "Aspirin or ")
        assert [term.surface for term in missing_terms(self.WORDS, known=["GOUT"])] == ["zinc"]

    def test_missing_terms_of_a_model(self) -> None:
        words = word_table()
        listed = {s.casefold() for s in demo.gazetteer().surfaces}
        terms = missing_terms(words, demo.gazetteer().surfaces)
        assert not {term.surface.casefold() for term in terms} & listed
        found = Counter(
            words.documents[n].surface(e.span).casefold() for n, own in enumerate(words.entities) for e in own
        )
        assert all(found[term.surface.casefold()] == term.count for term in terms)


def test_largest_disagreements() -> None:
    words = invented(
        ("all is right", [], [Span(0, 3, "A")], [(Span(0, 3, "A"), 0.9)]),
        ("one is missed", [], [Span(0, 3, "A")], []),
        ("one is half right", [], [Span(0, 3, "A")], [(Span(0, 6, "A"), 0.3)]),
        ("no people here, and more found", [Span(0, 2, "A")], None, [(Span(0, 2, "A"), 1.0), (Span(3, 9, "A"), 1.0)]),
        ("no people here, and one not", [Span(0, 2, "A"), Span(3, 9, "A")], None, [(Span(3, 9, "B"), 1.0)]),
        ("long " * 400, [], [Span(0, 4, "A"), Span(1000, 1004, "A")], [(Span(0, 4, "A"), 1.0)]),
    )
    found = largest_disagreements(words, 10)
    assert [(item.text[:12], round(item.difference, 2), item.human_labelled) for item in found] == [
        ("no people he", 2.0, False),
        ("one is misse", 1.0, True),
        ("long long lo", 1.0, True),
        ("one is half ", 0.8, True),
    ]
    part = found[2]  # the part of a long text with a difference
    assert len(part.text) == 600
    ((start, end, _),) = part.expected
    assert part.text[start:end] == "long"
    assert part.predicted == ()
    assert largest_disagreements(words, 1) == found[:1]


class TestCharts:
    @given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
    @example(131072.0, 1e-10)
    def test_ticks_are_few_and_enclose_the_range(self, low: float, width: float) -> None:
        found = ticks(low, low + width)
        assert found == sorted(set(found))
        assert 2 <= len(found) <= 8
        slack = 1e-6 * max(abs(low), width, 1)
        assert found[0] <= low + slack
        assert found[-1] >= low + width - slack

    @pytest.mark.parametrize(
        ("xs", "marks"),
        [((100,), ["100", "101"]), ((1, 3), ["1", "2", "3"]), ((1, 1_500_000), ["500000", "1000000", "1500000"])],
    )
    def test_marks_of_the_x_axis_are_integers(self, xs: tuple[int, ...], marks: list[str]) -> None:
        drawn = line_chart([Curve("a", tuple((x, 1.0) for x in xs))])
        assert re.findall(r'class="across"[^>]*>([^<]*)<', drawn) == marks

    @given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5), min_size=1, max_size=9))
    def test_lines_stay_inside_the_chart(self, values: list[list[float]]) -> None:
        found = [Curve(f"<{n}>", tuple(enumerate(own))) for n, own in enumerate(values)]
        drawn = ET.fromstring(f"<div>{line_chart(found)}</div>")
        lines = [path for path in drawn.findall("svg/path") if "curve" in path.attrib["class"]]
        assert len(lines) == len(values)
        for path in lines:
            points = path.attrib["d"].removesuffix("h.1")[1:].split("L")
            for x, y in (map(float, point.split()) for point in points):
                assert 0 <= x <= 640
                assert 0 <= y <= 220

    def test_36_series_differ(self) -> None:
        assert len({line_class(number) for number in range(36)}) == 36
        assert len({(number % 6, shape_number(number)) for number in range(36)}) == 36

    def test_points_are_numbered(self) -> None:
        drawn = ET.fromstring(scatter([(0.0, 0.0, 0), (1.0, 0.5, 7)], [(0.5, 0.5, 1, "<b>")]))
        uses = drawn.findall("g/use")
        assert [use.attrib["data-i"] for use in uses] == ["0", "1"]
        assert [use.attrib["href"] for use in uses] == ["#s0", "#s2"]
        assert [text.text for text in drawn.iter("text")] == ["<b>"]

    def test_curves_of_a_long_run(self) -> None:
        logs = {"kept": 0.5, "similarity.A": 0.25}
        history = [
            Progress(step, 1000, 0.0, step / 10, 1e-4, 50, 0.5, logs={**logs, "similarity.B": float(step % 2)})
            for step in range(1, 1001)
        ]
        found = curves(history)
        assert "Score" not in found
        (loss,) = found["Loss"]
        assert len(loss.points) == POINTS
        assert loss.points[0] == (3, pytest.approx(0.3))  # the mean of the first five
        assert {y for _, y in found["Words per second"][0].points} == {100}
        b = next(curve for curve in found["Similarity of words to their prototypes, by class"] if curve.name == "B")
        assert {y for _, y in b.points} == {1}  # without the zeros, which mean that a step had no such word
        assert curves([]) == {}
