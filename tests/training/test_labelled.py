"""Documents that people labelled, beside distant ones or alone: what has no label there is no entity."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from encoders import write_roberta
from mproto import Document, Span, demo, train
from mproto.analysis import report as analysis_report
from mproto.cli import main
from mproto.config import load_config
from mproto.denoising.estimate import UNKNOWN_SHARE
from mproto.errors import DataError
from mproto.models.base import Model
from mproto.models.encoder import Encoder
from mproto.models.registry import get_method
from mproto.training import hold_out as rehearsal_module
from mproto.training.data import Data
from mproto.training.held_out import HeldOut
from mproto.training.hold_out import Rehearsal
from mproto.training.run import _repeats
from mproto.training.terms import term
from runs import labelled, small_config


@pytest.fixture
def model(tmp_path: Path) -> Model:
    encoder = Encoder.load(str(write_roberta(tmp_path, positions=200)))
    return get_method("mproto").build(encoder, ("Chemical", "Disease"), load_config())


def by_people(count: int) -> list[Document]:
    return [d.with_spans(d.gold or d.spans, None) for d in demo.documents("dev")[:count]]


def test_a_batch_knows_whose_labels_it_has(model: Model) -> None:
    documents = labelled(6)
    data = Data.of(documents, model, by_people(2))
    assert data.certain == [False] * 6 + [True] * 2
    batch = data.batch([7, 0])
    assert batch.certain is not None
    assert batch.certain.tolist() == [True] * len(data.tags[7]) + [False] * len(data.tags[0])


def test_every_word_of_a_document_that_people_labelled_is_learnt_as_it_is_labelled(model: Model) -> None:
    """Half of the words are to be left out, and none is: the labels are certain."""
    model.beta.fill_(0.5)  # type: ignore[operator, union-attr]
    generator = torch.Generator().manual_seed(0)
    for documents, people in ((labelled(12), []), ([], labelled(12))):
        data = Data.of(documents, model, people)
        model.start(data.sample(load_config().training, generator), generator)
        kept = model.step(data.batch(range(12)), 0.9).logs["kept"]
        assert kept == 1 if people else kept < 0.9


def test_labelled_words_count_for_more_only_where_others_may_lack_a_label(model: Model) -> None:
    """They are fewer than a fifth of the words in these sentences."""
    generator = torch.Generator().manual_seed(0)
    for documents, people in ((labelled(12), []), ([], labelled(12))):
        data = Data.of(documents, model, people)
        model.start(data.sample(load_config().training, generator), generator)
        batch = data.batch(range(12))
        assert batch.labels is not None
        others = int((batch.labels == 0).sum())
        assert 4 * (len(batch.labels) - others) < others
        expected = len(batch.labels) if people else others / 0.8
        assert model.step(batch, 0.0).weight == pytest.approx(expected)


def test_nothing_of_what_people_labelled_is_counted_as_unlabelled(model: Model) -> None:
    distant, people = labelled(705), by_people(30)
    rehearsals = [Rehearsal(Data.of(distant, model, others), model, load_config().training) for others in ([], people)]
    generator = torch.Generator().manual_seed(0)
    model.start(rehearsals[0].full.sample(load_config().training, generator), generator)
    (alone, size), (beside, other) = (rehearsal._look(model) for rehearsal in rehearsals)
    assert size == other
    assert len(alone.words) > 1000
    assert rehearsals[0]._count(model, certain=False) == rehearsals[1]._count(model, certain=False)
    mixed = beside.classes == 0
    mentions = sum(
        bool(rehearsals[1].aside[word]) and not tag
        for words, tags in zip(rehearsals[1].full.words[:705], rehearsals[1].full.tags[:705], strict=True)
        for word, tag in zip(words, tags, strict=True)
    )
    assert int(mixed.sum()) == mentions


def test_further_windows_are_looked_at_for_their_labels(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal_module, "LOOKED_AT", 50)
    data = Data.of(labelled(705), model)
    few = Rehearsal(data, model, load_config().training)
    looked, size = few._look(model)
    monkeypatch.setattr(rehearsal_module, "MORE_LOOKED_AT", 0)
    fewer, same = few._look(model)
    assert size == same
    assert int((looked.classes == 0).sum()) == int((fewer.classes == 0).sum()) > 0
    assert int((looked.classes > 0).sum()) > int((fewer.classes > 0).sum())


@pytest.mark.parametrize("method", ["mpu", "mproto"])
def test_where_only_people_gave_labels_shares_are_guessed(method: str, tmp_path: Path) -> None:
    """And a type that the dictionary lacks has the prior that people's labels give it."""
    encoder = Encoder.load(str(write_roberta(tmp_path, positions=200)))
    model = get_method(method).build(encoder, ("Chemical", "Disease"), load_config())
    bare = [document.bare() for document in labelled(30)]
    data = Data.of(bare, model, by_people(20))
    assert Rehearsal(data, model, load_config().training).finish(model) == {}
    if method == "mproto":
        assert model.beta == pytest.approx(1 - UNKNOWN_SHARE)
    else:
        people = [tag for tags in data.tags[30:] for tag in tags]
        expected = [people.count(tag) / len(people) for tag in (1, 2)]
        assert model.priors.tolist() == pytest.approx(expected)  # type: ignore[operator, union-attr]


def test_terms_that_people_labelled_are_not_hidden() -> None:
    documents = labelled(200)
    hidden = HeldOut.of(documents, 0, hide=True).hidden
    document, span = next((d, s) for d in documents for s in d.spans if term(d, s) in hidden)
    told = HeldOut.of(documents, 0, hide=True, labelled=[document])
    assert told.hidden < hidden
    assert term(document, span) not in told.hidden


def test_where_people_labelled_everything_nothing_is_estimated(model: Model) -> None:
    data = Data.of([], model, by_people(40))
    rehearsal = Rehearsal(data, model, load_config().training)
    assert rehearsal.steps(100) == 0
    assert rehearsal.finish(model) == {}
    assert model.beta == 1


@pytest.mark.parametrize(
    ("documents", "people", "times"), [(4560, 5, 10), (4560, 100, 5), (4560, 456, 1), (10, 500, 1), (0, 7, 1)]
)
def test_few_are_read_more_often(documents: int, people: int, times: int) -> None:
    assert _repeats(documents, people) == times


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_training_on_human_labels_alone_and_beside_others(method: str, tmp_path: Path) -> None:
    encoder = str(write_roberta(tmp_path, positions=200))
    config = replace(small_config("training.min_steps=3", method=method), encoder=encoder)
    new = Document("Nobody had seen a quokka .", spans=[Span(18, 24, "Animal")])
    assert train([], labelled=[*by_people(20), new], config=config).recognizer.labels == (
        "Disease",
        "Chemical",
        "Animal",
    )
    mixed = train(labelled(20), labelled=[new.with_spans((), new.spans)], config=config).recognizer
    assert mixed.labels[-1] == "Animal"
    assert mixed.card["documents labelled by people"] == 1


def test_no_type_is_called_what_other_words_are_called() -> None:
    with pytest.raises(DataError, match="is called O, like the words that are no entity"):
        train([Document("Aspirin helps", spans=[Span(0, 7, "O")])])


def call(*arguments: object) -> int:
    return main(["train", *map(str, arguments)])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is nothing to train on"),
        (["--labelled", demo.FOLDER / "dev.jsonl", "--gazetteer", demo.GAZETTEER], "which is missing"),
        (["--labelled", demo.FOLDER / "train.txt"], "train.txt: holds no labelled entity"),
    ],
)
def test_what_cannot_be_learnt_from(
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
