"""Each class on its own, solved by POT, gives the same assignment; the paper's plan keeps far more than β of the O words."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import normalize

from mproto.denoising.base import NoDenoising, StepWords
from mproto.denoising.transport import Transport
from mproto.method import assignment as assignment_module
from mproto.method.assignment import Assignment, assign_within_class, denoised_transport
from mproto.method.prototypes import OTHER
from mproto.method.sinkhorn import ITERATIONS, Plan, sinkhorn
from oracles.converged_transport import converged_transport

ot = pytest.importorskip("ot")


@dataclass(frozen=True)
class Case:
    similarity: Tensor
    labels: Tensor
    class_of: Tensor


def assign(case: Case, beta: float | None, certain: Tensor | None = None) -> Assignment:
    """Assign words with the paper's denoiser, or without one."""
    ids = torch.arange(len(case.labels))
    certain = torch.zeros_like(case.labels, dtype=torch.bool) if certain is None else certain
    denoiser = NoDenoising(1.0) if beta is None else Transport(beta)
    words = StepWords(case.similarity, case.labels, ids, certain)
    return denoiser.assign(words, case.class_of, 0.0).assignment


def case(sizes: list[int], counts: list[int], seed: int, spread: float = 1.0, dimension: int = 8) -> Case:
    """Words of each class around prototypes of that class, in random order."""
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


@given(st.lists(st.integers(1, 4), min_size=2, max_size=4), st.integers(0, 999))
def test_the_only_word_of_a_class_is_assigned_to_its_nearest_prototype(sizes: list[int], seed: int) -> None:
    """Each prototype takes an equal part of it."""
    given = case(sizes, [1] * len(sizes), seed)
    own = given.class_of == given.labels.unsqueeze(-1)
    expected = given.similarity.masked_fill(~own, -torch.inf).argmax(-1)
    found = assign_within_class(given.similarity, given.labels, given.class_of)
    assert torch.equal(found, expected)


def plans_by_a_loop(given: Case, beta: float | None) -> Tensor:
    """(N, P): the plan of each word; −1 for prototypes that it may not be assigned to."""
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


def check(given: Case, beta: float | None, assignment: Assignment) -> None:
    plans = plans_by_a_loop(given, beta)
    best = plans.topk(min(2, plans.shape[1]), -1).values
    clear = (best[:, 0] - best[:, -1]) > 1e-6
    assert assignment.target.dtype == torch.long
    assert assignment.keep.dtype == torch.bool
    assert torch.equal(assignment.target[clear], plans.argmax(-1)[clear])
    chosen = plans.gather(1, assignment.target[:, None]).squeeze(-1)
    torch.testing.assert_close(chosen, best[:, 0], atol=1e-6, rtol=0)  # ties go to one of the best
    kept = [
        label != OTHER or beta is None or given.class_of[target] == OTHER
        for label, target in zip(given.labels.tolist(), assignment.target.tolist(), strict=True)
    ]
    assert assignment.keep.tolist() == kept


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    counts = draw(st.lists(st.integers(0, 25), min_size=len(sizes), max_size=len(sizes)))
    return case(sizes, counts, draw(st.integers(0, 10**6)), spread=draw(st.sampled_from([0.01, 0.3, 3.0])))


@settings(max_examples=50)
@given(cases(), st.sampled_from([None, 0.0, 0.01, 0.5, 1.0]))
def test_against_a_loop_over_classes_with_pot(given: Case, beta: float | None) -> None:
    check(given, beta, assign(given, beta))


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
def test_unusual_batches(sizes: list[int], counts: list[int], beta: float | None) -> None:
    given = case(sizes, counts, seed=1)
    check(given, beta, assign(given, beta))


def test_identical_words_and_prototypes() -> None:
    given = case([3, 3], [20, 20], 0)
    flat = Case(torch.ones_like(given.similarity), given.labels, given.class_of)
    for beta in (None, 0.01):
        check(flat, beta, assign(flat, beta))


@given(st.integers(0, 10_000), st.floats(0.05, 0.95))
@settings(max_examples=20, deadline=None)
def test_human_labels_are_trusted_and_do_not_change_the_others(seed: int, beta: float) -> None:
    given = case([2, 2, 2], [30, 6, 6], seed)
    certain = torch.rand(len(given.labels), generator=torch.Generator().manual_seed(seed)) < 0.4
    found = assign(given, beta, certain)
    assert torch.equal(given.class_of[found.target[certain]], given.labels[certain])
    assert bool(found.keep[certain].all())
    rest = ~certain & (given.labels == OTHER)
    alone = assign(Case(given.similarity[rest], given.labels[rest], given.class_of), beta)
    assert torch.equal(found.keep[rest], alone.keep)


def test_masses_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """The marginals that the solver gets, for float32 similarities."""
    given, problems = case([3, 3, 7], [100, 10, 11], 0), []

    def record(cost: Tensor, a: Tensor, b: Tensor) -> Plan:
        problems.append((a, b))
        return Plan.of(-cost, a, b, 0)

    monkeypatch.setattr(assignment_module, "sinkhorn", record)
    similarity, other = given.similarity.float(), given.labels == OTHER
    assign_within_class(similarity[~other], given.labels[~other], given.class_of)
    denoised_transport(similarity[other], given.class_of, 0.01)
    (a, b), (all_a, all_b) = problems
    assert a.sum(-1).tolist() == [0, 10, 11]
    torch.testing.assert_close(b.sum(-1), a.sum(-1), atol=1e-13, rtol=0)
    assert all_b[:3].tolist() == pytest.approx([1 / 3] * 3, abs=1e-14)
    assert all_b[3:].tolist() == pytest.approx([9.9] * 10, abs=1e-13)
    torch.testing.assert_close(all_b.sum(), all_a.sum(), atol=1e-12, rtol=0)


def test_labelled_words_never_leave_their_class() -> None:
    """Even if every word of an entity class is nearer to the prototypes of another one."""
    given = case([2, 2, 2], [0, 8, 8], 3, spread=0.01)
    swapped = torch.where(given.labels == 1, 2, 1)
    target = assign(Case(given.similarity, swapped, given.class_of), 0.01).target
    assert torch.equal(given.class_of[target], swapped)


def test_no_gradient_flows_through_an_assignment() -> None:
    given = case([3, 3], [20, 10], 0)
    similarity = given.similarity.float().requires_grad_()
    found = assign(Case(similarity, given.labels, given.class_of), 0.01)
    assert not found.target.requires_grad
    assert not denoised_transport(similarity, given.class_of, 0.01).matrix.requires_grad


def unlabelled_words(n: int = 300) -> Case:
    """O words at the nine prototypes; one in ten is an unlabelled entity, at a prototype of the two entity classes."""
    generator = torch.Generator().manual_seed(0)
    prototype = torch.cat([torch.arange(n - n // 10) % 3, 3 + torch.arange(n // 10) % 6])
    words = torch.eye(64, dtype=torch.float64)[prototype] + 0.06 * torch.randn(n, 64, generator=generator)
    class_of = torch.arange(9) // 3
    return Case(normalize(words, dim=-1)[:, :9], torch.full((n,), OTHER), class_of)


def test_the_papers_plan_keeps_far_more_than_beta_and_the_optimal_plan_beta() -> None:
    """β = 0.01 works in the paper because the plan is far from the marginals that it should have."""
    given = unlabelled_words()
    plan = denoised_transport(given.similarity, given.class_of, 0.01)
    missed = torch.arange(len(given.labels)) >= 270
    keep = assign(given, 0.01).keep
    assert not keep[missed].any()
    assert keep[~missed].double().mean() > 0.5
    assert plan.matrix[:, :3].sum() / len(missed) > 0.5
    assert plan.column_error > 100


@pytest.mark.parametrize("beta", [0.01, 0.1, 0.5, 0.9])
def test_the_optimal_plan_keeps_about_beta(beta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        assignment_module, "sinkhorn", lambda c, a, b: converged_transport(c, a, b, epsilon=0.001, tolerance=1e-4)
    )
    given = unlabelled_words()
    assert assign(given, beta).keep.double().mean() == pytest.approx(beta, abs=0.02)
    plan = denoised_transport(given.similarity, given.class_of, beta)
    assert plan.matrix[:, :3].sum() / len(given.labels) == pytest.approx(beta, abs=1e-4)


def test_the_constants_of_the_paper() -> None:
    cost, a, b = torch.rand(30, 3, generator=torch.Generator().manual_seed(0)), torch.ones(30), torch.full((3,), 10.0)
    plan = sinkhorn(cost, a, b)
    assert plan.iterations == 100
    torch.testing.assert_close(plan.matrix, sinkhorn(cost, a, b, epsilon=0.001, iterations=100).matrix)
