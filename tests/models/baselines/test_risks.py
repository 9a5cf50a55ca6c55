"""Positive-unlabelled risks: computed by hand, by plain loops, and identities between them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mproto.models.baselines.risks import absolute_error, class_means, conf_mpu, mpn, mpu, risks

# One word labelled A with p(A) = 0.8, and two without a label, with p(O) = 0.6 and 0.9. Two classes: ℓ = 1 − p.
# Hence R⁺ = 0.2, R⁻ = 1 − 0.2 = 0.8, R_U⁻ = (0.4 + 0.1) / 2 = 0.25.
LOGITS = torch.tensor([[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]], dtype=torch.float64).log()
LABELS = torch.tensor([1, 0, 0])


def prior(value: float) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.float64)


def test_risks_by_hand() -> None:
    found = risks(LOGITS, LABELS)
    assert found.positive.tolist() == pytest.approx([0.2])
    assert found.negative.tolist() == pytest.approx([0.8])
    assert found.unlabelled.item() == pytest.approx(0.25)


def test_three_classes_by_hand() -> None:
    """ℓ = 2 (1 − p) / 3."""
    logits = torch.tensor([[0.5, 0.2, 0.3]]).log()
    assert absolute_error(logits, torch.tensor([2])).item() == pytest.approx(2 * 0.7 / 3)
    assert absolute_error(logits, 0).item() == pytest.approx(1 / 3)


def test_mpn_by_hand() -> None:
    """2 · 0.3 · 0.2 + 0.7 · 0.25."""
    assert mpn(risks(LOGITS, LABELS), prior(0.3), 2).item() == pytest.approx(0.295)


def test_mpu_by_hand_and_its_correction() -> None:
    found = risks(LOGITS, LABELS)
    assert mpu(found, prior(0.3), 2).item() == pytest.approx(0.25 - 0.24 + 2 * 0.3 * 0.2)
    assert mpu(found, prior(0.4), 2).item() == pytest.approx(0.32 - 0.25)  # 0.25 − 0.4 · 0.8 is negative


def test_conf_mpu_by_hand_and_its_correction() -> None:
    """The labelled word (0.8) and one other (0.7) are confident entities; only the third counts as O."""
    sure = torch.tensor([0.8, 0.7, 0.1], dtype=torch.float64)
    loss = conf_mpu(LOGITS, LABELS, sure, prior(0.3), weight=2, eta=0.5)
    assert loss.item() == pytest.approx(2 * 0.3 * (0.2 - 0.8 + 0.8 / 0.8) + 0.1)
    unsure = torch.tensor([0.4, 0.7, 0.1], dtype=torch.float64)  # 0.2 − 0.8 + 0 is negative
    assert conf_mpu(LOGITS, LABELS, unsure, prior(0.3), weight=2, eta=0.5).item() == pytest.approx(0.1)


@st.composite
def words(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Logits, labels, confidences and priors of a few words of two to four classes; some classes may be missing."""
    classes, count = draw(st.integers(2, 4)), draw(st.integers(1, 12))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    logits = torch.randn(count, classes, generator=generator, dtype=torch.float64) * 3
    labels = torch.tensor(draw(st.lists(st.integers(0, classes - 1), min_size=count, max_size=count)))
    confidence = torch.rand(count, generator=generator, dtype=torch.float64).clamp_min(1e-3)
    priors = torch.rand(classes - 1, generator=generator, dtype=torch.float64) / classes
    return logits.requires_grad_(), labels, confidence, priors


def plain_mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


@given(words())
def test_against_plain_loops(given: tuple[torch.Tensor, ...]) -> None:
    logits, labels, confidence, priors = given
    count, classes = logits.shape
    eta, m = 0.5, 3.0
    p = logits.softmax(-1).tolist()
    error = [[2 * (1 - p[n][y]) / classes for y in range(classes)] for n in range(count)]
    of = [[n for n in range(count) if labels[n] == i] for i in range(classes)]
    pi = [0.0, *priors.tolist()]
    plus = sum(pi[i] * plain_mean([error[n][i] for n in of[i]]) for i in range(1, classes))
    minus = sum(pi[i] * plain_mean([error[n][0] for n in of[i]]) for i in range(1, classes))
    unlabelled = plain_mean([error[n][0] for n in of[0]])
    found = risks(logits, labels)
    assert mpn(found, priors, m).item() == pytest.approx(m * plus + (1 - sum(pi)) * unlabelled)
    rest = unlabelled - minus
    assert mpu(found, priors, m).item() == pytest.approx(rest + m * plus if rest >= 0 else -rest)
    lam = confidence.tolist()
    instead = sum(pi[i] * plain_mean([error[n][0] / lam[n] for n in of[i] if lam[n] > eta]) for i in range(1, classes))
    positive, negative = plus - minus + instead, plain_mean([error[n][0] for n in of[0] if lam[n] <= eta])
    expected = m * positive + negative if positive >= 0 else negative
    assert conf_mpu(logits, labels, confidence, priors, weight=m, eta=eta).item() == pytest.approx(expected)


@given(words())
def test_known_identities(given: tuple[torch.Tensor, ...]) -> None:
    logits, labels, _, priors = given
    found = risks(logits, labels)
    nothing = torch.zeros_like(priors)
    assert mpu(found, nothing, 3).item() == pytest.approx(mpn(found, nothing, 3).item())  # both are R_U⁻
    assert mpu(found, nothing, 3).item() == pytest.approx(found.unlabelled.item())
    # All labels are confident, and no other word is: the risk of unlabelled words is not corrected.
    certain = (labels > 0).double()
    loss = conf_mpu(logits, labels, certain.clamp_min(1e-6), priors, weight=3, eta=0.5)
    assert loss.item() == pytest.approx((3 * (priors * found.positive).sum() + found.unlabelled).item())
    assert 0 <= found.unlabelled.item() <= 2 / logits.shape[1]


@given(words())
def test_gradients_are_numbers_where_classes_are_missing(given: tuple[torch.Tensor, ...]) -> None:
    logits, labels, confidence, priors = given
    for loss in (
        mpn(risks(logits, labels), priors, 3),
        mpu(risks(logits, labels), priors, 3),
        conf_mpu(logits, labels, confidence, priors, weight=3, eta=0.5),
    ):
        logits.grad = None
        loss.backward()
        assert logits.grad is not None
        assert torch.isfinite(logits.grad).all()


@given(words(), st.integers(0, 12))
def test_parts_of_two_processes_add_up(given: tuple[torch.Tensor, ...], cut: int) -> None:
    """`all_reduce` gives each of two processes the sum of both parts."""
    logits, labels, _, _ = given
    losses, classes = absolute_error(logits, labels), logits.shape[1]
    counts = torch.bincount(labels, minlength=classes)
    parts = [
        class_means(losses[part], labels[part], classes, lambda _: counts) for part in (slice(cut), slice(cut, None))
    ]
    torch.testing.assert_close(sum(parts), class_means(losses, labels, classes))
