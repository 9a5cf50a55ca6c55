"""Entropic optimal transport: the Sinkhorn–Knopp algorithm of the paper's appendix, with a fixed number of iterations.

With the paper's constants (λʳ = 0.001, 100 iterations) the algorithm stops far from convergence, and its result differs
a lot from the optimal plan. The number of iterations and the order of the updates (columns first, rows last) are
therefore part of the method.

The kernel exp(−C/λʳ) underflows: costs reach 2, exponents −2000. Computing in the log domain throughout is safe but
slow. Here only the first iteration runs in the log domain. Its scalings are absorbed into the kernel, whose rows then
sum to one, and the next iterations are plain products with that kernel in float64. Before a scaling leaves the range in
which this is exact, it is absorbed again. The result agrees with the log domain to about 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from torch import Tensor

EPSILON, ITERATIONS = 0.001, 100
"""λʳ and the number of iterations in the paper."""
LIMIT = 1e90
"""Scalings outside of 1 / LIMIT … LIMIT are absorbed into the kernel."""
TINY = 1e-205
"""Smaller kernel entries are set to 0. With scalings within `LIMIT` they contribute at most 1e-115 times a mass to sums
of at least 1e-90 times a mass. The remaining entries, times a scaling, are never subnormal, which would be slow."""
LOWEST = -480.0
"""Smaller logarithms are raised to this value, because `exp` is several times slower far from 0; e^−480 < `TINY`."""
ROUND = 50
"""Maximum number of iterations between two absorptions: plain products slowly lose digits."""


@dataclass(frozen=True)
class Plan:
    """A transport plan and its deviation from the required marginals.

    Attributes:
        matrix: (…, n, m) the mass moved from each row to each column.
        row_error: (…) the sum of |row sums − a|.
        column_error: (…) the sum of |column sums − b|; large if the algorithm stopped before convergence.
        iterations: the number of iterations.
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
        """Return the plan with another batch shape: (B, n, m) as (…, n, m)."""
        errors = self.row_error.reshape(shape[:-2]), self.column_error.reshape(shape[:-2])
        return Plan(self.matrix.reshape(shape), *errors, self.iterations)


class Scalings(NamedTuple):
    """The logarithms of u and v: (B, n) and (B, m); −∞ for rows and columns without mass."""

    log_u: Tensor
    log_v: Tensor


def sinkhorn(cost: Tensor, a: Tensor, b: Tensor, *, epsilon: float = EPSILON, iterations: int = ITERATIONS) -> Plan:
    """Run Sinkhorn–Knopp for a fixed number of iterations: u⁰ = 1; v = b ⊘ Kᵀu, then u = a ⊘ Kv.

    A batch of problems is solved at once. Smaller problems are padded with rows and columns of mass 0,
    whose costs are ignored.

    Args:
        cost: (…, n, m) C, finite.
        a: (…, n) the mass of each row.
        b: (…, m) the mass of each column, with the same total.
        epsilon: λʳ, the weight of the entropy.
        iterations: number of iterations, at least one.
    """
    if iterations < 1:
        raise ValueError(f"iterations is {iterations}, but must be at least 1")
    shape = cost.shape
    cost, a, b = as_batch(cost, a, b)
    matrix = torch.zeros_like(cost)
    nonempty = a.sum(-1) > 0
    if bool(nonempty.any()):
        matrix[nonempty] = _solve(cost[nonempty], a[nonempty], b[nonempty], epsilon, iterations)
    return Plan.of(matrix, a, b, iterations).reshape(shape)


def _solve(cost: Tensor, a: Tensor, b: Tensor, epsilon: float, iterations: int) -> Tensor:
    """Return the plans (B, n, m) of problems with mass."""
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
    """Return cost, a and b in float64, with one batch dimension: (B, n, m), (B, n), (B, m)."""
    (*batch, n, m), size = cost.shape, cost.shape[:-2].numel()
    if a.shape != (*batch, n) or b.shape != (*batch, m):
        raise ValueError(
            f"costs of shape {tuple(cost.shape)} do not match masses of {tuple(a.shape)} and {tuple(b.shape)}"
        )
    wide = torch.float64
    return cost.to(wide).reshape(size, n, m), a.to(wide).reshape(size, n), b.to(wide).reshape(size, m)


def _log_iteration(log_kernel: Tensor, log_a: Tensor, log_b: Tensor, log_u: Tensor) -> Scalings:
    """Return the scalings after one iteration in the log domain, which is exact for any costs."""
    log_v = log_b - _log_sum_exp(log_kernel + log_u.unsqueeze(-1), -2)
    return Scalings(log_a - _log_sum_exp(log_kernel + log_v.unsqueeze(-2), -1), log_v)


def _log_sum_exp(logs: Tensor, dim: int) -> Tensor:
    """Return the log-sum-exp of slices that are not all −∞. Overwrites its argument.

    For our costs, it is much faster than `torch.logsumexp`.
    """
    top = logs.amax(dim, keepdim=True)
    return logs.sub_(top).clamp_min_(LOWEST).exp_().sum(dim).log_().add_(top.squeeze(dim))


def _scaled(log_kernel: Tensor, scalings: Scalings) -> Tensor:
    """Return diag(u) K diag(v), whose rows sum to a."""
    logs = (log_kernel + scalings.log_u.unsqueeze(-1)).add_(scalings.log_v.unsqueeze(-2))
    scaled = logs.clamp_min_(LOWEST).exp_()
    return scaled.masked_fill_(scaled < TINY, 0.0)


def _absorb(log_kernel: Tensor, scalings: Scalings, a: Tensor, b: Tensor) -> Tensor:
    """Absorb the scalings into the kernel. Rows and columns without mass become 1 to avoid divisions by 0."""
    return _scaled(log_kernel, scalings).masked_fill_((a == 0).unsqueeze(-1) | (b == 0).unsqueeze(-2), 1.0)


def _plain_iterations(kernel: Tensor, a: Tensor, b: Tensor, count: int) -> tuple[Tensor, int]:
    """Return the last v within range after at most `count` iterations, and the number of iterations it took.

    Only v is checked: the rows of the kernel sum to a, so u is within range if v is.
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
