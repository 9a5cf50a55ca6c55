"""What a report is made of: against plain loops, and properties that must hold."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from encoders import embedded
from mproto import Document, Span, annotate, demo
from mproto.analysis.curves import POINTS, Curve, curves
from mproto.analysis.hardest import hardest
from mproto.analysis.projection import choose, project
from mproto.analysis.prototypes import AT_ONCE, flow, prototype_cards, prototype_model
from mproto.analysis.terms import coverage, new_terms
from mproto.analysis.words import Words, look, sample
from mproto.denoising.threshold import entity_probability
from mproto.html.charts import line_chart, line_class, scatter, shape_number, ticks
from mproto.method.assignment import assign
from mproto.models.batch import collate, make_windows
from mproto.models.mproto import MProtoModel
from mproto.recognizer import Entity
from mproto.training.loop import Progress
from runs import labelled, small_model


@pytest.fixture(autouse=True)
def encoder() -> None:
    embedded()


@cache
def read_words() -> Words:
    """Test sentences with the gazetteer's labels and people's."""
    return look(small_model(), list(annotate(demo.documents("test")[:40], demo.gazetteer())))


class TestWords:
    def test_every_word_once_in_order_with_its_feature(self) -> None:
        words = read_words()
        expected = [(n, i) for n, document in enumerate(words.documents) for i in range(document.word_count)]
        assert list(zip(words.document.tolist(), words.index.tolist(), strict=True)) == expected
        place = expected.index((7, 0))
        encoder, texts = small_model().model.encoder, words.documents[7].word_texts
        with torch.no_grad():
            features = encoder(collate(make_windows([texts], encoder.tokens, encoder.window), encoder.pad_id))
        torch.testing.assert_close(words.features[place : place + len(texts)], features, atol=1e-5, rtol=1e-4)

    def test_classes_are_those_of_the_spans(self) -> None:
        words, names = read_words(), ("O", *small_model().labels)
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

    def test_entities_are_those_of_the_recogniser(self) -> None:
        words = read_words()
        found = [
            [entity.span for entity in entities] for entities in small_model().predict_entities(list(words.documents))
        ]
        assert [[entity.span for entity in entities] for entities in words.entities] == found

    def test_contexts_are_in_the_text(self) -> None:
        words = read_words()
        for place in range(0, len(words), 17):
            before, word, after = words.context(place)
            assert before + word + after in words.documents[int(words.document[place])].text

    def test_samples(self) -> None:
        documents = labelled()
        assert sample(documents, 10**6) == [d for d in documents if d.word_count]
        some = sample(documents, 200)
        assert 150 < sum(d.word_count for d in some) <= 200
        assert some == [d for d in documents if d in some] == sample(documents, 200) != sample(documents, 200, seed=1)
        long = Document("word " * 300)
        for seed in range(5):  # one long document does not keep the others out
            assert sum(d.word_count for d in sample([long, *documents], 250, seed)) > 150
        assert sample([long], 200) == []


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

    def test_points_that_are_all_the_same(self) -> None:
        """Which t-SNE would divide by."""
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
        words = read_words()
        sizes = torch.bincount(words.gold)
        chosen = choose(words, 90)
        assert len(chosen) == len(chosen.unique()) == 90
        found = torch.bincount(words.gold[chosen])
        assert (found == torch.minimum(sizes, torch.tensor(30))).all()
        assert len(choose(words, 10**6)) == len(words)


class TestPrototypes:
    def test_cards_serve_every_word_once_and_show_the_nearest(self) -> None:
        model, words = prototype_model(small_model().model), read_words()
        assert isinstance(model, MProtoModel)
        cards = prototype_cards(model, words)
        assert [card.name for card in cards] == list(model.prototype_names)
        assert sum(card.served for card in cards) == len(words)
        similarity = model.bank.similarity(words.features)
        for place, card in enumerate(cards):
            shown = [n.similarity for n in card.nearest]
            assert shown == sorted(shown, reverse=True)
            assert len({n.word.casefold() for n in card.nearest}) == len(card.nearest)
            if card.served:
                own = similarity[similarity.argmax(-1) == place, place]
                assert shown[0] == pytest.approx(own.max().item(), abs=1e-5)

    def test_transport_is_that_of_a_training_step(self) -> None:
        model, words = copy.copy(prototype_model(small_model().model)), read_words()
        assert model is not None
        model.settings = replace(model.settings, solver="sinkhorn")
        found = flow(model, words)
        other = words.labels == 0
        assert found.by_people
        assert found.counts.sum() == other.sum() <= AT_ONCE
        similarity = model.bank.similarity(words.features)[other]
        expected = assign(similarity, words.labels[other], model.bank.class_of, model.transport, beta=model.beta.item())
        kept = int(expected.keep.sum())
        assert found.counts[:, 0].sum().item() == pytest.approx(kept, abs=2)  # the order of words rounds differently
        assert found.counts.sum(1).tolist() == torch.bincount(words.gold[other], minlength=3).tolist()

    def test_a_threshold_keeps_the_least_doubtful(self) -> None:
        model, words = prototype_model(small_model().model), read_words()
        assert model is not None
        assert model.settings.solver == "threshold"
        found = flow(model, words)
        other = words.labels == 0
        doubt = entity_probability(model.bank.similarity(words.features)[other], model.bank.class_of, 0.05)
        bar = doubt.double().quantile(model.beta.item()).clamp_max(0.5)
        assert found.counts[:, 0].sum().item() == pytest.approx(int((doubt <= bar).sum()), abs=2)
        assert found.counts.sum() == other.sum()

    def test_other_methods_have_none(self) -> None:
        assert prototype_model(small_model("tagger").model) is None


def invented(*rows: tuple[str, list[Span], list[Span] | None, list[tuple[Span, float]]]) -> Words:
    """Texts with the dictionary's spans, people's, and the model's."""
    documents = [Document(text, spans, gold=gold) for text, spans, gold, _ in rows]
    entities = [[Entity(span, score) for span, score in found] for _, _, _, found in rows]
    none = torch.zeros(0, dtype=torch.long)
    return Words(documents, entities, none, none, none, none, none, none, none)


class TestTerms:
    WORDS = invented(
        ("aspirin and Zinc", [Span(0, 7, "A")], None, [(Span(0, 7, "A"), 0.9), (Span(12, 16, "A"), 0.5)]),
        ("zinc, zinc", [], None, [(Span(0, 4, "A"), 0.7), (Span(6, 10, "B"), 0.6)]),
        ("Aspirin or gout", [], None, [(Span(0, 7, "B"), 0.9), (Span(11, 15, "B"), 1.0)]),
    )

    def test_coverage(self) -> None:
        assert [tuple(line) for line in coverage(self.WORDS, ("A", "B"))] == [("A", 1, 1, 3, 1), ("B", 0, 0, 3, 0)]

    def test_terms_that_are_lacking(self) -> None:
        """Zinc three times, twice as `zinc` and twice as A; gout once; aspirin is known, however it is written."""
        zinc, gout = new_terms(self.WORDS)
        assert (zinc.surface, zinc.type, zinc.count) == ("zinc", "A", 3)
        assert zinc.score == pytest.approx(0.6)
        assert (zinc.before, zinc.match, zinc.after) == ("", "zinc", ", zinc")
        assert (gout.surface, gout.type, gout.before) == ("gout", "B", "Aspirin or ")
        assert [term.surface for term in new_terms(self.WORDS, known=["GOUT"])] == ["zinc"]

    def test_the_whole_way(self) -> None:
        words = read_words()
        listed = {s.casefold() for s in demo.gazetteer().surfaces}
        terms = new_terms(words, demo.gazetteer().surfaces)
        assert not {term.surface.casefold() for term in terms} & listed
        found = Counter(
            words.documents[n].surface(e.span).casefold() for n, own in enumerate(words.entities) for e in own
        )
        assert all(found[term.surface.casefold()] == term.count for term in terms)


def test_hardest_sentences() -> None:
    words = invented(
        ("all is right", [], [Span(0, 3, "A")], [(Span(0, 3, "A"), 0.9)]),
        ("one is missed", [], [Span(0, 3, "A")], []),
        ("one is half right", [], [Span(0, 3, "A")], [(Span(0, 6, "A"), 0.3)]),
        ("no people here, and more found", [Span(0, 2, "A")], None, [(Span(0, 2, "A"), 1.0), (Span(3, 9, "A"), 1.0)]),
        ("no people here, and one not", [Span(0, 2, "A"), Span(3, 9, "A")], None, [(Span(3, 9, "B"), 1.0)]),
        ("long " * 400, [], [Span(0, 4, "A"), Span(1000, 1004, "A")], [(Span(0, 4, "A"), 1.0)]),
    )
    found = hardest(words, 10)
    assert [(hard.text[:12], round(hard.difference, 2), hard.by_people) for hard in found] == [
        ("no people he", 2.0, False),
        ("one is misse", 1.0, True),
        ("long long lo", 1.0, True),
        ("one is half ", 0.8, True),
    ]
    part = found[2]  # of a long text, where the two differ
    assert len(part.text) == 600
    ((start, end, _),) = part.right
    assert part.text[start:end] == "long"
    assert part.found == ()
    assert hardest(words, 1) == found[:1]


class TestCharts:
    @given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
    @example(131072.0, 1e-10)
    def test_ticks_are_few_and_enclose(self, low: float, width: float) -> None:
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
    def test_marks_below_are_whole_steps(self, xs: tuple[int, ...], marks: list[str]) -> None:
        drawn = line_chart([Curve("a", tuple((x, 1.0) for x in xs))])
        assert re.findall(r'class="across"[^>]*>([^<]*)<', drawn) == marks

    @given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=5), min_size=1, max_size=9))
    def test_lines_are_drawn_inside(self, values: list[list[float]]) -> None:
        found = [Curve(f"<{n}>", tuple(enumerate(own))) for n, own in enumerate(values)]
        drawn = ET.fromstring(f"<div>{line_chart(found)}</div>")
        lines = [path for path in drawn.findall("svg/path") if "curve" in path.attrib["class"]]
        assert len(lines) == len(values)
        for path in lines:
            points = path.attrib["d"].removesuffix("h.1")[1:].split("L")
            for x, y in (map(float, point.split()) for point in points):
                assert 0 <= x <= 640
                assert 0 <= y <= 220

    def test_thirty_six_kinds_differ(self) -> None:
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
        assert {y for _, y in found["Words a second"][0].points} == {100}
        b = next(curve for curve in found["Similarity to the prototypes of the own class"] if curve.name == "B")
        assert {y for _, y in b.points} == {1}  # 0: there was no such word
        assert curves([]) == {}
