"""Cross-fitting: which words a model learns and predicts, which labels the next one learns, and how a run is resumed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from encoders import write_roberta
from mproto import Document, train
from mproto.denoising.relabelling import Relabelled
from mproto.denoising.threshold import Threshold
from mproto.errors import InputError
from mproto.extensions.viterbi import transitions
from mproto.models.base import Model, inference
from mproto.models.encoder import Encoder
from mproto.models.mproto import ROUNDS, MProtoModel
from mproto.models.registry import METHODS, get_method
from mproto.persistence.card import EXPECTED, RECOMMENDED
from mproto.text.document import WordSpan
from mproto.training import cross_fitting as cross_fitting_module
from mproto.training.cross_fitting import FOLDS, CrossFitting, divide_words, find_cross_fitting, tag_numbers
from mproto.training.data import Data
from mproto.training.loop import Loop, State
from mproto.training.selection import Average
from runs import labelled, prepare, small_config

LABELS = ("Chemical", "Disease")
COUNT, OWN = 20, 20  # documents in five batches, and steps of the last model: every stage is one epoch
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


def new_loop(tiny: str, method: str, *settings: str, own: int = OWN) -> Loop:
    settings = (f"training.min_steps={own}", "training.batch_size=4", *settings)
    model = build(tiny, method, *settings)
    data = Data.of(labelled(COUNT), model)
    config = small_config(*settings, method=method)
    return Loop(model, data, config.training, Average(0.5), cross_fitting=find(data, model, method, *settings))


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
    """The words (N,) bool that were predicted at the end of a stage."""

    stage: int
    rows: Tensor


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
        logs = finish(self, stage, model)
        added = self.state()["log_probabilities"] - before  # those of all rounds are summed
        rows = added.any(-1)
        torch.testing.assert_close(added[rows], alone(model, self.relabelled)[rows], atol=1e-4, rtol=0)
        found.append(Predicted(stage, rows))
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
    for stage, rows in predicted:
        held_out = set(words[rows].tolist())
        trained = set().union(*(step.words for step in steps if step.stage == stage - 2 * FOLDS))
        assert held_out
        assert trained == set(words.tolist()) - held_out
    own = [step for step in steps if step.stage == 0]
    assert set().union(*(step.words for step in own)) == set(words.tolist())
    assert [step.progress for step in own] == pytest.approx([number / OWN for number in range(OWN)])
    assert {step.progress for step in steps if step.stage < 0} == {0.0}
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


def change_everything(log_probabilities: Tensor, distant: Tensor, *_: object) -> Relabelled:
    """Relabel each word with the next class."""
    labels = (distant + 1) % log_probabilities.shape[1]
    return Relabelled(torch.nn.functional.one_hot(labels, 3).double(), labels)


def change_nothing(log_probabilities: Tensor, distant: Tensor, *_: object) -> Relabelled:
    return Relabelled(torch.nn.functional.one_hot(distant, 3).double(), distant)


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
    human = torch.tensor([tag for tags in data.tags[20:] for tag in tags])
    certain = torch.nn.functional.one_hot(classes[human], 3)
    for stage in range(2 * FOLDS + 1):
        tags, probabilities = fit.data(stage).tags, fit.data(stage).probabilities
        assert tags[20:] == data.tags[20:]
        assert (probabilities is None) == (stage < FOLDS)
        assert probabilities is None or torch.equal(probabilities[-len(human) :], certain.float())
        if stage < FOLDS:
            assert tags == data.tags
        else:
            for before, after in zip(data.tags[:20], tags[:20], strict=True):
                assert torch.equal(classes[after], (classes[before] + 1) % 3)
        finish(fit, model, [stage] if stage < 2 * FOLDS else [])
    assert any(any(tags) for tags in data.tags[20:])


def test_the_predictions_of_all_rounds_are_averaged(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Tensor] = []

    def record(log_probabilities: Tensor, *arguments: Any) -> Relabelled:
        used.append(log_probabilities)
        return change_nothing(log_probabilities, *arguments)

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
            one, same = fit.data(later), other.data(later)
            assert same.tags == one.tags
            assert (same.probabilities is None) == (one.probabilities is None) == (stage < FOLDS - 1)
            if one.probabilities is not None and same.probabilities is not None:
                assert torch.equal(same.probabilities, one.probabilities)
    assert other.outlook == fit.outlook


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


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_a_run_is_resumed_at_and_around_the_ends_of_stages(method: str, tiny: str) -> None:
    """Stages have two steps, and epochs five. The steps are those of the last model of the first round, of the second round
    and of the model that is kept.
    """
    torch.manual_seed(0)
    whole = new_loop(tiny, method, TWO, own=8)
    whole.start()
    states = [copied(whole.state()) for _ in whole.run()]
    assert len(states) == 24
    expected = whole.model.state_dict()
    for state in [states[0], *states[6:18], states[21]]:
        other = new_loop(tiny, method, TWO, own=8)
        torch.manual_seed(99)
        other.restore(state)
        assert [progress.step for progress in other.run()] == list(range(state.values["step"] + 1, 25))
        for name, value in other.model.state_dict().items():
            assert torch.equal(value, expected[name]), (state.values["step"], name)


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
    assert result.steps == 16
    assert result.unlabelled_share is not None
    assert 0 < result.unlabelled_share < 1
    card = result.recognizer.card
    assert card[RECOMMENDED] == result.recommended
    assert card[EXPECTED].keys() == {"both", "model", "terms"}
    plain = train(labelled(), config=config.with_values({"training": {"cross_fitting": 0}}))
    assert (plain.steps, plain.unlabelled_share, plain.recommended) == (8, None, None)
