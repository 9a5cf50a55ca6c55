"""The plan equals POT's. The converged plan has its marginals, and the Hungarian cost."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from mproto.method.sinkhorn import sinkhorn
from oracles.converged_transport import converged_transport

ot = pytest.importorskip("ot")
EPSILON, ITERATIONS = 0.001, 100


def problem(kind: str, n: int, m: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return words and prototypes on the unit sphere, placed as `kind` says."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(n, 8, generator=generator, dtype=torch.float64)
    prototypes = torch.randn(m, 8, generator=generator, dtype=torch.float64)
    if not n:
        kind = "random"
    if kind == "identical words":
        words = words[:1].expand(n, -1)
    elif kind == "near words":
        words = words[:1] + 1e-6 * words
    elif kind == "far prototypes":
        prototypes = -words.mean(0, keepdim=True) + 0.01 * prototypes
    elif kind == "identical prototypes":
        prototypes = prototypes[:1].expand(m, -1)
    elif kind == "opposite":
        words = words[:1] + 0.01 * words
        prototypes = -words[:1] + 0.01 * prototypes
        prototypes[0] = words[0]
    elif kind == "collapsed":
        words, prototypes = words[:1].expand(n, -1), words[:1].expand(m, -1)
    cost = 1 - torch.nn.functional.normalize(words, dim=-1) @ torch.nn.functional.normalize(prototypes, dim=-1).T
    if kind == "extreme":
        cost = torch.where(torch.rand(n, m, generator=generator) < 0.5, 0.0, 2.0).to(torch.float64)
    b = torch.full((m,), n / m, dtype=torch.float64)
    if kind in ("denoised", "collapsed"):
        b = torch.full((m,), 0.99 * n / max(m - 1, 1), dtype=torch.float64)
        b[0] = 0.01 * n if m > 1 else n
    return cost, torch.ones(n, dtype=torch.float64), b


KINDS = [
    "random",
    "identical words",
    "near words",
    "far prototypes",
    "identical prototypes",
    "opposite",
    "extreme",
    "denoised",
    "collapsed",
]


@settings(max_examples=500)
@given(st.sampled_from(KINDS), st.integers(1, 60), st.integers(1, 8), st.integers(0, 10**6))
def test_the_plan_is_that_of_pot(kind: str, n: int, m: int, seed: int) -> None:
    cost, a, b = problem(kind, n, m, seed)
    plan = sinkhorn(cost, a, b, epsilon=EPSILON, iterations=ITERATIONS)
    expected = ot.bregman.sinkhorn_log(a, b, cost, EPSILON, numItermax=ITERATIONS, stopThr=0, warn=False)
    assert (plan.matrix - expected).abs().max() < 1e-9
    assert plan.iterations == ITERATIONS
    assert plan.row_error < 1e-9  # rows are updated last
    assert plan.column_error == pytest.approx(float((expected.sum(0) - b).abs().sum()), abs=1e-8)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 20), st.integers(1, 5)), min_size=1, max_size=4),
    st.integers(0, 10**6),
    st.floats(0, 2),
)
def test_problems_of_different_sizes_do_not_touch_each_other(
    sizes: list[tuple[str, int, int]], seed: int, filling: float
) -> None:
    problems = [problem(kind, n, m, seed + i) for i, (kind, n, m) in enumerate(sizes)]
    widest, longest = max(m for _, _, m in sizes), max(n for _, n, _ in sizes)
    cost = torch.full((len(sizes), longest, widest), filling, dtype=torch.float64)
    a, b = cost.new_zeros(len(sizes), longest), cost.new_zeros(len(sizes), widest)
    for i, (own_cost, own_a, own_b) in enumerate(problems):
        n, m = own_cost.shape
        cost[i, :n, :m], a[i, :n], b[i, :m] = own_cost, own_a, own_b
    for solve in (
        lambda *args: sinkhorn(*args, epsilon=EPSILON, iterations=30),
        lambda *args: converged_transport(*args, epsilon=0.05, tolerance=1e-10),
    ):
        together = solve(cost, a, b)
        for i, own in enumerate(problems):
            n, m = own[0].shape
            alone = solve(*own)
            torch.testing.assert_close(together.matrix[i, :n, :m], alone.matrix, atol=1e-7, rtol=0)
            assert together.matrix[i, n:].abs().sum() == together.matrix[i, :, m:].abs().sum() == 0
            torch.testing.assert_close(together.column_error[i], alone.column_error, atol=1e-6, rtol=0)


@settings(max_examples=60)
@given(st.integers(2, 30), st.integers(2, 5), st.integers(1, 120), st.integers(1, 20), st.integers(0, 10**6))
def test_scalings_that_leave_the_range_of_plain_products(
    n: int, m: int, powers: int, iterations: int, seed: int
) -> None:
    """A prototype whose nearest words have hardly any mass has a scaling that grows by powers of ten in each iteration."""
    generator = torch.Generator().manual_seed(seed)
    cost = 2 * torch.rand(n, m, generator=generator, dtype=torch.float64)
    a = 10 ** (-powers * torch.rand(n, generator=generator, dtype=torch.float64))
    b = (a.sum() / m).expand(m)
    plan = sinkhorn(cost, a, b, epsilon=EPSILON, iterations=iterations)
    expected = ot.bregman.sinkhorn_log(a, b, cost, EPSILON, numItermax=iterations, stopThr=0, warn=False)
    torch.testing.assert_close(plan.matrix / a[:, None], expected / a[:, None], atol=1e-9, rtol=0)


def test_float32_costs_are_solved_in_float64() -> None:
    cost, a, b = problem("random", 50, 3, 0)
    exact = sinkhorn(cost, a, b, epsilon=EPSILON, iterations=ITERATIONS)
    rounded = sinkhorn(cost.float(), a.float(), b.float(), epsilon=EPSILON, iterations=ITERATIONS)
    assert rounded.matrix.dtype == torch.float64
    torch.testing.assert_close(exact.matrix, rounded.matrix, atol=1e-2, rtol=0)


def test_no_iterations() -> None:
    with pytest.raises(ValueError, match="iterations is 0"):
        sinkhorn(*problem("random", 2, 2, 0), epsilon=1.0, iterations=0)


@settings(max_examples=100)
@given(
    st.sampled_from(KINDS),
    st.integers(1, 40),
    st.integers(1, 6),
    st.integers(0, 10**6),
    st.sampled_from([0.2, 0.01, 0.001]),
)
def test_the_converged_plan_has_its_marginals(kind: str, n: int, m: int, seed: int, epsilon: float) -> None:
    cost, a, b = problem(kind, n, m, seed)
    plan = converged_transport(cost, a, b, epsilon=epsilon, tolerance=1e-6)
    assert plan.row_error < 1e-9 * n
    assert plan.column_error <= 1e-6 * n
    assert plan.matrix.min() >= 0


@settings(max_examples=20)
@given(st.integers(1, 30), st.integers(1, 5), st.integers(0, 10**6))
def test_the_converged_plan_is_what_sinkhorn_converges_to(n: int, m: int, seed: int) -> None:
    cost, a, b = problem("random", n, m, seed)
    newton = converged_transport(cost, a, b, epsilon=0.1, tolerance=1e-10)
    long = sinkhorn(cost, a, b, epsilon=0.1, iterations=3000)
    assume(long.column_error < 1e-8)  # it is slow where prototypes are far apart
    torch.testing.assert_close(newton.matrix, long.matrix, atol=1e-6, rtol=0)


@settings(max_examples=20)
@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 10**6))
def test_without_entropy_the_cost_is_the_hungarian_one(per_prototype: int, m: int, seed: int) -> None:
    n = per_prototype * m
    cost, a, b = problem("random", n, m, seed)
    rows, columns = linear_sum_assignment(np.repeat(cost.numpy(), per_prototype, axis=1))
    best = float(np.repeat(cost.numpy(), per_prototype, axis=1)[rows, columns].sum())
    plan = converged_transport(cost, a, b, epsilon=1e-4, tolerance=1e-8)
    assert best - 1e-4 * n <= float((plan.matrix * cost).sum()) <= best + 1e-4 * n * np.log(n + m)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_of_the_size_of_the_paper_converges(kind: str) -> None:
    """With the paper's λʳ, in far fewer Newton steps than are allowed."""
    cost, a, b = problem(kind, 1000, 15, 0)
    plan = converged_transport(cost, a, b, epsilon=EPSILON)
    assert plan.column_error <= 1e-6 * 1000
    assert plan.iterations < 30  # without falling regularisation it takes up to 50


def test_too_few_newton_steps_leave_an_error() -> None:
    cost, a, b = problem("denoised", 100, 5, 0)
    plan = converged_transport(cost, a, b, epsilon=EPSILON, max_iterations=2)
    assert plan.iterations == 2
    assert plan.row_error < 1e-9
    assert plan.column_error > 1
