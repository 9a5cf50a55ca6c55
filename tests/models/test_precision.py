"""bfloat16 is close to float32, keeps attention exact on a CPU, and is only used in training there."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.nn.functional import cosine_similarity, scaled_dot_product_attention

from encoders import embedded, write_roberta
from mproto import Recognizer, train
from mproto.errors import InputError
from mproto.models import precision
from mproto.models.batch import collate, make_windows
from mproto.models.encoder import Encoder
from runs import labelled, small_config

CPU = torch.device("cpu")
WORDS = [["Selegiline", "causes", "postural", "hypotension", "in", "some"], ["No", "fever"]]


def test_features_are_close_to_those_of_float32() -> None:
    encoder = Encoder.load(embedded().name)
    batch = collate(make_windows(WORDS, encoder.tokens, encoder.window), encoder.pad_id)
    exact = encoder(batch)
    encoder.mixed = True
    mixed = encoder(batch)
    assert mixed.dtype == torch.float32
    assert not torch.equal(mixed, exact)
    assert cosine_similarity(mixed, exact).min() > 0.999
    mixed.sum().backward()
    gradients = [p.grad for p in encoder.parameters() if p.grad is not None]
    assert any(gradient.abs().sum() > 0 for gradient in gradients)
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("named", [False, True])
def test_attention_stays_exact_on_a_cpu(named: bool) -> None:
    query, key, value, mask = (torch.randn(2, 3, 5, 4, generator=torch.Generator().manual_seed(n)) for n in range(4))
    mask = mask[..., 0].unsqueeze(-2).bfloat16()  # (2, 3, 1, 5): of the keys
    half = [tensor.bfloat16() for tensor in (query, key, value)]
    exact = scaled_dot_product_attention(*(tensor.float() for tensor in half), attn_mask=mask.float())
    with precision.mixed_precision(CPU):
        if named:
            found = scaled_dot_product_attention(query=half[0], key=half[1], value=half[2], attn_mask=mask)
        else:
            found = scaled_dot_product_attention(*half, mask)
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16  # other products are in bfloat16
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, exact.bfloat16())


def test_a_processor_without_bfloat16_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_processor_has_bfloat16", lambda device: False)
    assert not precision.trains_in_bfloat16("auto", CPU)
    assert not precision.trains_in_bfloat16("float32", CPU)
    with pytest.raises(InputError, match="training.precision is bfloat16, but 'cpu' does not support it"):
        precision.trains_in_bfloat16("bfloat16", CPU)


def test_torch_reports_whether_a_processor_has_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    for able, expected in (
        ({"avx512_bf16": True}, True),
        ({"avx512_f": True, "avx512_bf16": False}, False),
        ({}, False),
    ):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda able=able: able, raising=False)
        assert precision._processor_has_bfloat16(CPU) is expected
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert not precision._processor_has_bfloat16(CPU)


def test_a_trained_model_gives_the_same_results_after_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_processor_has_bfloat16", lambda device: True)
    encoder = str(write_roberta(tmp_path, positions=200))
    exact, mixed = (
        train(labelled(16), config=small_config(f"training.precision={name}", encoder=encoder)).recognizer
        for name in ("float32", "bfloat16")
    )
    assert not mixed.model.encoder.mixed
    trained, plain = mixed.model.state_dict(), exact.model.state_dict()
    assert any(not torch.equal(trained[name], plain[name]) for name in plain)  # it was trained in bfloat16
    mixed.save_pretrained(tmp_path / "model")
    text = "Aspirin for a headache."
    windows = make_windows([text.split()], mixed.model.tokens, mixed.model.window)
    loaded = Recognizer.from_pretrained(tmp_path / "model")
    assert loaded.tagger.tag(windows) == mixed.tagger.tag(windows)
