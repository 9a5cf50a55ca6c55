"""`mproto train`, `evaluate` and `predict` on the command line."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from encoders import embedded, write_roberta
from mproto import Document, Entry, Gazetteer, Recognizer, demo
from mproto.cli import main
from mproto.gazetteer import MatchOptions
from runs import SMALL, all_steps, judge_steps

COUNT = 64  # documents of the bundled corpus
TRAIN, TEST, TERMS = demo.FOLDER / "train.txt", demo.FOLDER / "test.jsonl", demo.GAZETTEER
SETTINGS = ["--no-report", *(argument for setting in SMALL for argument in ("--set", setting))]


def call(*arguments: object) -> int:
    return main([*map(str, arguments)])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first documents of the bundled corpus."""
    path = tmp_path_factory.mktemp("corpus") / "train.txt"
    path.write_text("".join(TRAIN.read_text().splitlines(keepends=True)[:COUNT]))
    return path


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some human-labelled documents."""
    path = tmp_path_factory.mktemp("labelled") / "test.jsonl"
    path.write_text("".join(TEST.read_text().splitlines(keepends=True)[:32]))
    return path


@pytest.fixture(scope="module")
def trained(corpus: Path, labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A run with the bundled encoder, which most tests use, and the output of the command."""
    embedded()
    folder = tmp_path_factory.mktemp("run") / "run"
    arguments = ["--train", corpus, "--gazetteer", TERMS, "--dev", labelled, "--output", folder]
    with redirect_stdout(io.StringIO()) as out:
        assert call("train", *arguments, *SETTINGS, "--json") == 0
    return folder, json.loads(out.getvalue())


@pytest.fixture
def run(trained: tuple[Path, dict[str, Any]]) -> Path:
    return trained[0]


def test_the_output_of_training(trained: tuple[Path, dict[str, Any]]) -> None:
    _, shown = trained
    steps = all_steps(6)
    assert (shown["documents"], shown["steps"]) == (COUNT, steps)
    assert judge_steps(6) < shown["best_step"] <= steps  # the step of the best evaluation
    assert set(shown["labels"]) == {"Chemical", "Disease"}
    assert 0 <= shown["dev_f1"] <= 1
    assert 0 <= shown["kept_share"] <= 1
    assert shown["name_types"] == []
    expected = shown["expected_scores"]
    assert all(0 <= value <= 1 for scores in expected.values() for value in scores.values())
    assert shown["recommended"] == max(("both", "model", "terms"), key=lambda way: expected[way]["f1"])


def test_a_model_saves_its_name_types(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("surface\ttype\npatients\tDisease\nwith\tDisease\n")
    arguments = ["--train", corpus, "--gazetteer", terms, "--output", tmp_path / "r", "--names", "Disease", *SETTINGS]
    assert call("train", *arguments) == 0
    assert "types matched as names (capitals count): Disease" in capsys.readouterr().out
    recognizer = Recognizer.from_pretrained(tmp_path / "r")
    gazetteer = Gazetteer((Entry("With", "Disease"), Entry("Reading", "Place")))
    assert recognizer.name_types == {"Disease"}
    assert "Types matched as names: Disease." in recognizer.model_card()
    assert recognizer.matching(gazetteer) == MatchOptions(names=frozenset({"Disease"}))
    assert recognizer.matching(gazetteer, MatchOptions(names=frozenset())).names == frozenset()
    assert recognizer.matching(gazetteer, MatchOptions(case="sensitive")).names is None
    terms_with_model = recognizer.with_gazetteer(gazetteer, "prefer-gazetteer").terms
    assert terms_with_model is not None
    assert [found.span.start for found in terms_with_model.find(Document("With or with it"))] == [0]


def test_name_types_of_older_models_are_read_from_the_card(run: Path, tmp_path: Path) -> None:
    """mproto 0.1 saved them there."""
    folder = shutil.copytree(run / "best", tmp_path / "best")
    description = json.loads((folder / "config.json").read_text())
    assert description.pop("name_types") == []
    gazetteer = Gazetteer((Entry("With", "Disease"), Entry("Reading", "Place")))
    for old, expected in ((["Disease", "Gene"], {"Disease", "Gene"}), ([], set()), ("nonsense", None)):
        card = {**description["card"], "types matched as names": old}
        (folder / "config.json").write_text(json.dumps({**description, "card": card}))
        recognizer = Recognizer.from_pretrained(folder, device="cpu")
        assert recognizer.name_types == expected
        assert "types matched as names" not in recognizer.card
        if expected is not None:
            assert recognizer.matching(gazetteer).names == expected & {"Disease"}
        recognizer.save_pretrained(tmp_path / "again")
        assert Recognizer.from_pretrained(tmp_path / "again").name_types == expected


def test_evaluation(run: Path, labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("evaluate", run, labelled, "--gazetteer", TERMS, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["overall"].keys() >= {"precision", "recall", "f1"}
    assert shown.keys() >= {"loc", "cls", "types", "seen", "unseen", "intervals"}
    assert shown["scored"].endswith(", as recommended in training")
    assert call("evaluate", run / "best", labelled, "--bootstrap", 0) == 0
    assert "boundaries (Loc.)" in capsys.readouterr().out


FOUND_BY = {
    "off": "model without gazetteer",
    "union": "model and gazetteer (union)",
    "prefer-gazetteer": "model and gazetteer (prefer-gazetteer)",
    "terms": "gazetteer without model",
}


@pytest.fixture
def recommend(run: Path, tmp_path: Path) -> Callable[[str | None], Path]:
    """Return a function that returns a copy of the run whose card has another recommendation, or none."""

    def recommend(way: str | None) -> Path:
        copied = shutil.copytree(run, tmp_path / f"recommends-{way}")
        path = copied / "best" / "config.json"
        description = json.loads(path.read_text())
        card = {key: value for key, value in description["card"].items() if key != "recommended"}
        card |= {"recommended": way} if way else {}
        path.write_text(json.dumps({**description, "card": card}))
        return copied

    return recommend


def test_evaluation_of_model_and_terms_together(
    recommend: Callable[[str | None], Path], labelled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Terms in the gazetteer are found even though the model was trained for only six steps."""

    def scores(model: Path, *further: str) -> tuple[str, dict[str, Any]]:
        assert call("evaluate", model, labelled, "--gazetteer", TERMS, *further, "--bootstrap", 0, "--json") == 0
        found = json.loads(capsys.readouterr().out)
        return found.pop("scored"), found

    silent = recommend(None)
    given = {way: scores(silent, "--combine", way) for way in FOUND_BY}
    assert {way: shown for way, (shown, _) in given.items()} == FOUND_BY
    assert scores(silent) == given["prefer-gazetteer"]
    for recommended, way in (("both", "prefer-gazetteer"), ("model", "off"), ("terms", "terms")):
        model = recommend(recommended)
        assert scores(model) == (f"{FOUND_BY[way]}, as recommended in training", given[way][1])
        assert scores(model, "--combine", "union") == given["union"]  # what the user says counts
    found = {way: figures for way, (_, figures) in given.items()}
    assert found["prefer-gazetteer"]["seen"]["recall"] > max(found["off"]["seen"]["recall"], 0.9)
    assert found["terms"]["unseen"]["recall"] == 0
    assert found["terms"]["seen"] == found["prefer-gazetteer"]["seen"]


def test_matching_options_without_effect_are_an_error(
    recommend: Callable[[str | None], Path], labelled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [recommend("model"), labelled, "--gazetteer", TERMS, "--plurals", "--bootstrap", 0]
    assert call("evaluate", *arguments) == 2
    assert "the model alone, which training recommended, does not match terms" in capsys.readouterr().err
    assert call("evaluate", *arguments, "--combine", "terms") == 0


def test_results_name_the_source_of_entities(
    recommend: Callable[[str | None], Path], labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, both = recommend("terms"), ["--gazetteer", TERMS]
    by_default = "gazetteer without model, as recommended in training"
    assert call("evaluate", run, labelled, "--bootstrap", 0, *both) == 0
    assert by_default in " ".join(capsys.readouterr().out.split())
    out = tmp_path / "out.jsonl"
    union = ([*both, "--combine", "union"], "model and gazetteer (union)")
    for further, expected in ((both, by_default), union, ([], "model")):
        assert call("predict", run, labelled, "--output", out, "--force", *further) == 0
        assert f"found by {expected}\n" in capsys.readouterr().out


def test_matching_is_up_to_the_caller(
    run: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Terms in capitals match lower case only if case does not matter."""
    terms, text = tmp_path / "terms.tsv", tmp_path / "text.jsonl"
    terms.write_text("surface\ttype\nWITH\tDisease\n")
    text.write_text('{"text": "With .", "spans": [{"start": 0, "end": 4, "label": "Disease"}]}\n')
    both = ["--gazetteer", terms, "--combine", "prefer-gazetteer"]
    recall = {}
    for case in ("sensitive", "insensitive"):
        assert call("evaluate", run, text, *both, "--case", case, "--bootstrap", 0, "--json") == 0
        recall[case] = json.loads(capsys.readouterr().out)["overall"]["recall"]
        out = tmp_path / f"{case}.jsonl"
        assert call("predict", run, text, *both, "--case", case, "--output", out) == 0
        capsys.readouterr()
        found = json.loads(out.read_text())
        assert (1.0 in found["scores"]) == (case == "insensitive")
    assert recall["insensitive"] == 1.0
    arguments = ["--train", corpus, "--gazetteer", terms, "--output", tmp_path / "r", *SETTINGS]
    assert call("train", *arguments) == 2  # nothing is labelled
    assert "none of the terms of the gazetteer (1) occurs" in capsys.readouterr().err
    assert call("train", *arguments, "--case", "insensitive", "--json") == 0
    assert json.loads(capsys.readouterr().out)["labels"].keys() == {"Disease"}


def test_scores_go_into_the_card(run: Path, labelled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied = shutil.copytree(run, tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (copied / "best").iterdir() if path.is_file()}
    for name in ("letters of 2024", "trial: all", "letters of 2024"):  # the last one replaces the first
        assert call("evaluate", copied, labelled, "--bootstrap", 0, "--json", "--record", name) == 0
        shown = json.loads(capsys.readouterr().out)["overall"]
    card = (copied / "best" / "README.md").read_text()
    for name in ("letters of 2024", "trial: all"):
        values = " | ".join(f"{100 * shown[measure]:.2f}" for measure in ("precision", "recall", "f1"))
        assert card.count(f"| {name} | {values} |") == 1
    changed = {name for name, data in before.items() if (copied / "best" / name).read_bytes() != data}
    assert changed == {"README.md", "config.json"}
    again = Recognizer.from_pretrained(copied)
    names = [one["corpus"] for one in again.card["scores"]]
    assert names == ["the development data", "trial: all", "letters of 2024"]
    assert again.model_card() == card


def test_prediction(run: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("predict", run, corpus, "--output", tmp_path / "out.jsonl", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert shown["documents"] == len(records) == COUNT
    assert shown["entities"] == sum(len(record["spans"]) for record in records) > 0
    for record in records:
        assert len(record["scores"]) == len(record["spans"])
    assert call("predict", run, corpus, "--output", tmp_path / "out.jsonl") == 2
    assert "--force" in capsys.readouterr().err


def test_words_stay_words(run: Path, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"tokens": ["Aspirin", "helps"], "entities": [], "id": "7"}\n')
    assert call("predict", run, tmp_path / "x.jsonl", "--output", tmp_path / "y.jsonl") == 0
    record = json.loads((tmp_path / "y.jsonl").read_text())
    assert (record["id"], record["tokens"]) == ("7", ["Aspirin", "helps"])


def test_the_ending_names_the_format(run: Path, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("Aspirin helps against a headache.\n")
    assert call("predict", run, tmp_path / "x.txt", "--output", tmp_path / "y.conll") == 0
    assert (tmp_path / "y.conll").read_text().split()[0] == "Aspirin"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--train", TRAIN, "--output", "r"], "train.txt: the 705 training documents have no labelled entity"),
        (["train", "--train", TRAIN, "--output", "r", "--set", "mproto.betta=1"], "did you mean mproto.beta"),
        (["train", "--train", TRAIN, "--output", "r", "--preset", "x"], "no preset 'x'"),
        (["train", "--train", "nowhere", "--output", "r"], "nowhere: no such file"),
        (["train", "--train", TEST, "--output", "r", "--method", "tager"], "did you mean tagger"),
        (["train", "--train", TEST, "--output", "r", "--encoder", "./no"], "./no"),
        (["train", "--train", TEST, "--output", "."], "is not empty"),
        (
            ["train", "--train", TEST, "--dev", "genes.jsonl", "--output", "r"],
            "types that the training data do not have: Gene",
        ),
        (["evaluate", "nowhere", TEST], "nowhere: no such folder; name the folder of a model"),
        (["predict", ".", TEST, "--output", "o"], "is not a model: it has no config.json"),
        (["predict", ".", TEST, "--output", "o", "--batch-size", "0"], "--batch-size 0"),
        (["evaluate", ".", TEST, "--bootstrap", "-1"], "--bootstrap -1 is negative"),
        (["evaluate", ".", TEST, "--combine", "union"], "--combine union needs a gazetteer"),
        (["predict", ".", TEST, "--output", "o", "--combine", "prefer-gazetteer"], "needs a gazetteer"),
        (["train", "--train", TEST, "--output", "r", "--case", "sensitive"], "matching options need a gazetteer"),
        (["predict", ".", TEST, "--output", "o", "--names", "PER"], "matching options need a gazetteer"),
        (
            ["evaluate", ".", TEST, "--gazetteer", TERMS, "--combine", "off", "--case", "sensitive"],
            "--combine off does not match terms",
        ),
        (["evaluate", ".", TEST, "--record", " "], "--record has no name"),
        (["evaluate", "some/where", TEST, "--record", "x"], "some/where is not a folder"),
        (
            ["evaluate", ".", TEST, "--record", "x", "--gazetteer", TERMS],
            "--record is for scores of the model alone, but --gazetteer is given; pass --combine off, too",
        ),
    ],
)
def test_wrong_calls(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    embedded()
    monkeypatch.chdir(tmp_path)
    Path("genes.jsonl").write_text('{"text": "BRCA1", "spans": [{"start": 0, "end": 5, "label": "Gene"}]}\n')
    assert call(*arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error
    assert not Path("r").exists() or not any(Path("r").iterdir())


def test_evaluation_needs_labels(run: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("evaluate", run, corpus) == 2
    assert "contains no labelled entity" in capsys.readouterr().err


def test_messages_during_and_after_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    encoder = write_roberta(tmp_path, positions=200)
    capsys.readouterr()
    arguments = ["--train", TRAIN, "--gazetteer", TERMS, "--encoder", encoder, "--output", tmp_path / "run", *SETTINGS]
    further = [
        "--set",
        "training.selection=last",
        "--set",
        "training.evaluate_every=3",
    ]
    assert call("train", *arguments, *further, "--tensorboard", "--device", "cpu") == 0
    shown = capsys.readouterr()
    steps = all_steps(6)
    said = [line.split("  ")[0] for line in shown.err.splitlines()]
    assert said == [f"step {step} of {steps}" for step in range(judge_steps(6) + 3, steps + 1, 3)]
    assert "estimated share of entities among words labelled O:" in shown.out
    assert any((tmp_path / "run" / "tensorboard").iterdir())
    assert call("train", *arguments, *further, "--resume", "--json") == 0  # it is finished: nothing is trained
    shown = capsys.readouterr()
    assert not shown.err
    figures = json.loads(shown.out)
    assert figures["dev_f1"] is None
    assert 0 <= figures["unlabelled_share"] <= 1


def test_types_with_few_labels_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the numbers that decide it, before training; the estimate is then unknown."""
    encoder = write_roberta(tmp_path, positions=200)
    (tmp_path / "text.txt").write_text("aspirin helps\n" * 3 + "Codeine helps\n" + "nothing helps against flu\n" * 20)
    (tmp_path / "terms.tsv").write_text("surface\ttype\naspirin\tDrug\ncodeine\tDrug\nflu\tDisease\n")
    capsys.readouterr()
    text, terms = tmp_path / "text.txt", tmp_path / "terms.tsv"
    arguments = ["--train", text, "--gazetteer", terms, "--encoder", encoder, "--output", tmp_path / "run", *SETTINGS]
    assert call("train", *arguments) == 0
    shown = capsys.readouterr()
    first = shown.err.splitlines()[0]
    assert first.startswith("note: Drug: the training documents have only 4 labelled mentions (2 different terms)")
    assert "note: Disease" not in shown.err
    assert "estimated share of entities among words labelled O: " in shown.out


BETTER, WORSE = {"precision": 0.875, "recall": 0.5, "f1": 0.6364}, {"precision": 0.25, "recall": 0.125, "f1": 0.1667}


@pytest.mark.parametrize(
    ("recommended", "line"),
    [
        ("both", "recommended: the model and the terms together (--combine prefer-gazetteer, the default of predict, "),
        ("model", "recommended: the model alone (--combine off, the default of predict, "),
        ("terms", "recommended: the terms alone (--combine terms, the default of predict, "),
    ],
)
def test_training_says_what_to_expect(
    recommended: str, line: str, corpus: Path, labelled: Path, run: Path, tmp_path: Path, capsys: Any
) -> None:
    """The card decides, also for a run that is finished already."""
    copied = shutil.copytree(run, tmp_path / "run")
    path = copied / "best" / "config.json"
    description = json.loads(path.read_text())
    expected = {way: BETTER if way == recommended else WORSE for way in ("both", "model", "terms")}
    description["card"] |= {"recommended": recommended, "expected scores": expected}
    path.write_text(json.dumps(description))
    again = ["train", "--train", corpus, "--gazetteer", TERMS, "--dev", labelled, "--output", copied, *SETTINGS]
    assert call(*again, "--resume") == 0
    shown = capsys.readouterr().out.splitlines()
    start = shown.index("expected precision / recall / F1, by word (rough: no human label was used):")
    names = ("the model and the terms together", "the model alone", "the terms alone")
    numbers = {way: "87.50 / 50.00 / 63.64" if way == recommended else "25.00 / 12.50 / 16.67" for way in expected}
    assert shown[start + 1 : start + 4] == [f"  {n}: {numbers[w]} %" for n, w in zip(names, expected, strict=True)]
    assert shown[start + 4].startswith(f"{line}evaluate and serve with --gazetteer)")
    worse = "; the model is expected to be worse than the term list alone"
    assert shown[start + 4].endswith(worse) == (recommended == "terms")
    assert call(*again, "--resume", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["recommended"], figures["expected_scores"]) == (recommended, expected)


def test_a_method_without_estimates_says_nothing(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = write_roberta(tmp_path, positions=200)
    arguments = ["--train", corpus, "--gazetteer", TERMS, "--encoder", encoder, "--output", tmp_path / "run", *SETTINGS]
    assert call("train", *arguments, "--method", "tagger") == 0
    shown = capsys.readouterr().out
    assert "expected" not in shown
    assert "recommended" not in shown
    assert call("train", *arguments, "--method", "tagger", "--resume", "--json") == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["recommended"], figures["expected_scores"]) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--force", "--resume"], "--force replaces a run, and --resume continues it; pass only one of them"),
        (["--device", "gpu"], "mproto train: there is no device 'gpu'; choose auto"),
        (["--set", "training.batch_size=0"], "training.batch_size is 0, and must be at least 1"),
        (["--set", "training.selection=dev"], "training.selection is dev, but there are no development data"),
        (["--method", "mpus"], "there is no method 'mpus'; did you mean mpu?"),
        (["--method", "dictionary"], "there is no method 'dictionary'; dictionary lookup needs no training: label"),
        (
            ["--method", "mpu", "--set", "positive_unlabelled.priors={Chemical = 0.5, Disease = 0.75}"],
            "positive_unlabelled.priors sum to 1.25, but must sum to less than 1; a prior is the share of all words",
        ),
        (["--method", "mpu", "--set", "positive_unlabelled.priors.Gene=0.1"], "has no value for Chemical, Disease"),
        (["--set", "positive_unlabelled.eta=1"], "there is no setting 'positive_unlabelled.eta'; it became a constant"),
        (
            ["--method", "autoner", "--set", "autoner.phrases=full.txt"],
            "autoner.phrases cannot be read: full.txt: no such",
        ),
        (
            ["--method", "self-training", "--set", "self_training.teacher=mpruto"],
            "no method 'mpruto'; did you mean mproto?",
        ),
    ],
)
def test_contradictory_or_unknown_arguments(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encoder = write_roberta(tmp_path, positions=200)
    files = ["--train", TRAIN, "--gazetteer", TERMS, "--encoder", encoder, "--output", tmp_path / "run"]
    assert call("train", *files, *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_terms_of_a_type_that_the_model_does_not_have_are_noted(
    run: Path, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "drugs.txt").write_text("aspirin\nibuprofen\n")
    arguments = ["predict", run, corpus, "--gazetteer", f"Drug={tmp_path / 'drugs.txt'}", "--output"]
    assert call(*arguments, tmp_path / "out.jsonl") == 0
    note = "2 terms have a type that the model does not have: Drug (it has Disease, Chemical)"
    assert note in capsys.readouterr().err


def test_terms_that_do_not_occur_are_an_error(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cars.txt").write_text("Lancia\nSaab\n")
    terms = f"Car={tmp_path / 'cars.txt'}"
    assert call("train", "--train", corpus, "--gazetteer", terms, "--output", tmp_path / "run") == 2
    assert "none of the terms of the gazetteer (2) occurs in its" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
