"""Every class on its own, solved by POT, gives the same assignment; and a plan cut off keeps more than β of the O words."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from mproto.method.assignment import Assignment, Transport, assign
from mproto.method.prototypes import OTHER
from mproto.method.sinkhorn import Plan

ot = pytest.importorskip("ot")
ITERATIONS = 25
PAPER = Transport(iterations=ITERATIONS)


@dataclass(frozen=True)
class Case:
    similarity: Tensor
    labels: Tensor
    class_of: Tensor


def case(sizes: list[int], counts: list[int], seed: int, spread: float = 1.0, dimension: int = 8) -> Case:
    """Words of class k around prototypes of class k, so many of each class, in any order."""
    generator = torch.Generator().manual_seed(seed)
    class_of = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    labels = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    labels = labels[torch.randperm(len(labels), generator=generator)]
    prototypes = normalize(torch.randn(len(class_of), dimension, generator=generator, dtype=torch.float64), dim=-1)
    first = torch.tensor(sizes).cumsum(0) - torch.tensor(sizes)
    words = prototypes[first[labels]] + spread * torch.randn(
        len(labels), dimension, generator=generator, dtype=torch.float64
    )
    return Case(normalize(words, dim=-1) @ prototypes.T, labels, class_of)


def pot(cost: Tensor, b: list[float]) -> Tensor:
    plan: Tensor = ot.bregman.sinkhorn_log(
        cost.new_ones(len(cost)),
        cost.new_tensor(b),
        cost,
        0.001,
        numItermax=ITERATIONS,
        stopThr=0,
        warn=False,
    )
    return plan


def plans_by_a_loop(given: Case, beta: float | None) -> Tensor:
    """(N, P): the plan of each word, −1 for prototypes that it may not go to."""
    plans = torch.full_like(given.similarity, -1.0)
    numbers = given.class_of.tolist()
    for number in sorted(set(numbers)):
        words = [i for i, label in enumerate(given.labels.tolist()) if label == number]
        denoised = number == OTHER and beta is not None
        columns = [j for j, c in enumerate(numbers) if denoised or c == number]
        shares = [1 / len(columns)] * len(columns)
        if denoised:
            share = beta / numbers.count(OTHER), (1 - beta) / (len(numbers) - numbers.count(OTHER))
            shares = [share[c != OTHER] for c in numbers]
        if words:
            cost = 1 - given.similarity[words][:, columns]
            plans[torch.tensor(words)[:, None], torch.tensor(columns)] = pot(cost, [s * len(words) for s in shares])
    return plans


@given(st.integers(0, 10_000), st.floats(0.05, 0.95))
@settings(max_examples=20, deadline=None)
def test_certain_words_go_to_their_own_class_and_the_others_as_if_alone(seed: int, beta: float) -> None:
    given = case([2, 2, 2], [30, 6, 6], seed)
    certain = torch.rand(len(given.labels), generator=torch.Generator().manual_seed(seed)) < 0.4
    found = assign(given.similarity, given.labels, given.class_of, PAPER, beta=beta, certain=certain)
    assert torch.equal(given.class_of[found.target[certain]], given.labels[certain])
    assert bool(found.keep[certain].all())
    doubted = ~certain & (given.labels == OTHER)
    alone = assign(given.similarity[doubted], given.labels[doubted], given.class_of, PAPER, beta=beta)
    assert torch.equal(found.keep[doubted], alone.keep)


def check(given: Case, beta: float | None, assignment: Assignment) -> None:
    plans = plans_by_a_loop(given, beta)
    best = plans.topk(min(2, plans.shape[1]), -1).values
    clear = (best[:, 0] - best[:, -1]) > 1e-6
    assert assignment.target.dtype == torch.long
    assert torch.equal(assignment.target[clear], plans.argmax(-1)[clear])
    chosen = plans.gather(1, assignment.target[:, None]).squeeze(-1)
    torch.testing.assert_close(chosen, best[:, 0], atol=1e-6, rtol=0)  # near ties too go to one of the best
    kept = [
        label != OTHER or beta is None or given.class_of[target] == OTHER
        for label, target in zip(given.labels.tolist(), assignment.target.tolist(), strict=True)
    ]
    assert assignment.keep.tolist() == kept
    classes = int(given.class_of.max()) + 1
    mass = one_hot(given.labels, classes).to(plans.dtype)
    if beta is not None:
        mass[given.labels == OTHER] = (plans @ one_hot(given.class_of, classes).to(plans.dtype))[given.labels == OTHER]
    torch.testing.assert_close(assignment.mass, mass, atol=1e-6, rtol=0)
    torch.testing.assert_close(assignment.mass.sum(-1), torch.ones(len(given.labels), dtype=torch.float64))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    counts = draw(st.lists(st.integers(0, 25), min_size=len(sizes), max_size=len(sizes)))
    return case(sizes, counts, draw(st.integers(0, 10**6)), spread=draw(st.sampled_from([0.01, 0.3, 3.0])))


@settings(max_examples=50)
@given(cases(), st.sampled_from([None, 0.0, 0.01, 0.5, 1.0]))
def test_words_go_where_a_loop_over_classes_sends_them(given: Case, beta: float | None) -> None:
    check(given, beta, assign(given.similarity, given.labels, given.class_of, PAPER, beta=beta))


@pytest.mark.parametrize("beta", [None, 0.01])
@pytest.mark.parametrize(
    ("sizes", "counts"),
    [
        pytest.param([3, 3, 3], [40, 2, 1], id="fewer words than prototypes"),
        pytest.param([3, 3, 3], [40, 0, 9], id="a class without words"),
        pytest.param([3, 3, 3], [40, 9, 0], id="the last class without words"),
        pytest.param([3, 3, 3], [30, 0, 0], id="all O"),
        pytest.param([3, 3, 3], [0, 20, 10], id="no O"),
        pytest.param([3, 3], [1, 0], id="one word, O"),
        pytest.param([3, 3], [0, 1], id="one word, an entity"),
        pytest.param([3, 3], [0, 0], id="no word"),
        pytest.param([5, 1, 2, 4], [30, 10, 1, 12], id="different M"),
        pytest.param([1, 1], [10, 10], id="one prototype each"),
    ],
)
def test_odd_batches(sizes: list[int], counts: list[int], beta: float | None) -> None:
    given = case(sizes, counts, seed=1)
    check(given, beta, assign(given.similarity, given.labels, given.class_of, PAPER, beta=beta))


def test_identical_words_and_prototypes() -> None:
    given = case([3, 3], [20, 20], 0)
    flat = Case(torch.ones_like(given.similarity), given.labels, given.class_of)
    for beta in (None, 0.01):
        check(flat, beta, assign(flat.similarity, flat.labels, flat.class_of, PAPER, beta=beta))


@dataclass(frozen=True)
class Listening(Transport):
    """Solves nothing, and remembers what it was asked."""

    heard: list[tuple[Tensor, Tensor, Tensor]] = field(default_factory=list)

    def __call__(self, cost: Tensor, a: Tensor, b: Tensor) -> Plan:
        self.heard.append((cost, a, b))
        return Plan.of(-cost, a, b, 0)


def test_each_side_has_the_same_mass_to_the_last_digit() -> None:
    given, transport = case([3, 3, 7], [100, 10, 11], 0), Listening()
    assign(given.similarity.float(), given.labels, given.class_of, transport, beta=0.01)
    (_, a, b), (_, all_a, all_b) = transport.heard
    assert a.sum(-1).tolist() == [0, 10, 11]
    torch.testing.assert_close(b.sum(-1), a.sum(-1), atol=1e-13, rtol=0)
    assert all_b[:3].tolist() == pytest.approx([1 / 3] * 3, abs=1e-14)
    assert all_b[3:].tolist() == pytest.approx([9.9] * 10, abs=1e-13)
    torch.testing.assert_close(all_b.sum(), all_a.sum(), atol=1e-12, rtol=0)


def test_a_word_that_no_plan_would_move_is_not_sent_to_another_class() -> None:
    """Even where every word of an entity class is nearer to the prototypes of another one."""
    given = case([2, 2, 2], [0, 8, 8], 3, spread=0.01)
    swapped = torch.where(given.labels == 1, 2, 1)
    target = assign(given.similarity, swapped, given.class_of, PAPER, beta=0.01).target
    assert torch.equal(given.class_of[target], swapped)


def test_types_and_gradients() -> None:
    given = case([3, 3], [20, 10], 0)
    similarity = given.similarity.float().requires_grad_()
    assignment = assign(similarity, given.labels, given.class_of, PAPER, beta=0.01)
    assert (assignment.target.dtype, assignment.keep.dtype) == (torch.long, torch.bool)
    assert assignment.mass.dtype == torch.float32
    assert not assignment.mass.requires_grad


def doubtful_words(n: int = 300) -> Case:
    """Words labelled O at the nine prototypes, one in ten at those of the two entity classes: what the dictionary missed."""
    generator = torch.Generator().manual_seed(0)
    prototype = torch.cat([torch.arange(n - n // 10) % 3, 3 + torch.arange(n // 10) % 6])
    words = torch.eye(64, dtype=torch.float64)[prototype] + 0.06 * torch.randn(n, 64, generator=generator)
    class_of = torch.arange(9) // 3
    return Case(normalize(words, dim=-1)[:, :9], torch.full((n,), OTHER), class_of)


def test_cut_off_transport_keeps_far_more_than_beta_and_converged_transport_beta() -> None:
    """The paper's β = 0.01 works because the plan is far from having the marginals that it was asked for."""
    given = doubtful_words()
    cut_off, converged = (
        assign(given.similarity, given.labels, given.class_of, Transport(solver), beta=0.01)  # type: ignore[arg-type]
        for solver in ("sinkhorn", "converged")
    )
    missed = torch.arange(len(given.labels)) >= 270
    assert not cut_off.keep[missed].any()
    assert cut_off.keep[~missed].double().mean() > 0.5
    assert converged.keep.double().mean() < 0.02
    assert converged.mass[:, OTHER].mean() == pytest.approx(0.01, abs=1e-4)
    assert cut_off.mass[:, OTHER].mean() > 0.5


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_converged_transport_keeps_about_beta(beta: float) -> None:
    given = doubtful_words()
    kept = assign(given.similarity, given.labels, given.class_of, Transport("converged"), beta=beta).keep
    assert kept.double().mean() == pytest.approx(beta, abs=0.02)


def test_settings_reach_the_solvers() -> None:
    cost, a, b = torch.rand(30, 3, generator=torch.Generator().manual_seed(0)), torch.ones(30), torch.full((3,), 10.0)
    few, many = (Transport(iterations=count)(cost, a, b) for count in (2, 50))
    assert (few.iterations, many.iterations) == (2, 50)
    loose, tight = (Transport("converged", tolerance=tolerance)(cost, a, b) for tolerance in (0.05, 1e-9))
    assert tight.column_error <= 30e-9 < loose.column_error
    sharp, smooth = (Transport("converged", epsilon=epsilon)(cost, a, b).matrix for epsilon in (0.001, 10.0))
    assert sharp.max() > 0.99
    assert smooth.max() < 0.4
