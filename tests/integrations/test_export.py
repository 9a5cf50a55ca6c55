"""Exported models: parts of the graph against PyTorch, whole models against the original, and damaged folders."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders import embedded, write_roberta
from mproto import Document, Recognizer, demo, train
from mproto.cli import main
from mproto.errors import InputError, MprotoError
from mproto.extensions.viterbi import most_likely
from mproto.integrations.comparison import Comparison, compare
from mproto.integrations.onnx import export_onnx
from mproto.integrations.onnx_decoding import decoding_graph, select_graph
from mproto.models.baselines.tagger import TaggerModel
from mproto.persistence.card import RECOMMENDED, with_scores
from mproto.persistence.files import GRAPH_FILE
from mproto.text.scoring import Counts
from mproto.workflows.export import export_model
from runs import labelled, small_config, small_model

TEXTS = [document.text for document in demo.documents("test")[:10]]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 2**31 - 1))
def test_the_graph_decodes_tags_like_torch(lengths: list[int], seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    log_probs = torch.randn(sum(lengths), 3, generator=generator)
    transitions = torch.randn(3, 3, generator=generator)
    inputs = {
        "log_probs": log_probs.numpy(),
        "rows": np.repeat(np.arange(len(lengths)), lengths),
        "places": np.concatenate([np.arange(length) for length in lengths]),
        "lengths": np.array(lengths),
    }
    (tags,) = onnxruntime.InferenceSession(decoding_graph(transitions).SerializeToString()).run(None, inputs)
    assert tags.tolist() == most_likely(log_probs, lengths, transitions).tolist()
    session = onnxruntime.InferenceSession(select_graph("log_probs", "selected").SerializeToString())
    (selected,) = session.run(None, {"tags": tags, "log_probs": log_probs.numpy()})
    np.testing.assert_array_equal(selected, log_probs.numpy()[np.arange(len(tags)), tags])


@cache
def tiny(method: str, *further: str) -> Path:
    """Train and save a model with a tiny cased encoder."""
    import tempfile

    folder = Path(tempfile.mkdtemp())
    config = small_config(f"encoder={write_roberta(folder, positions=80)}", *further, method=method)
    train(labelled(), config=config).recognizer.save_pretrained(folder / "model")
    return folder / "model"


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_an_exported_model_agrees_with_the_original(method: str, tmp_path: Path) -> None:
    comparison = export_model(tiny(method), tmp_path / "out")
    assert comparison.agreement == 1
    assert comparison.f1 in (0, 1)  # 0 if there are no entities
    original, exported = Recognizer.from_pretrained(tiny(method)), Recognizer.from_pretrained(tmp_path / "out")
    long = " ".join(TEXTS * 3)  # several windows
    for one, other in zip(original([*TEXTS, long, ""]), exported([*TEXTS, long, ""]), strict=True):
        assert [{**e, "score": 0} for e in one] == [{**e, "score": 0} for e in other]
        assert [e["score"] for e in one] == pytest.approx([e["score"] for e in other], abs=1e-4)
    one, other = (ner(long, provenance=True) for ner in (original, exported))
    assert [e["provenance"].get("prototype") for e in one] == [e["provenance"].get("prototype") for e in other]
    assert [e["provenance"]["like"] for e in one] == [e["provenance"]["like"] for e in other]
    assert exported.labels == original.labels
    assert exported.recommended_combination == original.recommended_combination
    assert (exported.recommended_combination is not None) == (method == "mproto")
    card = (tmp_path / "out" / "README.md").read_text()
    assert card == exported.model_card()
    differs = set(card.splitlines()) ^ set(original.model_card().splitlines())
    assert len(differs) == 3, "two lines about installation, and one about the export"
    assert any("ONNX" in line and "as they were trained" in line for line in differs)
    assert any("mproto-ner[onnx]" in line for line in differs)
    exported.record_scores(tmp_path / "out", "ours", Counts(1, 2, 4))
    card = (tmp_path / "out" / "README.md").read_text()
    assert card == exported.model_card()
    original.card = with_scores(original.card, "ours", Counts(1, 2, 4).as_dict())
    assert set(card.splitlines()) ^ set(original.model_card().splitlines()) == differs
    with pytest.raises(InputError, match="only finds entities"):
        _ = exported.model
    with pytest.raises(InputError, match="runs on the CPU"):
        exported.to("cuda")


@pytest.mark.parametrize("bias", [-3.0, 3.0, 20.0])
@pytest.mark.parametrize("method", ["mproto", "tagger", "self-training"])
def test_the_bias_of_entities_is_exported(method: str, bias: float, tmp_path: Path) -> None:
    original = Recognizer.from_pretrained(tiny(method))
    words: list[tuple[list[int], list[float]]] = []
    for own in (0.0, bias):
        original.model.entity_bias = own
        words.append(_tagged(original))
    export_onnx(original, tmp_path)
    tags, scores = _tagged(Recognizer.from_pretrained(tmp_path))
    assert tags == words[1][0]
    assert scores == pytest.approx(words[1][1], abs=1e-5)
    assert scores != pytest.approx(words[0][1], abs=1e-3)


@pytest.mark.parametrize("bias", [-20.0, 2.0])
def test_the_bias_of_entities_is_exported_for_transformers(bias: float, tmp_path: Path) -> None:
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    original = Recognizer.from_pretrained(tiny("tagger"))
    original.model.entity_bias = bias
    original.save_pretrained(tmp_path / "model")
    export_model(tmp_path / "model", tmp_path / "out", format="transformers")
    plain = AutoModelForTokenClassification.from_pretrained(tmp_path / "out").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out", add_prefix_space=True)
    document = Document("this is a text of hello world words")
    inputs = tokenizer([list(document.word_texts)], is_split_into_words=True, return_tensors="pt")
    best = plain(**inputs).logits[0].softmax(-1).max(-1)
    words = inputs.word_ids(0)
    firsts = [i for i, word in enumerate(words) if word is not None and word != words[i - 1]]
    (_, tagged), *_ = original.predict_words([document])
    assert best.indices[firsts].tolist() == tagged.tags
    assert best.values[firsts].tolist() == pytest.approx(tagged.scores, abs=1e-5)


def _tagged(recognizer: Recognizer) -> tuple[list[int], list[float]]:
    """Return the tags and the scores of all words."""
    found = [words for _, words in recognizer.predict_words([Document(text) for text in TEXTS])]
    return [tag for words in found for tag in words.tags], [score for words in found for score in words.scores]


@pytest.mark.slow
def test_the_embedded_encoder_in_eight_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    embedded()
    small_model().save_pretrained(tmp_path / "model")
    code = main(["export", str(tmp_path / "model"), str(tmp_path / "out"), "--int8", "--json"])
    output = capsys.readouterr()
    if code:  # an undertrained model may not survive quantization; then nothing is written
        assert "should be the same" in output.err
        assert {path.name for path in tmp_path.iterdir()} == {"model"}
        return
    assert json.loads(output.out)["agreement"] >= 0.98
    size = (tmp_path / "out" / GRAPH_FILE).stat().st_size
    assert size < 0.3 * (tmp_path / "model" / "model.safetensors").stat().st_size
    assert Recognizer.from_pretrained(tmp_path / "out")("Aspirin helps")


@pytest.mark.parametrize("method", ["mproto", "tagger"])
def test_eight_bits(method: str, tmp_path: Path) -> None:
    """Quantization changes scores a little. (An undertrained model may still fail the check, which is not run here.)"""
    original = Recognizer.from_pretrained(tiny(method))
    original.card = with_scores({**original.card, RECOMMENDED: "terms"}, "ours", Counts(1, 2, 4).as_dict())
    export_onnx(original, tmp_path, int8=True)
    rounded = Recognizer.from_pretrained(tmp_path)
    assert "scores" in original.card
    assert "scores" not in rounded.card  # they were measured before quantization
    assert rounded.recommended_combination == "terms"
    assert "eight bits" in (tmp_path / "README.md").read_text()
    (_, one), *_ = original.predict_words([Document(TEXTS[0])])
    (_, other), *_ = rounded.predict_words([Document(TEXTS[0])])
    assert one.scores != other.scores
    assert one.scores == pytest.approx(other.scores, abs=0.1)


@pytest.mark.parametrize("inner", ["", "best"])
def test_a_model_is_not_replaced_by_its_export(inner: str, tmp_path: Path) -> None:
    shutil.copytree(tiny("mproto"), tmp_path / "run" / inner, dirs_exist_ok=True)
    for output in {tmp_path / "run", tmp_path / "run" / inner}:
        with pytest.raises(InputError, match="the folder of the model itself"):
            export_model(tmp_path / "run", output, force=True)
    assert Recognizer.from_pretrained(tmp_path / "run")


def test_torch_is_not_needed() -> None:
    code = (
        "import sys\n"
        "for name in ('torch', 'transformers'): sys.modules[name] = None\n"
        "from mproto import Recognizer\n"
        "from mproto.cli import main\n"
        f"model, labelled = {str(_exported())!r}, {str(demo.FOLDER / 'test.jsonl')!r}\n"
        "assert main(['predict', model, '-', '--from', 'text', '--to', 'jsonl', '--output', '-']) == 0\n"
        "print(Recognizer.from_pretrained(model)('Aspirin helps', provenance=True))\n"
        "assert main(['evaluate', model, labelled, '--json']) == 0\n"
        "from mproto.service.limits import Limits\n"
        "from mproto.service.served_model import ServedModel\n"
        "served = ServedModel(lambda: Recognizer.from_pretrained(model), 'ours', Limits())\n"
        "import mproto.cli.serve, mproto.service.server\n"
        "served.start()\n"
        "served.wait()\n"
        "assert served.state == 'ready', served.failure\n"
        "served.stop()\n"
    )
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, input="Aspirin helps\n", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["text"] == "Aspirin helps"
    assert done.stdout.splitlines()[1].startswith("[")
    assert "f1" in json.loads("".join(done.stdout.splitlines()[2:]))["overall"]


def test_a_folder_for_transformers(tmp_path: Path) -> None:
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    export_model(tiny("tagger"), tmp_path / "out", format="transformers")
    assert (
        len({path.stat().st_mode for path in (tmp_path / "out").iterdir()}) == 1
    )  # all files have the same permissions
    plain = AutoModelForTokenClassification.from_pretrained(tmp_path / "out").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out", add_prefix_space=True)
    document = Document("this is a text of hello world words")
    inputs = tokenizer([list(document.word_texts)], is_split_into_words=True, return_tensors="pt")
    tags = plain(**inputs).logits[0].argmax(-1)
    (_, tagged), *_ = Recognizer.from_pretrained(tiny("tagger")).predict_words([document])
    words = inputs.word_ids(0)
    firsts = [i for i, word in enumerate(words) if word is not None and word != words[i - 1]]
    assert tags[firsts].tolist() == tagged.tags


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("mproto", {"format": "transformers"}, "prototypes.*export it as onnx"),
        ("autoner", {}, "classifies spans"),
        ("autoner", {"format": "transformers"}, "classifies spans"),
        ("tagger", {"format": "transformers", "int8": True}, "only ONNX exports can have 8-bit weights"),
    ],
)
def test_what_cannot_be_exported(method: str, options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        export_model(tiny(method), tmp_path / "out", **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_word_shapes_cannot_be_exported_for_transformers(tmp_path: Path) -> None:
    config = small_config(method="tagger")
    Recognizer(TaggerModel.build(embedded(), ["A"], config), config).save_pretrained(tmp_path / "model")
    with pytest.raises(InputError, match="word_shapes=false"):
        export_model(tmp_path / "model", tmp_path / "out", format="transformers")


def test_different_models_fail_the_comparison() -> None:
    documents = list(demo.documents("test")[:6])
    one, other = Recognizer.from_pretrained(tiny("mproto")), small_model()
    comparison = compare(one, other, documents, gold=True)
    assert comparison.words == sum(document.word_count for document in documents)
    assert comparison.exported is not None
    assert 0 < comparison.agreement < 1
    with pytest.raises(MprotoError, match="all of them should be the same"):
        comparison.check(exact=True)
    same = compare(other, other, documents, gold=True)
    assert (same.agreement, same.f1, same.difference) == (1, 1, 0)
    same.check(exact=True)
    with pytest.raises(MprotoError, match="F1 is 2.00 lower"):
        Comparison(1, 100, 99, 0.9, 0.8, 0.78).check(exact=False)


class TestDamage:
    @pytest.fixture
    def exported(self, tmp_path: Path) -> Path:
        return Path(shutil.copytree(_exported(), tmp_path / "model"))

    def test_another_version(self, exported: Path) -> None:
        description = json.loads((exported / "config.json").read_text())
        description["onnx"]["graph"] = 99
        (exported / "config.json").write_text(json.dumps(description))
        with pytest.raises(
            InputError, match=r"version 99; this version reads graphs of version 1.*export the model again"
        ):
            Recognizer.from_pretrained(exported)

    @pytest.mark.parametrize("name", [GRAPH_FILE, "tokenizer.json"])
    def test_a_file_is_missing_or_another(self, exported: Path, name: str) -> None:
        (exported / name).write_bytes((exported / name).read_bytes()[:-10])
        with pytest.raises(InputError, match="is not the file that was saved"):
            Recognizer.from_pretrained(exported)
        (exported / name).unlink()
        with pytest.raises(InputError, match=f"does not contain {name}"):
            Recognizer.from_pretrained(exported)

    def test_a_file_that_is_not_a_graph(self, exported: Path) -> None:
        description = json.loads((exported / "config.json").read_text())
        del description["files"]
        (exported / "config.json").write_text(json.dumps(description))
        (exported / GRAPH_FILE).write_bytes(b"no graph")
        with pytest.raises(InputError, match="cannot be read by onnxruntime"):
            Recognizer.from_pretrained(exported)

    def test_a_pickle(self, tmp_path: Path) -> None:
        model = Path(shutil.copytree(tiny("mproto"), tmp_path / "model"))
        (model / "model.safetensors").write_bytes(b"\x80\x04\x95 evil")
        with pytest.raises(InputError, match="is a pickle.*never read"):
            Recognizer.from_pretrained(model)


@cache
def _exported() -> Path:
    folder = tiny("mproto").parent / "onnx"
    export_model(tiny("mproto"), folder)
    return folder
