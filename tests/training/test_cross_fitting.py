"""Cross-fitting: which words a model learns and predicts, which labels the next one learns, and how a run is resumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, groupby
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import one_hot

from encoders import write_roberta
from mproto import Document, demo, train
from mproto.denoising.relabelling import Relabelled
from mproto.denoising.threshold import Threshold
from mproto.errors import InputError
from mproto.extensions.viterbi import most_likely, transitions
from mproto.models.base import Model, inference
from mproto.models.encoder import Encoder
from mproto.models.mproto import ROUNDS, MProtoModel
from mproto.models.registry import METHODS, get_method
from mproto.persistence.card import EXPECTED, RECOMMENDED
from mproto.text.document import WordSpan
from mproto.training import cross_fitting as cross_fitting_module
from mproto.training.calibration import BiasAndTemperature
from mproto.training.cross_fitting import (
    FOLDS,
    MIN_WINDOWS,
    PARTS,
    CrossFitting,
    divide_words,
    find_cross_fitting,
    tag_numbers,
)
from mproto.training.data import Data
from mproto.training.loop import Loop, State
from mproto.training.selection import Average, Selection
from runs import labelled, prepare, small_config

LABELS = ("Chemical", "Disease")
COUNT, OWN = 20, 20  # documents in five batches, and steps of the last model: every stage is one epoch
MANY = 32  # documents that are divided into three parts
TWO = "training.cross_fitting=2"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_roberta(tmp_path_factory.mktemp("encoder"), positions=200))


def build(tiny: str, method: str, *settings: str) -> Model:
    torch.manual_seed(0)
    return get_method(method).build(Encoder.load(tiny), LABELS, small_config(*settings, method=method))


def find(data: Data, model: Model, method: str, *settings: str) -> CrossFitting | None:
    return find_cross_fitting(data, model, small_config(*settings, method=method))


def fitting(model: Model, data: Data, rounds: int = ROUNDS) -> CrossFitting:
    return CrossFitting(data, model, small_config().training, rounds)


def new_loop(
    tiny: str, method: str, *settings: str, own: int = OWN, count: int = COUNT, selection: Selection | None = None
) -> Loop:
    """Return a run; with `MANY` documents, three models follow the judges, and two of the documents are human-labelled."""
    settings = (f"training.min_steps={own}", "training.batch_size=4", *settings)
    model = build(tiny, method, *settings)
    human = labelled(MANY + 2)[MANY:] if count == MANY else []
    data = Data.of(labelled(count), model, human)
    config = small_config(*settings, method=method)
    fit = find(data, model, method, *settings)
    return Loop(model, data, config.training, selection or Average(0.5), cross_fitting=fit)


@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 6), st.integers(0, 5))
def test_each_part_has_one_of_the_next_frequent_words(words: list[int], parts: int, seed: int) -> None:
    ids = torch.tensor(words, dtype=torch.long).unique(return_inverse=True)[1]  # type: ignore[no-untyped-call]
    found = divide_words(ids, parts, seed)
    counts = torch.bincount(ids)
    assert found.shape == counts.shape
    assert torch.equal(found, divide_words(ids, parts, seed))
    by_frequency = found[counts.argsort(descending=True, stable=True)].tolist()
    for start in range(0, len(by_frequency), parts):
        group = by_frequency[start : start + parts]
        assert len(set(group)) == len(group)
        assert set(group) <= set(range(parts))
        if len(group) == parts:
            assert set(group) == set(range(parts))


def test_the_parts_depend_on_the_seed() -> None:
    words = torch.arange(100)
    assert not torch.equal(divide_words(words, FOLDS, 0), divide_words(words, FOLDS, 1))


class Seen(NamedTuple):
    """What the model was given in one training step."""

    stage: int
    words: set[int]
    progress: float


class Predicted(NamedTuple):
    """What a judge predicted.

    Attributes:
        stage: the number of the judge.
        rows: (N,) bool, the words.
        learnt: (N,) bool, the words that were not left out in this round.
    """

    stage: int
    rows: Tensor
    learnt: Tensor


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Seen]:
    """The steps of all models that are trained from now on."""
    found: list[Seen] = []

    def record(original: Any) -> Any:
        def step(self: Model, batch: Any, progress: float) -> Any:
            found.append(Seen(self.stage, set(batch.words.tolist()), progress))
            return original(self, batch, progress)

        return step

    for method in ("mproto", "tagger"):
        monkeypatch.setattr(METHODS[method], "step", record(METHODS[method].step))
    return found


@pytest.fixture
def predicted(monkeypatch: pytest.MonkeyPatch) -> list[Predicted]:
    """What is predicted from now on; each prediction is compared with that of the model for the document alone."""
    found: list[Predicted] = []
    finish = CrossFitting.finish

    def record(self: CrossFitting, stage: int, model: Model) -> dict[str, float]:
        before = self.state()["log_probabilities"].clone()
        left_out = self.relabelled.left_out
        predictions = alone(model, replace(self.relabelled, left_out=None))
        learnt = torch.ones(len(before), dtype=torch.bool) if left_out is None else ~left_out
        logs = finish(self, stage, model)
        added = self.state()["log_probabilities"] - before  # those of all rounds are summed
        rows = added.any(-1)
        torch.testing.assert_close(added[rows], predictions[rows], atol=1e-4, rtol=0)
        found.append(Predicted(stage, rows, learnt))
        return logs

    monkeypatch.setattr(CrossFitting, "finish", record)
    return found


def alone(model: Model, data: Data) -> Tensor:
    """Return the log-probabilities (N, K) that a model gives to all words, one document at a time."""
    parts = []
    with inference(model):
        for index in range(len(data.windows)):
            by_tag = model.decide(data.batch([index])).answers[0].exp()
            classes = torch.tensor(model.class_of_tag)
            parts.append(torch.stack([by_tag[:, classes == number].sum(-1) for number in range(3)], -1))
    return torch.cat(parts).log()


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_every_word_is_predicted_once_in_a_round_by_a_model_that_was_not_trained_on_it(
    method: str, tiny: str, steps: list[Seen], predicted: list[Predicted]
) -> None:
    loop = new_loop(tiny, method, TWO)
    loop.start()
    history = list(loop.run())
    assert len(history) == 3 * OWN
    assert [one.stage for one in predicted] == list(range(2 * FOLDS))
    words = loop.data.flat_words
    for start in (0, FOLDS):
        times = torch.stack([one.rows for one in predicted[start : start + FOLDS]]).sum(0)
        assert times.eq(1).all()
    for stage, rows, learnt in predicted:
        held_out = set(words[rows].tolist())
        trained = set().union(*(step.words for step in steps if step.stage == stage - 2 * FOLDS))
        assert held_out
        assert trained == set(words[learnt].tolist()) - held_out
    assert not all(one.learnt.all() for one in predicted)
    own = [step for step in steps if step.stage == 0]
    assert loop._cross_fitting
    left_out = loop._cross_fitting.relabelled.left_out
    assert left_out is not None
    assert set().union(*(step.words for step in own)) == set(words[~left_out].tolist())
    assert [step.progress for step in own] == pytest.approx([number / OWN for number in range(OWN)])
    judges = [step.progress for step in steps if step.stage < 0]
    assert judges == pytest.approx([number / (OWN // 4) for number in range(OWN // 4)] * (2 * FOLDS))
    first_round = FOLDS * OWN // 4
    assert [one.step for one in history if "unlabelled" in one.logs] == [first_round + 1]


def test_the_parts_of_the_second_round_are_others(tiny: str) -> None:
    """Otherwise, words that were held out together would never be seen together."""
    model = build(tiny, "tagger")
    fit = fitting(model, Data.of(labelled(COUNT), model))
    words = fit.data(0).flat_words
    parts = [frozenset(words[fit.data(stage).left_out].tolist()) for stage in range(2 * FOLDS)]
    assert not set(parts[:FOLDS]) & set(parts[FOLDS:])


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_every_model_starts_from_the_pretrained_weights(
    method: str, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Except for prototypes and transition scores, which are initialised from its training data."""
    kind = get_method(method)
    starts: dict[int, dict[str, Tensor]] = {}
    original = kind.step

    def step(self: Model, batch: Any, progress: float) -> Any:
        if self.stage not in starts:
            starts[self.stage] = {name: value.clone() for name, value in self.state_dict().items()}
            assert not loop.optimiser.state
        return original(self, batch, progress)

    monkeypatch.setattr(kind, "step", step)
    loop = new_loop(tiny, method, TWO, own=8)
    expected = build(tiny, method).state_dict()
    loop.start()
    for _ in loop.run():
        pass
    assert sorted(starts) == list(range(-2 * FOLDS, 1))
    for weights in starts.values():
        for name in expected.keys() - {"bank.vectors", "transitions"}:
            assert torch.equal(weights[name], expected[name]), name
    if isinstance(loop.model, MProtoModel):
        assert loop._cross_fitting
        counted = transitions(loop._cross_fitting.relabelled.tags, 3)
        torch.testing.assert_close(loop.model.transitions, counted)
        first, last = (starts[stage]["bank.vectors"] for stage in (-2 * FOLDS, 0))
        assert not torch.equal(first, last)


def test_a_model_knows_nothing_of_the_denoising_of_the_one_before(tiny: str) -> None:
    settings = ("mproto.denoising=threshold", "mproto.beta=0.9", "mproto.denoise_after=0", "training.cross_fitting=1")
    loop = new_loop(tiny, "mproto", *settings, own=8)
    loop.start()
    assert isinstance(loop.model, MProtoModel)
    assert isinstance(loop.model.denoiser, Threshold)
    stages: set[int] = set()
    for progress in loop.run():
        remembered = int((loop.model.denoiser.memory.weights > 0).sum())
        if loop.model.stage not in stages:
            assert 0 < remembered <= progress.words
        stages.add(loop.model.stage)
    assert len(stages) == FOLDS + 1


def change_everything(predictions: Tensor, _: Tensor, distant: Tensor, *__: object) -> Relabelled:
    """Relabel each word with the next class, and leave out every third one."""
    labels = (distant + 1) % predictions.shape[1]
    return Relabelled(one_hot(labels, 3).double(), labels, torch.arange(len(labels)) % 3 == 0)


def change_nothing(_: Tensor, __: Tensor, distant: Tensor, *___: object) -> Relabelled:
    return Relabelled(one_hot(distant, 3).double(), distant, torch.zeros_like(distant, dtype=torch.bool))


TOUCHING = Document.from_words(["a", "b", "c"], [WordSpan(0, 1, "Disease"), WordSpan(1, 2, "Disease")])


def finish(fit: CrossFitting, model: Model, stages: Iterable[int]) -> None:
    for stage in stages:
        fit.finish(stage, model)


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_the_next_round_learns_the_new_labels_except_those_of_humans(
    method: str, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_fitting_module, "relabel", change_everything)
    model = build(tiny, method)
    data = Data.of(labelled(30)[10:], model, [*labelled(10), TOUCHING])
    prepare(model, data)
    fit = fitting(model, data)
    classes = torch.tensor(model.class_of_tag)
    own = sum(map(len, data.tags[:20]))
    doubted = torch.arange(len(data.flat_words)) % 3 == 0
    doubted[own:] = False  # those of humans
    for stage in range(2 * FOLDS + 1):
        one = fit.data(stage) if stage < 2 * FOLDS else fit.part(0)
        tags, left_out = one.tags, one.left_out
        assert tags[20:] == data.tags[20:]
        parts = divide_words(data.flat_words, FOLDS, small_config().training.seed + stage // FOLDS)
        held_out = (parts == stage % FOLDS)[data.flat_words]
        expected = held_out if stage < FOLDS else held_out | doubted if stage < 2 * FOLDS else doubted
        assert left_out is not None
        assert torch.equal(left_out, expected)
        if stage < FOLDS:
            assert tags == data.tags
        else:
            for before, after in zip(data.tags[:20], tags[:20], strict=True):
                assert torch.equal(classes[after], (classes[before] + 1) % 3)
        finish(fit, model, [stage] if stage < 2 * FOLDS else [])
    assert any(any(tags) for tags in data.tags[20:])


def test_the_predictions_of_all_rounds_are_averaged(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Tensor] = []

    def record(predictions: Tensor, *arguments: Any) -> Relabelled:
        used.append(predictions)
        return change_nothing(predictions, *arguments)

    monkeypatch.setattr(cross_fitting_module, "relabel", record)
    first, second = build(tiny, "tagger"), build(tiny, "tagger")
    torch.nn.init.normal_(second.head.weight, std=0.3)  # type: ignore[union-attr, arg-type]
    data = Data.of(labelled(COUNT), first)
    fit = fitting(first, data)
    finish(fit, first, range(FOLDS))
    finish(fit, second, range(FOLDS, 2 * FOLDS))
    one, other = alone(first, data), alone(second, data)
    assert not torch.allclose(one, other, atol=0.1)
    for found, expected in zip(used, (one, (one + other) / 2), strict=True):
        torch.testing.assert_close(found, expected.log_softmax(-1), atol=1e-4, rtol=0)


def test_words_that_only_human_labelled_documents_have_change_no_label(tiny: str) -> None:
    """The same model predicts all parts, so that the division of the vocabulary does not matter."""
    model = build(tiny, "mproto")
    human = [Document.from_words([f"quokka{number}", "qux"], [WordSpan(0, 1, "Disease")]) for number in range(50)]
    plain, mixed = Data.of(labelled(80), model), Data.of(labelled(80), model, human)
    prepare(model, plain)
    labels = []
    for data in (plain, mixed):
        fit = fitting(model, data, rounds=1)
        finish(fit, model, range(FOLDS))
        assert fit.relabelled.tags[80:] == data.tags[80:]
        labels.append(fit.relabelled.tags[:80])
    assert labels[0] == labels[1] != plain.tags


@pytest.mark.parametrize("labels", [change_nothing, change_everything])
@pytest.mark.parametrize("scheme", ["io", "bio"])
def test_all_labels_are_the_same_after_restoring(
    labels: Any, scheme: str, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two entities of one type may touch each other."""
    monkeypatch.setattr(cross_fitting_module, "relabel", labels)
    model = build(
        tiny, "tagger" if scheme == "bio" else "mpn", "positive_unlabelled.priors={Chemical=0.1, Disease=0.1}"
    )
    assert model.scheme == scheme
    data = Data.of([*labelled(COUNT), TOUCHING], model)
    fit = fitting(model, data)
    for stage in range(2 * FOLDS):
        fit.finish(stage, model)
        other = fitting(model, data)
        other.restore({name: value.clone() for name, value in fit.state().items()}, model)
        for later in range(stage + 1, 2 * FOLDS + 1):
            judge = later < 2 * FOLDS
            one, same = (f.data(later) if judge else f.part(0) for f in (fit, other))
            assert same.tags == one.tags
            assert (same.left_out is None) == (one.left_out is None) == (stage < FOLDS - 1 and not judge)
            if one.left_out is not None and same.left_out is not None:
                assert torch.equal(same.left_out, one.left_out)
    assert other.outlook == fit.outlook


Place = tuple[int, int]
"""A window: its document and its first word."""


def places(data: Data) -> list[Place]:
    return [(window.document, window.start) for window in data.windows]


@settings(max_examples=25)
@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=70),
    st.lists(st.integers(1, 300), max_size=4),
    st.integers(0, 3),
)
def test_each_window_without_human_labels_is_unseen_by_one_part(
    models: dict[str, Model], own: list[int], human: list[int], seed: int
) -> None:
    """Long documents have several windows, which may be in different parts."""
    texts = [Document.from_words(["hello", *["of"] * (length - 1)]) for length in (*own, *human)]
    data = Data.of(texts[: len(own)], models["tagger"], texts[len(own) :])
    config = small_config(f"training.seed={seed}").training
    fit, same = (CrossFitting(data, models["tagger"], config, 1) for _ in range(2))
    unsure = [place for place in places(data) if place[0] < len(own)]
    assert fit.parts == (PARTS if len(unsure) >= MIN_WINDOWS else 1)
    assert fit.calibration == (0.0, 1.0)
    seen = [places(fit.part(number)) for number in range(fit.parts)]
    for number, one in enumerate(seen):
        assert len(one) == len(set(one))
        assert {place for place in places(data) if place[0] >= len(own)} <= set(one)
        assert one == places(same.part(number))
        assert (fit.part(number).tags, fit.part(number).words) == (data.tags, data.words)
    missing = [set(places(data)) - set(one) for one in seen]
    if fit.parts == 1:
        assert missing == [set()]
    else:
        assert sorted(place for part in missing for place in part) == sorted(unsure)
        assert max(map(len, missing)) - min(map(len, missing)) <= 1


def test_another_seed_divides_the_text_differently(models: dict[str, Model]) -> None:
    data = Data.of(labelled(MANY), models["tagger"])
    one, other = (
        CrossFitting(data, models["tagger"], small_config(f"training.seed={seed}").training, 1) for seed in (0, 1)
    )
    assert places(one.part(0)) != places(other.part(0))


class Start(NamedTuple):
    """What a model began with."""

    weights: dict[str, Tensor]
    windows: set[Place]


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[Start]:
    """The models whose weights are averaged, from now on: their first weights, and all windows that they learnt."""
    found: list[Start] = []

    def record(original: Any) -> Any:
        before = [-1]

        def step(self: Model, batch: Any, progress: float) -> Any:
            if self.stage == 0:
                if before[0] != 0 or progress == 0:
                    found.append(Start(copies(self), set()))
                found[-1].windows.update((window.document, window.start) for window in batch.windows)
            before[0] = self.stage
            return original(self, batch, progress)

        return step

    for method in ("mproto", "tagger"):
        monkeypatch.setattr(METHODS[method], "step", record(METHODS[method].step))
    return found


def copies(model: Model) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_models_start_alike_and_predict_what_they_have_not_seen(
    method: str, tiny: str, starts: list[Start], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[tuple[Tensor, Tensor]] = []
    compared: list[Tensor] = []
    unseen: list[tuple[Tensor, Tensor]] = []
    finish_part, compare_ = CrossFitting.finish_part, cross_fitting_module.compare

    def fit_both(predictions: Tensor, target: Tensor) -> BiasAndTemperature:
        fitted.append((predictions, target))
        return BiasAndTemperature(1.5, 3.0)

    def record(self: CrossFitting, number: int, model: Model) -> None:
        assert self.calibration == (0.0, 1.0)
        before = self.state()["unseen"].clone()
        finish_part(self, number, model)
        rows = (self.state()["unseen"] != before).any(-1)
        unseen.append((rows, alone(model, loop.data)))

    def compare(probabilities: Tensor, distant: Tensor, decided: Tensor) -> Any:
        compared.append(decided)
        return compare_(probabilities, distant, decided)

    monkeypatch.setattr(cross_fitting_module, "fit_bias_and_temperature", fit_both)
    monkeypatch.setattr(cross_fitting_module, "compare", compare)
    monkeypatch.setattr(CrossFitting, "finish_part", record)
    loop = new_loop(tiny, method, TWO, own=30, count=MANY)
    loop.start()
    history = list(loop.run())
    assert len(history) == 2 * FOLDS * 8 - 4 + PARTS * 20
    assert len(starts) == len(unseen) == PARTS
    for start in starts[1:]:
        for name, value in starts[0].weights.items():
            assert torch.equal(start.weights[name], value), name
    every = set(places(loop.data))
    human = {(document, 0) for document in (MANY, MANY + 1)}
    missing = [every - start.windows for start in starts]
    assert sorted(place for part in missing for place in part) == sorted(every - human)
    expected = torch.zeros_like(unseen[0][1])
    for part, (rows, predictions) in zip(missing, unseen, strict=True):
        own = torch.cat([torch.full((len(tags),), (i, 0) in part) for i, tags in enumerate(loop.data.tags)])
        assert torch.equal(rows, own)
        expected[own] = predictions[own]
    ((predictions, target),) = fitted
    torch.testing.assert_close(predictions, expected[: len(predictions)], atol=1e-4, rtol=0)
    assert loop._cross_fitting
    assert loop._cross_fitting.calibration == (1.5, 3.0)
    torch.testing.assert_close(target.sum(-1), torch.ones(len(target), dtype=torch.float64))
    shifted = torch.cat([predictions[:, :1], predictions[:, 1:] + 1.5], -1).log_softmax(-1)
    classes = torch.tensor(loop.model.class_of_tag)
    documents = [classes[torch.tensor(tags)].tolist() for tags in loop.data.tags[:MANY]]
    decided = most_likely(shifted, [len(tags) for tags in documents], transitions(documents, 3))
    assert compared[-1].tolist() == decided.tolist()
    outlook = loop._cross_fitting.outlook
    assert outlook.model == compare_(target, torch.tensor(list(chain(*documents))), decided).model


class Watched(Average):
    """An average that also records what it is given."""

    def __init__(self, share: float) -> None:
        super().__init__(share)
        self.seen: list[tuple[int, int, dict[str, Tensor]]] = []

    def after_step(self, model: Model, step: int, steps: int) -> None:
        self.seen.append((step, steps, copies(model)))
        super().after_step(model, step, steps)


@pytest.mark.parametrize(
    ("method", "setting"),
    [("mproto", "dropout=0"), ("mproto", "mproto.prototype_update=raw"), ("tagger", "dropout=0")],
)
def test_the_last_fifth_of_each_model_is_averaged(method: str, setting: str, tiny: str) -> None:
    selection = Watched(0.2)
    one = ("training.cross_fitting=1", "training.learning_rate=0.005", setting)
    loop = new_loop(tiny, method, *one, own=30, count=MANY, selection=selection)
    loop.start()
    for _ in loop.run():
        pass
    assert [(step, steps) for step, steps, _ in selection.seen] == [(step, 20) for step in range(1, 21)] * PARTS
    last = [weights for step, _, weights in selection.seen if step > 16]
    assert len(last) == 4 * PARTS
    found = loop.model.state_dict()
    for name, value in found.items():
        if not value.is_floating_point():
            continue
        mean = torch.stack([weights[name] for weights in last]).mean(0)
        if name == "bank.vectors" and "raw" not in setting:
            assert mean.norm(dim=-1).min() < 0.9999
            mean = torch.nn.functional.normalize(mean, dim=-1)
            torch.testing.assert_close(value.norm(dim=-1), torch.ones(len(value)))
        torch.testing.assert_close(value, mean, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("count", "dev"), [(MANY, False), (MANY, True), (COUNT, False)])
def test_the_trained_model_has_the_bias_and_the_temperature(
    count: int, dev: bool, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a division of the text there is none, and human labels say more."""
    monkeypatch.setattr(cross_fitting_module, "fit_bias_and_temperature", lambda *_: BiasAndTemperature(0.75, 3.0))
    config = small_config("training.cross_fitting=1", method="tagger", encoder=tiny)
    result = train(labelled(count), dev=demo.documents("dev")[:4] if dev else None, config=config)
    model = result.recognizer.model
    assert model.entity_bias == (0.75 if count == MANY and not dev else 0.0)
    if not dev:
        assert model.calibration == (3.0 if count == MANY else 1.0)
    assert result.recommended in ("both", "model", "terms")


def test_how_many_words_are_added_and_left_out(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_fitting_module, "relabel", change_everything)
    config = small_config("training.cross_fitting=1", method="tagger", encoder=tiny)
    documents = labelled(COUNT)
    result = train(documents, config=config)
    labelled_words = [
        any(span.start <= word < span.end for span in document.word_spans)
        for document in documents
        for word in range(document.word_count)
    ]
    learnt = [entity for number, entity in enumerate(labelled_words) if number % 3]
    assert result.relabelled == {"added": learnt.count(False), "left_out": len(labelled_words) - len(learnt)}


def test_a_model_that_teaches_itself_begins_anew_in_each_part(tiny: str) -> None:
    """It has no teacher, and counts its steps from the start."""
    settings = ("training.cross_fitting=1", "self_training.teacher=tagger")
    loop = new_loop(tiny, "self-training", *settings, own=9, count=MANY)
    loop.start()
    known = [loop.model.working_state().keys() for _ in loop.run() if loop.model.stage == 0]
    assert len(known) >= PARTS
    assert not any(name.startswith(("teacher", "steps_taught")) for names in known for name in names)


CLASSES = st.lists(st.integers(0, 2), max_size=12)


@given(CLASSES)
@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_a_run_of_words_of_one_class_is_one_entity(method: str, models: dict[str, Model], classes: list[int]) -> None:
    """Compared with a grouping of the classes."""
    model = models[method]
    expected: list[str] = []
    for number, own in groupby(classes):
        length = len(list(own))
        first = "B" if model.scheme == "bio" else "I"
        label = LABELS[number - 1]
        expected += [f"{first}-{label}", *[f"I-{label}"] * (length - 1)] if number else ["O"] * length
    found = tag_numbers(classes, model)
    assert [model.tags[number] for number in found] == expected
    assert [model.class_of_tag[number] for number in found] == classes


@pytest.fixture(scope="module")
def models(tiny: str) -> dict[str, Model]:
    return {method: build(tiny, method) for method in ("mproto", "tagger")}


@pytest.mark.parametrize("setting", ["method=mproto", "method=tagger", "self_training.teacher=tagger"])
@pytest.mark.parametrize("count", [COUNT, MANY])
def test_a_run_is_resumed_at_and_around_the_ends_of_stages(setting: str, count: int, tiny: str) -> None:
    """The stages are shorter than an epoch. Resumed are steps before, at and after each end of one."""
    kind, _, name = setting.partition("=")
    method, further = (name, TWO) if kind == "method" else ("self-training", setting)
    torch.manual_seed(0)
    whole = new_loop(tiny, method, TWO, further, own=9, count=count)
    whole.start()
    states = [copied(whole.state()) for _ in whole.run()]
    expected = whole.model.state_dict()
    schedule, stages = whole._schedule, len(whole._stages.all)
    assert stages == 2 * FOLDS + (PARTS if count == MANY else 1) * (2 if method == "self-training" else 1)
    assert len(states) == schedule.start_of(stages) == schedule.steps
    ends = [schedule.start_of(number) for number in range(FOLDS - 1, stages + 1)]
    for step in sorted({end + offset for end in ends for offset in (-1, 0, 1)} & set(range(1, len(states)))):
        other = new_loop(tiny, method, TWO, further, own=9, count=count)
        torch.manual_seed(99)
        other.restore(copied(states[step - 1]))
        assert [progress.step for progress in other.run()] == list(range(step + 1, len(states) + 1))
        for name, value in other.model.state_dict().items():
            assert torch.equal(value, expected[name]), (step, name)
        one, same = whole._cross_fitting, other._cross_fitting
        assert one
        assert same
        assert (same.calibration, same.outlook) == (one.calibration, one.outlook)


@pytest.mark.parametrize("count", [COUNT, MANY])
def test_a_run_is_resumed_after_its_last_step(count: int, tiny: str) -> None:
    """It may have been stopped before its model was saved."""
    whole = new_loop(tiny, "mproto", TWO, own=8, count=count)
    whole.start()
    for progress in whole.run():
        state = copied(whole.state()) if progress.step == progress.steps else None
    assert state
    other = new_loop(tiny, "mproto", TWO, own=8, count=count)
    other.restore(state)
    assert not list(other.run())
    expected = whole.model.state_dict()
    for name, value in other.model.state_dict().items():
        assert torch.equal(value, expected[name]), name
    assert whole._cross_fitting
    assert other._cross_fitting
    assert other._cross_fitting.outlook == whole._cross_fitting.outlook


def copied(state: State) -> State:
    return State({name: value.clone() for name, value in state.tensors.items()}, state.values)


def found(tiny: str, method: str, *settings: str) -> CrossFitting | None:
    model = build(tiny, method, *settings)
    return find(Data.of(labelled(4), model), model, method, *settings)


class TestFind:
    """`find_cross_fitting`."""

    @pytest.mark.parametrize(
        ("method", "setting"), [("mproto", "dropout=0"), ("self-training", "self_training.teacher=mproto")]
    )
    def test_the_default_has_two_rounds(self, method: str, setting: str, tiny: str) -> None:
        fit = found(tiny, method, setting)
        assert fit
        assert len(fit.stages) == 2 * FOLDS
        assert not any(stage.counts for stage in fit.stages)

    @pytest.mark.parametrize("method", sorted(METHODS.keys() - {"mproto"}))
    def test_baselines_have_no_round_by_default(self, method: str, tiny: str) -> None:
        assert found(tiny, method) is None

    @pytest.mark.parametrize("denoising", ["none", "threshold", "transport"])
    def test_other_denoising_has_no_round_by_default(self, denoising: str, tiny: str) -> None:
        assert found(tiny, "mproto", f"mproto.denoising={denoising}") is None

    @pytest.mark.parametrize("method", ["autoner", "negative-sampling-span"])
    def test_methods_that_do_not_tag_words_one_by_one(self, method: str, tiny: str) -> None:
        with pytest.raises(InputError, match=f"cross_fitting is 2, but the method {method} does not tag words one by"):
            found(tiny, method, TWO)

    @pytest.mark.parametrize(("method", "setting"), [("mproto", "mproto.denoising=threshold"), ("mpu", "dropout=0")])
    def test_methods_with_a_hold_out_phase(self, method: str, setting: str, tiny: str) -> None:
        with pytest.raises(InputError, match=f"cross_fitting is 2, but the method {method} has a hold-out phase"):
            found(tiny, method, setting, TWO)

    @pytest.mark.parametrize("method", ["mproto", "autoner", "mpu"])
    def test_nothing_is_done_if_all_documents_are_human_labelled(self, method: str, tiny: str) -> None:
        model = build(tiny, method)
        assert find(Data.of([], model, labelled(4)), model, method, TWO) is None


def test_the_tagger_with_one_round(tiny: str) -> None:
    config = small_config("training.min_steps=8", "training.cross_fitting=1", method="tagger", encoder=tiny)
    result = train(labelled(), config=config)
    assert result.steps == 4 * 2 + 2 * 8  # three models follow, with two thirds of eight steps each
    assert result.unlabelled_share is not None
    assert 0 < result.unlabelled_share < 1
    card = result.recognizer.card
    assert card[RECOMMENDED] == result.recommended
    assert card[EXPECTED].keys() == {"both", "model", "terms"}
    plain = train(labelled(), config=config.with_values({"training": {"cross_fitting": 0}}))
    assert (plain.steps, plain.unlabelled_share, plain.recommended) == (8, None, None)
