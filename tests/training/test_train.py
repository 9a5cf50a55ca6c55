"""Training: repeatable, selective, and nothing but training steps moves a prototype."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from encoders import embedded, write_roberta
from mproto import Document, Recognizer, Span, demo, train
from mproto.config import load_config
from mproto.errors import InputError, MprotoError, Notes
from mproto.models.base import Model, Step
from mproto.models.encoder import Encoder
from mproto.models.mproto import MProtoModel
from mproto.training import run
from mproto.training.cross_fitting import find_cross_fitting
from mproto.training.data import Data
from mproto.training.loop import Loop
from mproto.training.schedule import rate_at
from mproto.training.selection import Best
from runs import all_steps, judge_steps, labelled, prepare, small_config, small_model

FEW = 16  # documents; two batches of them, so that epochs end within a few steps of the large encoder


@pytest.fixture(autouse=True)
def encoder() -> None:
    embedded()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny encoder, for properties that hold for every encoder."""
    return str(write_roberta(tmp_path_factory.mktemp("encoder"), positions=200))


def weights(recognizer: Recognizer) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in recognizer.model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(("method", "large"), [("mproto", True), ("tagger", False)])
def test_the_same_seed_gives_the_same_weights(method: str, large: bool, tiny: str) -> None:
    encoder = None if large else tiny

    def trained(seed: int) -> dict[str, torch.Tensor]:
        settings = ("training.min_steps=3", f"training.seed={seed}")
        return weights(train(labelled(FEW), config=small_config(*settings, method=method, encoder=encoder)).recognizer)

    first = trained(0)
    assert same(first, trained(0))
    assert not same(first, trained(1))


def test_evaluating_predicting_and_saving_leave_prototypes_as_they_are(tmp_path: Path) -> None:
    recognizer = small_model()
    before = weights(recognizer)
    recognizer("Selegiline-induced postural hypotension")
    list(recognizer.predict(demo.documents("test")[:20]))
    recognizer.save_pretrained(tmp_path)
    assert same(before, weights(recognizer))
    assert same(before, weights(Recognizer.from_pretrained(tmp_path)))


def test_evaluations_during_training_change_nothing(tiny: str) -> None:
    """Evaluating at every step does not change the last model of a run."""
    plain = train(labelled(FEW), config=small_config("training.min_steps=4", encoder=tiny)).recognizer
    dev = demo.documents("dev")[:8]
    config = small_config("training.min_steps=4", "training.evaluate_every=1", encoder=tiny)
    torch.manual_seed(0)
    model = MProtoModel.build(Encoder.load(tiny), plain.labels, config)
    torch.manual_seed(0)
    data = Data.of(labelled(FEW), model)
    recognizer = Recognizer(model, config)
    seen = {}

    def evaluate() -> float:
        list(recognizer.predict(dev))
        seen.update(weights(recognizer))
        return 0.0

    cross_fitting = find_cross_fitting(data, model, config)
    assert cross_fitting
    loop = Loop(model, data, config.training, Best(evaluate), cross_fitting=cross_fitting)
    loop.start()
    assert [progress.score for progress in loop.run()] == [None] * (judge_steps(4)) + [0.0] * 4
    assert same(seen, weights(plain))


def test_a_step_alone_moves_no_prototype_and_finishing_it_does() -> None:
    config = small_config()
    model = MProtoModel.build(Encoder.load(), ("Chemical", "Disease"), config)
    data = Data.of(labelled(FEW), model)
    prepare(model, data)
    model.train()
    before = model.bank.vectors.clone()
    step = model.step(data.batch(range(8)), 0.5)
    assert torch.equal(before, model.bank.vectors)
    step.finish()
    assert not torch.equal(before, model.bank.vectors)
    torch.testing.assert_close(model.bank.vectors.norm(dim=-1), torch.ones(9))
    assert not any(name.startswith("bank") for name, _ in model.named_parameters())


def test_the_best_checkpoint_is_the_one_that_is_kept(
    tiny: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scores = iter([0.1, 0.7, 0.3, 0.2])
    kept: list[dict[str, torch.Tensor]] = []

    def selection(recognizer: Recognizer, *_: object) -> Any:
        def evaluate() -> float:
            kept.append(weights(recognizer))
            return next(scores)

        return Best(evaluate)

    monkeypatch.setattr(run, "select_weights", selection)
    config = small_config("training.min_steps=4", "training.evaluate_every=1", encoder=tiny)
    result = train(labelled(FEW), dev=demo.documents("dev")[:2], config=config, output=tmp_path / "run")
    recognizer = result.recognizer
    before = judge_steps(4)
    assert (result.steps, result.best_step, result.dev_f1) == (before + 4, before + 2, 0.7)
    assert same(kept[1], weights(recognizer))
    assert same(kept[1], weights(Recognizer.from_pretrained(tmp_path / "run")))
    history = [json.loads(line) for line in (tmp_path / "run" / "history.jsonl").read_text().splitlines()]
    assert [h["step"] for h in history] == list(range(1, before + 5))
    scored = [(None, False)] * before + [(0.1, True), (0.7, True), (0.3, False), (0.2, False)]
    assert [(h["score"], h["best"]) for h in history] == scored
    assert load_config(file=tmp_path / "run" / "config.toml") == config
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "best",
        "config.toml",
        "history.jsonl",
        "run.json",
        "state.safetensors",
    ]


def test_the_model_learns_its_training_data() -> None:
    documents = labelled(FEW)
    recognizer = train(documents, config=small_config("training.min_steps=16", "mproto.denoising=none")).recognizer
    found = list(recognizer.predict([document.bare() for document in documents]))
    right = sum(len(set(one.spans) & set(other.spans)) for one, other in zip(documents, found, strict=True))
    assert right > 0.8 * sum(len(document.spans) for document in documents)


def test_denoising_starts_after_its_share_of_steps() -> None:
    kept: list[float] = []
    config = small_config("mproto.denoise_after=0.5", "mproto.denoising=transport", "mproto.beta=0.01")
    train(labelled(FEW), config=config, on_step=lambda progress: kept.append(progress.logs["kept"]))
    assert kept[:3] == [1.0] * 3
    assert min(kept[3:]) < 1.0


def test_the_learning_rate_rises_and_falls() -> None:
    rates = [rate_at(step, 10, 100) for step in range(100)]
    assert rates.index(max(rates)) == 10
    assert max(rates) == 1.0
    assert rates[:10] == sorted(rates[:10])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert 0 < rates[-1] < 0.02
    assert [rate_at(step, 0, 2) for step in range(2)] == [1.0, 0.5]


class TestBadInput:
    def test_no_entity(self) -> None:
        with pytest.raises(InputError, match="the 2 training documents have no labelled entity"):
            train([Document("a b"), Document("c")])

    def test_no_document(self) -> None:
        with pytest.raises(InputError, match="no document to train on"):
            train([Document(" ")])

    def test_one_class_only(self) -> None:
        documents = [Document("gold", (Span(0, 4, "Metal"),)), Document("silver and gold", (Span(11, 15, "Metal"),))]
        recognizer = train(documents, config=small_config("training.min_steps=2")).recognizer
        assert recognizer.labels == ("Metal",)

    def test_a_type_that_occurs_only_in_dev(self) -> None:
        with pytest.raises(InputError, match="types that the training data do not have: Gene"):
            train(labelled(), dev=[Document("BRCA1", (Span(0, 5, "Gene"),))])

    def test_dev_without_anything(self) -> None:
        with pytest.raises(InputError, match="no development document"):
            train(labelled(), dev=[])
        notes = Notes()
        config = small_config("training.min_steps=1")
        train(labelled(8), dev=[Document("nothing")], config=config, notes=notes)
        assert "have no entity" in notes.messages()[0]

    def test_overlapping_spans(self) -> None:
        document = Document("gold ring", (Span(0, 4, "A"), Span(0, 9, "B")), id="d7")
        with pytest.raises(InputError, match="d7: span .* overlaps another span"):
            train([document], config=small_config())

    def test_a_folder_in_use(self, tmp_path: Path) -> None:
        (tmp_path / "letter.txt").write_text("dear")
        for force in (False, True):
            with pytest.raises(InputError, match="exists already and is not empty"):
                train(labelled(), output=tmp_path, force=force)
        (tmp_path / "config.toml").write_text("")  # somebody's folder, which happens to have one
        with pytest.raises(InputError, match="name another folder"):
            train(labelled(), output=tmp_path, force=True)
        assert (tmp_path / "letter.txt").read_text() == "dear"
        with pytest.raises(InputError, match=r"letter.txt: is a file"):
            train(labelled(), output=tmp_path / "letter.txt")

    def test_an_older_run_is_replaced_only_with_force(self, tiny: str, tmp_path: Path) -> None:
        config = small_config("training.min_steps=1", encoder=tiny)
        train(labelled(8), config=config, output=tmp_path)
        with pytest.raises(InputError, match="or --force"):
            train(labelled(8), config=config, output=tmp_path)
        result = train(labelled(8), config=config, output=tmp_path, force=True)
        assert len((tmp_path / "history.jsonl").read_text().splitlines()) == result.steps

    def test_an_unknown_method_and_encoder(self) -> None:
        with pytest.raises(InputError, match="no method 'mprotos'; did you mean mproto"):
            train(labelled(), config=load_config(method="mprotos"))
        with pytest.raises(InputError, match="nowhere"):
            train(labelled(), config=load_config(encoder="./nowhere"))

    def test_a_loss_that_is_not_a_number(self, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        original = MProtoModel.step

        def broken(self: Model, batch: Any, progress: float) -> Step:
            step = original(self, batch, progress)  # type: ignore[arg-type]
            return replace(step, loss=step.loss * (torch.nan if progress >= 0.5 else 1.0))

        monkeypatch.setattr(MProtoModel, "step", broken)
        config = small_config("training.min_steps=4", "training.evaluate_every=1", encoder=tiny)
        broken_at = judge_steps(4) + 3  # halfway through the training of the last model
        message = rf"loss is nan at step {broken_at}; the model of step {broken_at - 1} is kept in .*best"
        with pytest.raises(MprotoError, match=message) as raised:
            train(labelled(FEW), config=config, output=tmp_path)
        assert raised.value.exit_code == 1
        assert Recognizer.from_pretrained(tmp_path)("Aspirin") is not None
        with pytest.raises(MprotoError, match="no model was kept"):
            train(labelled(FEW), config=config)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory."),
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:118] . DefaultCPUAllocator: can't allocate memory: you tried"),
    ],
)
def test_an_out_of_memory_error_says_what_to_do(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Step:
        raise error

    monkeypatch.setattr(MProtoModel, "step", fail)
    steps = all_steps(6)
    with pytest.raises(
        MprotoError, match=f"not enough memory for step 1 of {steps}; no model was kept. Resume where there is"
    ):
        train(labelled(), config=small_config("mproto.init=random"))
    monkeypatch.setattr(MProtoModel, "prepare", fail)
    with pytest.raises(MprotoError, match=f"not enough memory for step 1 of {steps}"):
        train(labelled(), config=small_config())


def test_other_errors_are_not_taken_for_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Step:
        raise RuntimeError("something else")

    monkeypatch.setattr(MProtoModel, "step", fail)
    with pytest.raises(RuntimeError, match="something else"):
        train(labelled(), config=small_config("mproto.init=random"))
