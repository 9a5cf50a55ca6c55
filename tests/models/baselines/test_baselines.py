"""All methods through their common interface: training, resuming, saving, loading, and errors."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from encoders import write_roberta
from mproto import Recognizer, demo, train
from mproto.config import Config, load_config
from mproto.denoising.estimate import UnlabelledEstimate
from mproto.errors import InputError
from mproto.models.base import Model, Stage
from mproto.models.baselines import self_training
from mproto.models.baselines.conf_mpu import ConfMPUModel
from mproto.models.baselines.positive_unlabelled import PositiveUnlabelledModel
from mproto.models.baselines.self_training import SelfTrainingModel
from mproto.models.batch import Batch, only_words
from mproto.models.encoder import Encoder
from mproto.models.registry import METHODS, get_method
from mproto.training.data import Data
from mproto.training.loop import Loop, Progress, State
from mproto.training.selection import Average
from runs import labelled, prepare

LABELS = ("Chemical", "Disease")
PRIORS = ["positive_unlabelled.priors.Chemical=0.1", "positive_unlabelled.priors.Disease=0.1"]
SMALL = ["training.epochs=0", "training.min_steps=6", "training.batch_size=8", "training.learning_rate=1e-3"]
ON_TOP = [f"self-training on {name}" for name in ("mproto", "negative-sampling-span", "conf-mpu", "autoner")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_roberta(tmp_path_factory.mktemp("encoder"), positions=200))


@pytest.fixture(autouse=True)
def refresh_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_training, "REFRESH", 2)


def config_of(name: str, folder: str, *settings: str) -> Config:
    """Return the config of a method, or of `self-training on` a method."""
    method, _, below = name.partition(" on ")
    further = [f"self_training.teacher={below}", "self_training.confidence=0.34"] if below else []
    return load_config(settings=[*SMALL, *further, *settings], method=method, encoder=folder)


@cache
def loaded(folder: str) -> Encoder:
    return Encoder.load(folder)


def build(name: str, folder: str, *settings: str) -> Model:
    torch.manual_seed(0)
    config = config_of(name, folder, *settings)
    return get_method(config.method).build(deepcopy(loaded(folder)), LABELS, config)


@pytest.mark.parametrize("name", [*METHODS, *ON_TOP])
def test_training_saving_and_loading(name: str, folder: str, tmp_path: Path) -> None:
    config = config_of(name, folder)
    recognizer, again = (train(labelled(), config=config).recognizer for _ in range(2))
    for key, value in recognizer.model.state_dict().items():
        assert torch.equal(value, again.model.state_dict()[key]), key
    recognizer.save_pretrained(tmp_path)
    loaded = Recognizer.from_pretrained(tmp_path)
    texts = [document.text for document in labelled()[:10]]
    assert loaded(texts) == recognizer(texts)
    assert loaded.config.method == config.method
    for entities in loaded(texts):
        assert all(entity["entity_group"] in LABELS and 0 <= entity["score"] <= 1 for entity in entities)
    assert loaded("") == []


@pytest.mark.parametrize("name", [*METHODS, *ON_TOP])
def test_a_run_is_resumed_from_every_step(name: str, folder: str) -> None:
    """In all stages, and between them."""

    def new_loop() -> Loop:
        model = build(name, folder, *PRIORS)
        return Loop(model, Data.of(labelled(), model), config_of(name, folder).training, Average(0.2))

    torch.manual_seed(0)
    whole = new_loop()
    whole.start()
    states: list[State] = []
    for _ in whole.run():
        tensors, values = whole.state()
        states.append(State({key: value.clone() for key, value in tensors.items()}, values))
    assert len(states) == whole.steps
    for state in states[:-1]:
        other = new_loop()
        other.restore(state)
        for _ in other.run():
            pass
        for key, value in whole.model.state_dict().items():
            assert torch.equal(value, other.model.state_dict()[key]), (state.values["step"], key)


def test_weights_of_a_stage_that_does_not_count_are_not_averaged(folder: str) -> None:
    model = build("conf-mpu", folder, *PRIORS)
    loop = Loop(model, Data.of(labelled(), model), config_of("conf-mpu", folder).training, Average(1.0))
    loop.start()
    seen = [{key: value.clone() for key, value in model.state_dict().items()} for _ in loop.run()]
    seen = seen[2:]  # of six, the first third is the other model's
    for key, value in model.state_dict().items():
        torch.testing.assert_close(value, torch.stack([weights[key] for weights in seen]).mean(0), msg=key)


@pytest.mark.parametrize(("name", "expected"), [("early-stopping", [1, 2, 3]), ("conf-mpu", [3, 4, 5, 6])])
def test_short_runs_are_evaluated_too(name: str, expected: list[int], folder: str) -> None:
    """There must be weights to choose from. Stages that do not count are not evaluated."""
    found: list[int] = []

    def watch(progress: Progress) -> None:
        if progress.score is not None:
            found.append(progress.step)

    config = config_of(name, folder, "early_stopping.share=0.5", *PRIORS)
    train(labelled(), dev=demo.documents("dev")[:4], config=config, on_step=watch)
    assert found == expected


def test_every_stage_has_an_optimiser_of_its_own(folder: str) -> None:
    model = build("self-training", folder)
    loop = Loop(model, Data.of(labelled(), model), config_of("self-training", folder).training, Average(0))
    loop.start()
    moves = [int(next(iter(loop.optimiser.state.values()))["step"]) for _ in loop.run()]
    assert moves == [1, 2, 3, 1, 2, 3]


def nothing_of(batch: Batch) -> Batch:
    return only_words(batch, torch.zeros(len(batch.rows), dtype=torch.bool))


@pytest.mark.parametrize("name", METHODS)
def test_a_batch_without_words_costs_nothing(name: str, folder: str) -> None:
    """One of several processes may get such a batch at the end of an epoch."""
    model = build(name, folder, *PRIORS)
    data = Data.of(labelled(), model)
    prepare(model, data)
    for stage, _ in enumerate(model.stages):
        model.stage = stage
        if stage:
            model.begin([data.batch(range(8))])
        step = model.step(nothing_of(data.batch([0])), 0.9)
        assert step.loss.item() == 0
        step.loss.backward()
        assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize("name", METHODS)
def test_steps_and_predictions_change_nothing(name: str, folder: str) -> None:
    """Only `finish` changes the model."""
    model = build(name, folder, *PRIORS)
    data = Data.of(labelled(), model)
    prepare(model, data)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    batch = data.batch(range(8))
    model.step(batch, 0.5)
    model.decide(batch)
    model.predict(batch)
    assert all(torch.equal(value, model.state_dict()[key]) for key, value in before.items())


@pytest.mark.parametrize("name", METHODS)
def test_decisions_are_log_probabilities_and_can_be_compared(name: str, folder: str) -> None:
    model = build(name, folder, *PRIORS).eval()
    data = Data.of(labelled(), model)
    prepare(model, data)
    batch = data.batch(range(5))
    decisions = model.decide(batch)
    for answers in decisions.answers:
        torch.testing.assert_close(answers.exp().sum(-1), torch.ones(len(answers)))
    other = build(name, folder, *PRIORS, "training.seed=5").eval()
    for one, two in zip(decisions.answers, other.decide(batch, decisions).answers, strict=True):
        assert one.shape == two.shape


@pytest.mark.parametrize("name", ["mproto", "tagger", "self-training on mproto", "self-training on tagger"])
def test_a_bias_finds_more_entities_or_none(name: str, folder: str, tmp_path: Path) -> None:
    """The more, the larger it is. Among entities it changes nothing, and training knows nothing of it."""
    model = build(name, folder, "mproto.viterbi=false").eval()
    data = Data.of(labelled(), model)
    prepare(model, data)
    batch = data.batch(range(20))
    assert model.entity_bias == 0.0
    (answers,) = model.decide(batch).answers
    before, loss = answers.detach(), model.step(batch, 0.5).loss.item()
    counts = []
    for bias in (-50.0, -1.0, 0.0, 1.0, 50.0):
        model.entity_bias = bias
        found = model.predict(batch)
        logits = torch.cat([before[:, :1], before[:, 1:] + bias], -1)
        assert found.tags.tolist() == logits.argmax(-1).tolist()
        expected = (logits / model.calibration).softmax(-1).amax(-1)
        torch.testing.assert_close(found.scores, expected, atol=1e-5, rtol=1e-4)
        counts.append(int((found.tags != 0).sum()))
        assert torch.equal(model.decide(batch).answers[0], before)
        assert model.step(batch, 0.5).loss.item() == loss
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, len(batch.rows))
    Recognizer(model, config_of(name, folder)).save_pretrained(tmp_path)
    assert Recognizer.from_pretrained(tmp_path).model.entity_bias == 50.0


def test_early_stopping_takes_fewer_steps(folder: str) -> None:
    steps: list[int] = []
    config = config_of("early-stopping", folder, "early_stopping.share=0.5")
    train(labelled(), config=config, on_step=lambda progress: steps.append(progress.steps))
    assert steps == [3] * 3


def test_negative_sampling_keeps_every_entity_and_some_others(folder: str) -> None:
    model = build("negative-sampling", folder, "negative_sampling.keep=0.3")
    batch = Data.of(labelled(), model).batch(range(48))
    assert batch.labels is not None
    entities, others = int((batch.labels > 0).sum()), int((batch.labels == 0).sum())
    kept = [model.step(batch, 0.0).weight - entities for _ in range(20)]
    assert 0.25 * others < sum(kept) / 20 < 0.35 * others
    assert len(set(kept)) > 1
    for keep, expected in ((0.0, entities), (1.0, entities + others)):
        assert build("negative-sampling", folder, f"negative_sampling.keep={keep}").step(batch, 0.0).weight == expected


class TestPriors:
    def test_estimated_in_a_stage_of_their_own(self, folder: str) -> None:
        model = build("mpu", folder)
        assert isinstance(model, PositiveUnlabelledModel)
        assert [stage.counts for stage in model.stages] == [False, True]
        assert sum(stage.share for stage in model.stages) == pytest.approx(1)
        assert model.hold_out_share == model.stages[0].share
        model.learn_unlabelled(UnlabelledEstimate(0.1, 0.1, {}, {"Chemical": 0.125, "Disease": 0.25}, 0.5))
        assert model.priors.tolist() == [0.125, 0.25]
        model.learn_unlabelled(UnlabelledEstimate(0.9, 0.9, {}, {"Chemical": 0.9, "Disease": 0.9}, 0.5))
        assert model.priors.sum().item() == pytest.approx(0.9)

    def test_a_run_estimates_them(self, folder: str) -> None:
        recognizer = train(labelled(705), config=config_of("mpn", folder)).recognizer
        model = recognizer.model
        assert isinstance(model, PositiveUnlabelledModel)
        words = sum(document.word_count for document in labelled(705))
        for label, prior in zip(recognizer.labels, model.priors.tolist(), strict=True):
            spans = [s for d in labelled(705) for s in d.word_spans if s.label == label]
            assert sum(end - start for start, end, _ in spans) / words < prior < 1

    def test_given_priors_need_no_hold_out_phase(self, folder: str) -> None:
        model = build("mpu", folder, *PRIORS)
        assert model.hold_out_share == 0
        assert model.stages == (Stage(1.0),)
        assert model.priors.tolist() == pytest.approx([0.1, 0.1])  # type: ignore[operator, union-attr]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            (["Chemical=0.5", "Disease=0.5"], "sum to 1, but must sum to less than 1"),
            (["Chemical=0.5"], "has no value for Disease"),
            (["Chemical=0.1", "Disease=0.1", "Gene=0.1"], "has Gene, which the training data do not have"),
        ],
    )
    def test_wrong_ones(self, settings: list[str], message: str, folder: str) -> None:
        with pytest.raises(InputError, match=message):
            build("conf-mpu", folder, *(f"positive_unlabelled.priors.{setting}" for setting in settings))


class TestConfMPU:
    def test_the_second_stage_starts_anew_with_the_confidence_of_the_first(self, folder: str) -> None:
        model = build("conf-mpu", folder, *PRIORS).eval()
        assert isinstance(model, ConfMPUModel)
        data = Data.of(labelled(), model)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.01)
        batch = data.batch([5, 3])
        expected = model.logits(batch)[:, :2].softmax(-1)[:, 1]
        model.stage = 1
        model.begin(data.batch(indices) for indices in ([0, 1, 2], [3, 4, 5]))
        assert model._confidence is not None
        found = torch.cat([model._confidence[w.document, w.start] for w in batch.windows])
        torch.testing.assert_close(found, expected.detach())
        for key, value in Encoder.load(folder).state_dict().items():
            assert torch.equal(model.encoder.state_dict()[key], value)

    def test_the_first_stage_ignores_types(self, folder: str) -> None:
        """The loss of the first stage does not change when the types of labelled words do."""
        model = build("conf-mpu", folder, *PRIORS).eval()
        data = Data.of(labelled(), model)
        swapped = replace(data, tags=[[{0: 0, 1: 2, 2: 1}[tag] for tag in tags] for tags in data.tags])
        one, other = (d.batch(range(20)) for d in (data, swapped))
        assert model.step(one, 0.0).loss.item() == model.step(other, 0.0).loss.item()


class TestSelfTraining:
    def test_the_student_comes_first_then_its_teacher(self, folder: str) -> None:
        model = build("self-training on conf-mpu", folder, *PRIORS, "self_training.share=0.4")
        shares = [stage.share for stage in model.stages]
        assert shares == pytest.approx([0.6 * 0.33, 0.6 * 0.67, 0.4])
        assert [stage.counts for stage in model.stages] == [False, True, True]
        assert not any(name.startswith(("encoder.", "_teacher")) for name in model.state_dict())

    def test_the_student_ignores_the_labels(self, folder: str) -> None:
        model, data, batch = self.taught(folder)
        other = replace(data, tags=[[0] * len(tags) for tags in data.tags]).batch(range(20))
        assert model.step(batch, 0.9).loss.item() == model.step(other, 0.9).loss.item()

    def test_only_confident_words_of_the_teacher_count(self, folder: str) -> None:
        for confidence, expected in ((0.0, 1.0), (0.999, 0.0)):
            model, _, batch = self.taught(folder, f"self_training.confidence={confidence}")
            step = model.step(batch, 0.9)
            assert step.logs["sure"] == expected
            assert step.weight == (len(batch.rows) if expected else 0)

    def test_the_teacher_is_replaced_every_so_often(self, folder: str) -> None:
        model, _, batch = self.taught(folder)
        same = []
        for _ in range(4):
            step = model.step(batch, 0.9)
            with torch.no_grad():
                next(model.student.parameters()).add_(1.0)
            step.finish()
            mine, other = (next(iter(m.state_dict().values())) for m in (model.student, model._teacher[0]))
            same.append(torch.equal(mine, other))
        assert same == [False, True, False, True]

    def test_bias_temperature_and_averaging_are_those_of_the_student(self, folder: str) -> None:
        model = build("self-training on mproto", folder)
        assert isinstance(model, SelfTrainingModel)
        model.entity_bias, model.calibration = -0.5, 3.0
        assert (model.student.entity_bias, model.student.calibration) == (-0.5, 3.0)
        model.student.entity_bias = 2.0
        assert model.entity_bias == 2.0
        model.student.bank.vectors.normal_()  # type: ignore[union-attr, operator]
        model.after_averaging()
        vectors = model.state_dict()["student.bank.vectors"]
        torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(len(vectors)))

    def test_everything_that_is_learnt_gets_a_gradient(self, folder: str) -> None:
        """Otherwise, several processes would wait for it."""
        model = build("self-training on mproto", folder, "self_training.confidence=0")
        data = Data.of(labelled(), model)
        prepare(model, data)
        for stage in (0, 1):
            model.zero_grad()
            model.stage = stage
            if stage:
                model.begin([])
            model.step(data.batch(range(8)), 0.9).loss.backward()
            assert all(p.grad is not None for p in model.parameters() if p.requires_grad)

    def taught(self, folder: str, *settings: str) -> tuple[SelfTrainingModel, Data, Batch]:
        model = build("self-training on tagger", folder, *settings)
        assert isinstance(model, SelfTrainingModel)
        data = Data.of(labelled(), model)
        model.eval().stage = 1
        model.begin([])
        return model, data, data.batch(range(20))

    def test_it_cannot_come_first(self, folder: str) -> None:
        with pytest.raises(InputError, match="which cannot teach itself"):
            build("self-training on self-training", folder)
        with pytest.raises(InputError, match="self_training.teacher: there is no method 'mprto'; did you mean mproto"):
            build("self-training on mprto", folder)


def test_weights_of_another_method(folder: str, tmp_path: Path) -> None:
    build_and_save(folder, tmp_path)
    description = json.loads((tmp_path / "config.json").read_text())
    description["settings"]["method"] = "mproto"
    (tmp_path / "config.json").write_text(json.dumps(description))
    with pytest.raises(InputError, match="its weights are not those of the method mproto, which config.json names"):
        Recognizer.from_pretrained(tmp_path)
    description["settings"]["method"] = "crf"
    (tmp_path / "config.json").write_text(json.dumps(description))
    with pytest.raises(InputError, match="there is no method 'crf'"):
        Recognizer.from_pretrained(tmp_path)


def build_and_save(folder: str, output: Path) -> None:
    Recognizer(build("tagger", folder), config_of("tagger", folder)).save_pretrained(output)


def test_other_phrases_are_other_data(folder: str, tmp_path: Path) -> None:
    (tmp_path / "phrases.txt").write_text("hello\n")
    config = config_of("autoner", folder, f"autoner.phrases={tmp_path / 'phrases.txt'}")
    train(labelled(), config=config, output=tmp_path / "run")
    (tmp_path / "phrases.txt").write_text("world\n")
    with pytest.raises(InputError, match="this run was started with autoner.phrases"):
        train(labelled(), config=config, output=tmp_path / "run", resume=True)


def test_documents_of_several_windows(tmp_path: Path) -> None:
    """Methods that store values by word find them by document and place."""
    small = str(write_roberta(tmp_path, positions=20))
    for name in METHODS:
        config = config_of(name, small, *PRIORS, "training.min_steps=4")
        recognizer = train(labelled()[:8], config=config).recognizer
        assert len(recognizer(labelled()[0].text + " " + labelled()[1].text)) >= 0


def test_a_run_of_another_method_is_not_resumed(folder: str, tmp_path: Path) -> None:
    train(labelled(), config=config_of("tagger", folder), output=tmp_path / "run")
    with pytest.raises(InputError, match="method = 'tagger', and not 'mpu'"):
        train(labelled(), config=config_of("mpu", folder), output=tmp_path / "run", resume=True)
