"""Entropic optimal transport: the Sinkhorn–Knopp algorithm of the paper's appendix, cut off after a number of iterations.

In the paper's setting (λʳ = 0.001, 100 iterations) the algorithm is far from convergence, and what it returns differs a
lot from the transport plan that it would converge to. So the number of iterations and the order of the updates (columns
first, rows last) are part of the method. The plan that solves the problem is another method, `converged.py`.

The kernel exp(−C/λʳ) underflows: costs reach 2, exponents −2000. Working with logarithms throughout is safe and slow.
Here the first iteration is done in logarithms, its scalings are absorbed into the kernel, whose rows then sum to one, and
further iterations are plain products with that kernel in float64, until a scaling threatens to leave the range in which
that is exact; then the scalings are absorbed again. The result is the same to some 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

LIMIT = 1e90
"""How far scalings may grow, or shrink, before they are absorbed."""
TINY = 1e-205
"""Kernel entries below this are set to 0. With scalings within `LIMIT` they are worth nothing: at most 1e-115 times a mass,
where sums are at least 1e-90 times one. And the others, times a scaling, are never subnormal, which would be slow."""
LOWEST = -480.0
"""Logarithms below this are raised to it, since far from 0 `exp` is several times slower: e^−480 is less than `TINY`."""
ROUND = 50
"""Iterations between two absorptions at most: sums of plain products lose digits slowly."""


@dataclass(frozen=True)
class Plan:
    """A transport plan, and how far it is from being one.

    Attributes:
        matrix: (…, n, m) the mass moved from each row to each column.
        row_error: (…) the sum of |row sums − a|.
        column_error: (…) the sum of |column sums − b|; large where the algorithm was cut off.
        iterations: how many were done.
    """

    matrix: Tensor
    row_error: Tensor
    column_error: Tensor
    iterations: int

    @classmethod
    def of(cls, matrix: Tensor, a: Tensor, b: Tensor, iterations: int) -> Plan:
        return cls(
            matrix=matrix,
            row_error=(matrix.sum(-1) - a).abs().sum(-1),
            column_error=(matrix.sum(-2) - b).abs().sum(-1),
            iterations=iterations,
        )

    def reshape(self, shape: torch.Size) -> Plan:
        """The same for costs of another shape: (B, n, m) as (…, n, m)."""
        errors = self.row_error.reshape(shape[:-2]), self.column_error.reshape(shape[:-2])
        return Plan(self.matrix.reshape(shape), *errors, self.iterations)


class Scalings(NamedTuple):
    """The logarithms of u and v: (B, n) and (B, m); −∞ where there is no mass."""

    log_u: Tensor
    log_v: Tensor


def sinkhorn(cost: Tensor, a: Tensor, b: Tensor, *, epsilon: float, iterations: int) -> Plan:
    """The plan after a number of Sinkhorn–Knopp iterations: u⁰ = 1; v = b ⊘ Kᵀu, then u = a ⊘ Kv.

    Several problems are solved at once; those of different sizes are filled up with rows and columns of mass 0, whose
    costs do not matter.

    Args:
        cost: (…, n, m) C, finite.
        a: (…, n) the mass of each row.
        b: (…, m) the mass of each column; the same in total.
        epsilon: λʳ, the weight of the entropy.
        iterations: at least one.
    """
    if iterations < 1:
        raise ValueError(f"iterations is {iterations}, and must be at least 1")
    shape = cost.shape
    cost, a, b = as_batch(cost, a, b)
    matrix = torch.zeros_like(cost)
    filled = a.sum(-1) > 0
    if bool(filled.any()):
        matrix[filled] = _solve(cost[filled], a[filled], b[filled], epsilon, iterations)
    return Plan.of(matrix, a, b, iterations).reshape(shape)


def _solve(cost: Tensor, a: Tensor, b: Tensor, epsilon: float, iterations: int) -> Tensor:
    """The plans (B, n, m) of problems that have mass."""
    log_kernel = cost / -epsilon
    log_a, log_b = a.log(), b.log()
    scalings = _log_iteration(log_kernel, log_a, log_b, log_u=torch.where(a > 0, 0.0, -torch.inf))
    done = 1
    while done < iterations:
        kernel = _absorb(log_kernel, scalings, a, b)
        v, good = _plain_iterations(kernel, a, b, min(ROUND, iterations - done))
        if good:
            u = a / torch.bmm(kernel, v.unsqueeze(-1)).squeeze(-1)
            scalings = Scalings(scalings.log_u + u.log(), scalings.log_v + v.log())
        else:
            scalings = _log_iteration(log_kernel, log_a, log_b, scalings.log_u)
            good = 1
        done += good
    return _scaled(log_kernel, scalings)


def as_batch(cost: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(B, n, m), (B, n) and (B, m), in float64."""
    (*batch, n, m), size = cost.shape, cost.shape[:-2].numel()
    if a.shape != (*batch, n) or b.shape != (*batch, m):
        raise ValueError(
            f"costs of shape {tuple(cost.shape)} do not go with masses of {tuple(a.shape)} and {tuple(b.shape)}"
        )
    wide = torch.float64
    return cost.to(wide).reshape(size, n, m), a.to(wide).reshape(size, n), b.to(wide).reshape(size, m)


def _log_iteration(log_kernel: Tensor, log_a: Tensor, log_b: Tensor, log_u: Tensor) -> Scalings:
    """One iteration in logarithms, exact whatever the costs."""
    log_v = log_b - _log_sum_exp(log_kernel + log_u.unsqueeze(-1), -2)
    return Scalings(log_a - _log_sum_exp(log_kernel + log_v.unsqueeze(-2), -1), log_v)


def _log_sum_exp(logs: Tensor, dim: int) -> Tensor:
    """As `torch.logsumexp` where not all are −∞, and much faster on the range that costs have. Changes its argument."""
    top = logs.amax(dim, keepdim=True)
    return logs.sub_(top).clamp_min_(LOWEST).exp_().sum(dim).log_().add_(top.squeeze(dim))


def _scaled(log_kernel: Tensor, scalings: Scalings) -> Tensor:
    """diag(u) K diag(v): its rows sum to a."""
    logs = (log_kernel + scalings.log_u.unsqueeze(-1)).add_(scalings.log_v.unsqueeze(-2))
    scaled = logs.clamp_min_(LOWEST).exp_()
    return scaled.masked_fill_(scaled < TINY, 0.0)


def _absorb(log_kernel: Tensor, scalings: Scalings, a: Tensor, b: Tensor) -> Tensor:
    """The kernel with the scalings in it. Rows and columns without mass are 1, so that no division is by 0."""
    return _scaled(log_kernel, scalings).masked_fill_((a == 0).unsqueeze(-1) | (b == 0).unsqueeze(-2), 1.0)


def _plain_iterations(kernel: Tensor, a: Tensor, b: Tensor, count: int) -> tuple[Tensor, int]:
    """The last v that is in range after up to `count` iterations, and how many were.

    Only v needs a look: rows of the kernel sum to a, so u is in range when v is.
    """
    transposed = kernel.transpose(-1, -2).contiguous()
    u = (a > 0).to(kernel.dtype).unsqueeze(-1)
    masses, rows = b.unsqueeze(-1), a.unsqueeze(-1)
    vs = kernel.new_empty(count, *masses.shape)
    for v in vs:
        torch.div(masses, torch.bmm(transposed, u), out=v)
        u = torch.bmm(kernel, v).reciprocal_().mul_(rows)
    vs = vs.squeeze(-1)
    in_range = ((vs > 1 / LIMIT) & (vs < LIMIT)) | (b == 0)
    good = int(in_range.flatten(1).all(-1).cummin(0).values.sum())
    return vs[good - 1], good
