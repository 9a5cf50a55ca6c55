"""Solve entropic optimal transport to convergence: Newton's method on the columns, with decreasing regularisation.

Given the potentials g of the m columns, the optimal potentials of the rows are soft minima, so the dual problem has only m
unknowns. It is concave and smooth, with gradient b − column sums. There are few prototypes and many words, so a Newton step
costs about as much as one Sinkhorn iteration, and a few dozen of them replace many thousands. Decreasing the
regularisation step by step keeps every problem close to the solution of the previous one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mproto.method.sinkhorn import Plan, as_batch

if TYPE_CHECKING:
    from torch import Tensor

START = 0.5
"""The first regularisation, for costs of at most 2."""
FALL = 0.5
HALVINGS = 30


def converged_transport(
    cost: Tensor, a: Tensor, b: Tensor, *, epsilon: float, tolerance: float = 1e-6, max_iterations: int = 500
) -> Plan:
    """Return the plan that solves the entropic transport problem.

    Args:
        cost: (…, n, m) C, finite; as in `sinkhorn`, problems may be filled up with mass 0.
        a: (…, n) the mass of each row.
        b: (…, m) the mass of each column; the same in total.
        epsilon: λʳ, the weight of the entropy.
        tolerance: the column error at which to stop, as a share of the total mass. The rows are always exact.
        max_iterations: Newton steps over all regularisations; where they do not suffice, `column_error` says so.
    """
    shape = cost.shape
    cost, a, b = as_batch(cost, a, b)
    total = b.sum(-1).clamp_min(1e-300)
    g = cost.new_zeros(b.shape)
    regularisation, iterations = max(START, epsilon), 0
    while cost.numel():
        last = regularisation <= epsilon
        good_enough = tolerance if last else 0.05
        while iterations < max_iterations:
            matrix = _rows(cost, a, b, g, regularisation)
            gradient = b - matrix.sum(-2)
            if bool((gradient.abs().sum(-1) <= good_enough * total).all()):
                break
            g = _newton_step(cost, a, b, g, regularisation, matrix, gradient)
            iterations += 1
        if last or iterations >= max_iterations:
            break
        regularisation = max(regularisation * FALL, epsilon)
    matrix = _rows(cost, a, b, g, epsilon)
    return Plan.of(matrix, a, b, iterations).reshape(shape)


def _scores(cost: Tensor, b: Tensor, g: Tensor, epsilon: float) -> Tensor:
    # With b in it, the potentials differ by no more than the costs do, and change little when the regularisation falls.
    return ((g.unsqueeze(-2) - cost) / epsilon).add_(b.log().unsqueeze(-2))


def _rows(cost: Tensor, a: Tensor, b: Tensor, g: Tensor, epsilon: float) -> Tensor:
    """Return the plan (B, n, m) with exact row sums for these column potentials."""
    return torch.softmax(_scores(cost, b, g, epsilon), -1).nan_to_num(0.0) * a.unsqueeze(-1)


def _dual(cost: Tensor, a: Tensor, b: Tensor, g: Tensor, epsilon: float) -> Tensor:
    """Return the dual objective (B,), which is maximised."""
    soft_minima = -epsilon * torch.logsumexp(_scores(cost, b, g, epsilon), -1)
    return (g * b).sum(-1) + (soft_minima.masked_fill(a == 0, 0.0) * a).sum(-1)


def _newton_step(
    cost: Tensor, a: Tensor, b: Tensor, g: Tensor, epsilon: float, matrix: Tensor, gradient: Tensor
) -> Tensor:
    """Return better potentials.

    A step is halved if the dual does not rise: far from the solution, it may overshoot.
    """
    shares = matrix / a.clamp_min(1e-300).unsqueeze(-1)
    columns = matrix.sum(-2)
    curvature = torch.diag_embed(columns) - matrix.transpose(-1, -2) @ shares
    # The Hessian is singular: a shift of all potentials, and an unused column, have no curvature.
    ridge = 1e-10 * columns.mean(-1, keepdim=True) + 1e-300
    step: Tensor = torch.linalg.solve(curvature + torch.diag_embed(ridge.expand_as(columns)), epsilon * gradient)
    now = _dual(cost, a, b, g, epsilon)
    size = torch.ones_like(now)
    rise = (gradient * step).sum(-1)
    for _ in range(HALVINGS):
        worse = _dual(cost, a, b, g + size.unsqueeze(-1) * step, epsilon) < now + 1e-4 * size * rise - 1e-12 * now.abs()
        if not bool(worse.any()):
            break
        size = torch.where(worse, size / 2, size)
    return g + size.unsqueeze(-1) * step
