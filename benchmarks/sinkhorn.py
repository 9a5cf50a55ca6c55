"""Speed of the paper's transport (100 Sinkhorn iterations, λʳ = 0.001) compared with POT.

    python benchmarks/sinkhorn.py
    python benchmarks/sinkhorn.py --repeats 21

Words lie around prototypes in 384 dimensions; a cost is 1 − cosine. "a step" is the size of a step of
32 sentences of BC5CDR: 620 words labelled O against all 9 prototypes, and 45 and 40 words of two
classes against their own 3. mproto solves the two classes at once, padded to the same size; the
others solve one problem after the other. The peers are:

- POT (numpy): `ot.bregman.sinkhorn_log` on arrays, the default choice of a POT user
- POT (torch): the same on tensors
- textbook: the algorithm in logarithms, ten lines of torch in float64
- POT stabilized: `ot.sinkhorn(method="sinkhorn_stabilized")`, for information only. It makes the
  same updates, but starts from exp(−C/λʳ), which underflows, and stops early at nan. Where its plan
  differs, it has not done the same work.

The systems take turns, so that other load affects all of them alike. Times are medians on one
thread, and ratios are to mproto. The last column is the largest difference of an entry from the plan of POT
(numpy). Needs POT.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import ot
import torch
from torch.nn.functional import normalize

from mproto.method.sinkhorn import sinkhorn

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

EPSILON, ITERATIONS, DIMENSION, BETA = 0.001, 100, 384, 0.01


class Problem(NamedTuple):
    cost: Tensor
    a: Tensor
    b: Tensor


def problem(n: int, m: int, seed: int, others: int = 0) -> Problem:
    """Return n words around m prototypes; `others` of these belong to O and get β of the mass."""
    generator = torch.Generator().manual_seed(seed)
    prototypes = normalize(torch.randn(m, DIMENSION, generator=generator, dtype=torch.float64), dim=-1)
    noise = torch.randn(n, DIMENSION, generator=generator, dtype=torch.float64) / DIMENSION**0.5
    words = normalize(prototypes[torch.randint(others or m, (n,), generator=generator)] + noise, dim=-1)
    b = prototypes.new_full((m,), n / m)
    if others:
        b[:others], b[others:] = BETA * n / others, (1 - BETA) * n / (m - others)
    return Problem(1 - words @ prototypes.T, prototypes.new_ones(n), b)


def padded(problems: list[Problem]) -> Problem:
    n, m = (max(p.cost.shape[i] for p in problems) for i in (0, 1))
    together = Problem(*(torch.zeros(len(problems), *size, dtype=torch.float64) for size in ((n, m), (n,), (m,))))
    for i, (cost, a, b) in enumerate(problems):
        together.cost[i, : len(a), : len(b)], together.a[i, : len(a)], together.b[i, : len(b)] = cost, a, b
    return together


def textbook(cost: Tensor, a: Tensor, b: Tensor) -> Tensor:
    log_kernel, log_a, log_b = -cost / EPSILON, a.log(), b.log()
    log_u = torch.zeros_like(a)
    for _ in range(ITERATIONS):
        log_v = log_b - torch.logsumexp(log_kernel + log_u[:, None], 0)
        log_u = log_a - torch.logsumexp(log_kernel + log_v[None, :], 1)
    return (log_kernel + log_u[:, None] + log_v[None, :]).exp()


def pot(cost: Tensor, a: Tensor, b: Tensor) -> Tensor:
    plan: Tensor = ot.bregman.sinkhorn_log(a, b, cost, EPSILON, numItermax=ITERATIONS, stopThr=0, warn=False)
    return plan


def pot_numpy(cost: Tensor, a: Tensor, b: Tensor) -> Tensor:
    plan = ot.bregman.sinkhorn_log(
        a.numpy(), b.numpy(), cost.numpy(), EPSILON, numItermax=ITERATIONS, stopThr=0, warn=False
    )
    return torch.from_numpy(plan)


def pot_stabilized(cost: Tensor, a: Tensor, b: Tensor) -> Tensor:
    # It requires masses that sum to one.
    total = float(a.sum())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        plan = ot.sinkhorn(
            a.numpy() / total,
            b.numpy() / total,
            cost.numpy(),
            EPSILON,
            method="sinkhorn_stabilized",
            numItermax=ITERATIONS,
            stopThr=0,
            warn=False,
        )
    return torch.from_numpy(plan) * total


PEERS: dict[str, Callable[..., Tensor]] = {
    "POT (numpy)": pot_numpy,
    "POT (torch)": pot,
    "textbook": textbook,
    "POT stabilized": pot_stabilized,
}


def ours(*problems: Problem) -> list[Tensor]:
    """Solve problems. Each may be a padded batch of several problems."""
    return [sinkhorn(*p, epsilon=EPSILON, iterations=ITERATIONS).matrix for p in problems]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    step = [problem(620, 9, 0, others=3), problem(45, 3, 1), problem(40, 3, 2)]
    classes = padded(step[1:])
    sets: dict[str, tuple[list[Problem], Callable[[], list[Tensor]]]] = {}
    for n, m in ((200, 3), (1000, 8), (3000, 15)):
        one = problem(n, m, seed=n)
        sets[f"{n} × {m}"] = [one], lambda one=one: ours(one)
    sets["a step"] = step, lambda: ours(step[0], classes)
    print(f"{'':10}{'':16}{'ms':>10}{'ratio':>9}{'difference':>13}")
    for name, (problems, run_ours) in sets.items():
        systems: dict[str, Callable[[], list[Tensor]]] = {"mproto": run_ours}
        for peer, solve in PEERS.items():
            systems[peer] = lambda solve=solve, problems=problems: [solve(*p) for p in problems]
        times: dict[str, list[float]] = {system: [] for system in systems}
        plans: dict[str, list[Tensor]] = {system: run() for system, run in systems.items()}  # also warms up
        for _ in range(repeats):
            for system, run in systems.items():
                start = time.perf_counter()
                run()
                times[system].append(1000 * (time.perf_counter() - start))
        if len(problems) > 1:
            big, small = plans["mproto"]
            plans["mproto"] = [big, *(small[i, : len(p.a), : len(p.b)] for i, p in enumerate(problems[1:]))]
        for system in systems:
            pairs = zip(plans[system], plans["POT (numpy)"], strict=True)
            difference = max(float((plan - expected).abs().max()) for plan, expected in pairs)
            median = statistics.median(times[system])
            ratio = median / statistics.median(times["mproto"])
            print(f"{name:10}{system:16}{median:10.2f}{ratio:9.1f}{difference:13.1e}", flush=True)


if __name__ == "__main__":
    main()
