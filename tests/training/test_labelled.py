"""Human-labelled documents, with distant ones or alone: a word without a label is not an entity."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoders import write_roberta
from mproto import Document, Span, demo, train
from mproto.analysis import report as analysis_report
from mproto.cli import main
from mproto.config import load_config
from mproto.denoising.estimate import DEFAULT_SHARE
from mproto.errors import DataError
from mproto.models.base import UsesEstimate
from mproto.models.encoder import Encoder
from mproto.models.mproto import MProtoModel
from mproto.models.registry import get_method
from mproto.training import hold_out as hold_out_module
from mproto.training.data import Data
from mproto.training.hold_out import HoldOut
from mproto.training.run import _repeats
from runs import labelled, prepare, small_config


@pytest.fixture(params=["threshold"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> MProtoModel:
    """A model with a hold-out phase, unless a test asks for another way of denoising."""
    encoder = Encoder.load(str(write_roberta(tmp_path, positions=200)))
    config = load_config(settings=[f"mproto.denoising={request.param}"])
    return MProtoModel.build(encoder, ("Chemical", "Disease"), config)


def human_labelled(count: int) -> list[Document]:
    return [d.with_spans(d.gold or d.spans, None) for d in demo.documents("dev")[:count]]


def test_a_batch_knows_which_labels_are_human(model: MProtoModel) -> None:
    documents = labelled(6)
    data = Data.of(documents, model, human_labelled(2))
    assert data.certain == [False] * 6 + [True] * 2
    batch = data.batch([7, 0])
    assert batch.certain is not None
    assert batch.certain.tolist() == [True] * len(data.tags[7]) + [False] * len(data.tags[0])


@given(data=st.data())
def test_batches_of_some_windows_and_some_words(data: st.DataObject, texts: Data) -> None:
    """Words that are left out more than once, for several reasons."""
    words = len(texts.spellings)
    reasons = data.draw(st.lists(st.lists(st.booleans(), min_size=words, max_size=words), max_size=2))
    doubted = data.draw(st.none() | st.sets(st.integers(0, len(texts.flat_words) - 1)))
    kept = data.draw(st.lists(st.integers(0, len(texts.windows) - 1), min_size=1, max_size=4))
    mask = None if doubted is None else torch.tensor([n in doubted for n in range(len(texts.flat_words))])
    some = replace(texts, left_out=mask).only(kept)
    for reason in reasons:
        some = some.without(torch.tensor(reason))
    batch = some.batch(range(len(kept)))
    expected, starts = [], [0, *accumulate(map(len, texts.words))]
    for number in kept:
        window = texts.windows[number]
        for offset in range(window.start, window.start + len(window.firsts)):
            word = texts.words[window.document][offset]
            if starts[window.document] + offset not in (doubted or ()) and not any(reason[word] for reason in reasons):
                expected.append((word, texts.tags[window.document][offset]))
    assert batch.words is not None
    assert batch.labels is not None
    assert list(zip(batch.words.tolist(), batch.labels.tolist(), strict=True)) == expected
    assert len(batch.rows) == len(expected)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Short documents, and a long one of several windows."""
    encoder = Encoder.load(str(write_roberta(tmp_path_factory.mktemp("encoder"), positions=80)))
    model = MProtoModel.build(encoder, ("Chemical", "Disease"), load_config())
    long = Document(" ".join(document.text for document in labelled(10)))
    data = Data.of([*labelled(4), long], model)
    assert len(data.windows) > 6
    return data


def test_no_word_of_a_human_labelled_document_is_left_out(model: MProtoModel) -> None:
    """β asks to leave out half of the words, but human labels are certain."""
    model.denoiser.beta = 0.5
    for documents, human in ((labelled(12), []), ([], labelled(12))):
        data = Data.of(documents, model, human)
        prepare(model, data)
        kept = model.step(data.batch(range(12)), 0.9).logs["kept"]
        assert kept == 1 if human else kept < 0.9


@pytest.mark.parametrize("model", ["relabel", "threshold"], indirect=True)
def test_labelled_words_have_larger_weights_only_with_distant_labels(model: MProtoModel) -> None:
    """Fewer than a fifth of the words in these sentences are labelled."""
    for documents, human in ((labelled(12), []), ([], labelled(12))):
        data = Data.of(documents, model, human)
        prepare(model, data)
        batch = data.batch(range(12))
        assert batch.labels is not None
        others = int((batch.labels == 0).sum())
        assert 4 * (len(batch.labels) - others) < others
        expected = len(batch.labels) if human else others / 0.8
        assert model.step(batch, 0.0).weight == pytest.approx(expected)


def test_human_labelled_documents_are_not_part_of_the_unlabelled_share(model: MProtoModel) -> None:
    distant, human = labelled(705), human_labelled(30)
    phases = [HoldOut(Data.of(distant, model, others), model, load_config().training) for others in ([], human)]
    prepare(model, phases[0].full)
    (alone, size), (mixed, other) = (phase._predict(model) for phase in phases)
    assert size == other
    assert len(alone.ids) > 1000
    assert phases[0]._count(model, certain=False) == phases[1]._count(model, certain=False)
    mentions = sum(
        bool(phases[1].held_out[word]) and not tag
        for words, tags in zip(phases[1].full.words[:705], phases[1].full.tags[:705], strict=True)
        for word, tag in zip(words, tags, strict=True)
    )
    assert int((mixed.classes == 0).sum()) == mentions


def test_labelled_words_are_also_taken_from_further_windows(
    model: MProtoModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold_out_module, "SAMPLE", 50)
    data = Data.of(labelled(705), model)
    few = HoldOut(data, model, load_config().training)
    more, size = few._predict(model)
    monkeypatch.setattr(hold_out_module, "EXTRA_SAMPLE", 0)
    fewer, same = few._predict(model)
    assert size == same
    assert int((more.classes == 0).sum()) == int((fewer.classes == 0).sum()) > 0
    assert int((more.classes > 0).sum()) > int((fewer.classes > 0).sum())


@pytest.mark.parametrize("method", ["mpu", "mproto"])
def test_the_default_share_is_used_if_only_humans_labelled_entities(method: str, tmp_path: Path) -> None:
    """Priors are then the shares of the types among the human labels."""
    encoder = Encoder.load(str(write_roberta(tmp_path, positions=200)))
    config = load_config(settings=["mproto.denoising=threshold"])
    model = get_method(method).build(encoder, ("Chemical", "Disease"), config)
    assert isinstance(model, UsesEstimate)
    bare = [document.bare() for document in labelled(30)]
    data = Data.of(bare, model, human_labelled(20))
    assert HoldOut(data, model, load_config().training).finish(model) == {}
    if method == "mproto":
        assert model.denoiser.beta == pytest.approx(1 - DEFAULT_SHARE)  # type: ignore[operator, union-attr]
    else:
        human = [tag for tags in data.tags[30:] for tag in tags]
        expected = [human.count(tag) / len(human) for tag in (1, 2)]
        assert model.priors.tolist() == pytest.approx(expected)  # type: ignore[operator, union-attr]


def test_nothing_is_estimated_if_all_labels_are_human(model: MProtoModel) -> None:
    data = Data.of([], model, human_labelled(40))
    phase = HoldOut(data, model, load_config().training)
    assert phase.steps(100) == 0
    assert phase.finish(model) == {}
    assert model.denoiser.beta == 1


@pytest.mark.parametrize(
    ("documents", "human", "times"), [(4560, 5, 10), (4560, 100, 5), (4560, 456, 1), (10, 500, 1), (0, 7, 1)]
)
def test_few_human_labelled_documents_are_repeated(documents: int, human: int, times: int) -> None:
    assert _repeats(documents, human) == times


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_training_on_human_labels_with_and_without_distant_ones(method: str, tmp_path: Path) -> None:
    encoder = str(write_roberta(tmp_path, positions=200))
    config = replace(small_config("training.min_steps=3", method=method), encoder=encoder)
    new = Document("Nobody had seen a quokka .", spans=[Span(18, 24, "Animal")])
    assert train([], labelled=[*human_labelled(20), new], config=config).recognizer.labels == (
        "Disease",
        "Chemical",
        "Animal",
    )
    mixed = train(labelled(20), labelled=[new.with_spans((), new.spans)], config=config).recognizer
    assert mixed.labels[-1] == "Animal"
    assert mixed.card["documents labelled by people"] == 1


def test_no_type_may_have_the_name_of_the_outside_tag() -> None:
    with pytest.raises(DataError, match="is called O, the tag of words outside of entities"):
        train([Document("Aspirin helps", spans=[Span(0, 7, "O")])])


def call(*arguments: object) -> int:
    return main(["train", *map(str, arguments)])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is nothing to train on"),
        (["--labelled", demo.FOLDER / "dev.jsonl", "--gazetteer", demo.GAZETTEER], "which is missing"),
        (["--labelled", demo.FOLDER / "train.txt"], "train.txt: contains no labelled entity"),
    ],
)
def test_unusable_labelled_documents(
    arguments: list[object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments, "--output", tmp_path / "run") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_run_on_human_labels_alone_has_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(analysis_report, "MOST_POINTS", 150)  # a smaller map takes less time
    encoder = write_roberta(tmp_path, positions=200)
    settings = ["--encoder", encoder, "--set", "training.epochs=0", "--set", "training.min_steps=4"]
    assert call("--labelled", demo.FOLDER / "dev.jsonl", "--output", tmp_path / "run", *settings) == 0
    assert (tmp_path / "run" / "report.html").exists()
    assert "documents with" in capsys.readouterr().out
