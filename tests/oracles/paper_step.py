"""One training step of the MProto paper, written from the paper's text alone.

Tests compare the package with this file, so it shares no code with the package and imports nothing from it. It is
plain and slow on purpose. Transport and prototypes are numpy in float64; the losses are torch in float64, because
their gradient with respect to the features is part of the result.

Equations are cited by the names of the paper's LaTeX labels. Notation:

- N words with features ``h`` of shape (N, d);
- K classes with M prototypes each, in ``prototypes`` of shape (K, M, d). Class 0 is O (the paper's ``c_1``);
- prototype (c, m) has the index ``c * M + m``. Everything that has one column per prototype uses this order.

The paper leaves six points open. This file reads them as follows:

1. Mean or sum. Eq. RawCE, CE and CompactLoss are sums over the words. Here both losses are means over the kept words.
   With sums, the size of the gradient would depend on the number of words in the batch. The balance of the two
   losses is the same.
2. Words of the compactness loss. Eq. CompactLoss sums over all words and is not rewritten when eq. CE introduces the
   weight ``w_i``. Here it is the mean over the kept words, because appendix "Transport Plan of Unlabeled Entities" says
   that unlabelled entities "are ignored in loss computation".
3. Words of the prototype update. The update names "the set of tokens assigned to prototype" p. Words labelled O that
   are assigned to a prototype of an entity class are label noise. Here they do not move that prototype.
4. Prototypes without a word. The mean over an empty set is not defined. Here such a prototype stays as it is.
5. Scope of the transport. The paper does not say over which words a problem is solved. Here it is one batch.
6. Ties. The largest entry of a row of the plan need not be unique. If a class has one word in the batch, its row is
   b, so all M prototypes tie and rounding would decide. Here entries within ``TIE`` of the largest are tied and the
   first counts. A caller that compares another implementation passes the prototypes which that one chose.

The denominators of eq. RawCE and CE run over all K * M prototypes, so the other prototypes of the same class are
negatives. There is no temperature. Prototypes are state: no gradient flows into them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

REGULARIZATION = 0.001
"""``lambda^r``, from the appendix "Implementation Details and Hyperparameters"."""

ITERATIONS = 100
"""Number of Sinkhorn-Knopp iterations, from the same appendix."""

TIE = 1e-8
"""Entries of a row of the plan that differ by less are tied. Rounding changes entries by up to about 1e-12."""


def cosine_similarity(h: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    """Return ``s(h, p) = h.p / (|h| |p|)`` of every word and prototype, of shape (N, K, M).

    This is the formula in the paragraph "Prototype-based Classification". It is the only place that normalises
    prototypes.
    """
    classes, per_class, _ = prototypes.shape
    similarity = np.empty((len(h), classes, per_class))
    for c in range(classes):
        for m in range(per_class):
            p = prototypes[c, m]
            similarity[:, c, m] = (h @ p) / (np.linalg.norm(h, axis=1) * np.linalg.norm(p))
    return similarity


def distance(similarity: np.ndarray) -> np.ndarray:
    """Return the cost ``d = 1 - s`` (below eq. CompactLoss and below eq. OT0)."""
    return 1.0 - similarity


def log_sum_exp(values: np.ndarray) -> float:
    """Return ``log(sum(exp(values)))`` of a vector without underflow."""
    largest = values.max()
    return float(largest + np.log(np.sum(np.exp(values - largest))))


def sinkhorn_knopp(
    a: np.ndarray,
    b: np.ndarray,
    cost: np.ndarray,
    regularization: float = REGULARIZATION,
    iterations: int = ITERATIONS,
) -> np.ndarray:
    """Return the transport plan of Algorithm "Sinkhorn-Knopp" (alg:sinkhorn), of the same shape as ``cost``.

    The number of iterations is fixed and there is no test of convergence. Every iteration first computes the column
    scaling ``v`` and then the row scaling ``u``. So the rows of the result sum exactly to ``a``, while its columns may
    be far from ``b``. All values are logarithms, because ``exp(-cost / regularization)`` underflows.
    """
    rows, columns = cost.shape
    log_kernel = -cost / regularization
    log_u = np.zeros(rows)  # u^0 = 1
    log_v = np.zeros(columns)
    with np.errstate(divide="ignore"):  # a share of 0 has the logarithm -inf
        log_a, log_b = np.log(a), np.log(b)
    for _ in range(iterations):
        for j in range(columns):  # v = b / (K^T u)
            log_v[j] = log_b[j] - log_sum_exp(log_kernel[:, j] + log_u)
        for i in range(rows):  # u = a / (K v)
            log_u[i] = log_a[i] - log_sum_exp(log_kernel[i, :] + log_v)
    return np.exp(log_u[:, None] + log_kernel + log_v[None, :])


def entity_plan(cost: np.ndarray, regularization: float, iterations: int) -> np.ndarray:
    """Return the plan of the words labelled with one entity class (eq. OT0), of shape (n_c, M).

    Args:
        cost: Distances of the words of class c to the M prototypes of class c, of shape (n_c, M).
    """
    words, per_class = cost.shape
    a = np.ones(words)
    b = np.full(per_class, words / per_class)
    return sinkhorn_knopp(a, b, cost, regularization, iterations)


def other_marginal(words: int, classes: int, per_class: int, beta: float) -> np.ndarray:
    """Return ``b`` of eq. DOT: ``beta`` of the words on the O prototypes, the rest evenly on all others."""
    b = np.empty((classes, per_class))
    b[0] = beta * words / per_class
    b[1:] = (1.0 - beta) * words / ((classes - 1) * per_class)
    return b.reshape(-1)


def other_plan(cost: np.ndarray, beta: float, regularization: float, iterations: int) -> np.ndarray:
    """Return the plan of the words labelled O (eq. DOT), of shape (n_o, K * M).

    Args:
        cost: Distances of the words labelled O to all prototypes, of shape (n_o, K, M).
    """
    words, classes, per_class = cost.shape
    a = np.ones(words)
    b = other_marginal(words, classes, per_class, beta)
    return sinkhorn_knopp(a, b, cost.reshape(words, -1), regularization, iterations)


def transport_plan(
    h: np.ndarray,
    labels: np.ndarray,
    prototypes: np.ndarray,
    beta: float,
    regularization: float = REGULARIZATION,
    iterations: int = ITERATIONS,
) -> np.ndarray:
    """Return the plans of all classes (sections sec:vot and sec:dot) as one matrix of shape (N, K * M).

    The entries of a word labelled with an entity class are 0 outside the columns of that class.
    """
    cost = distance(cosine_similarity(h, prototypes))
    classes, per_class, _ = prototypes.shape
    plan = np.zeros((len(h), classes * per_class))
    for c in range(1, classes):
        words = np.flatnonzero(labels == c)
        if len(words):
            columns = slice(c * per_class, (c + 1) * per_class)
            plan[words, columns] = entity_plan(cost[words, c], regularization, iterations)
    others = np.flatnonzero(labels == 0)
    if len(others):
        plan[others] = other_plan(cost[others], beta, regularization, iterations)
    return plan


def tied_prototypes(plan: np.ndarray) -> np.ndarray:
    """Return which prototypes have the largest entry of a word's row, up to ``TIE``. See point 6 at the top."""
    return plan >= plan.max(axis=1, keepdims=True) - TIE


def assign(plan: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
    """Return the prototype of every word: the argmax of its row of the plan (section sec:vot).

    Args:
        plan: Plan of all words, of shape (N, K * M).
        chosen: Prototypes that another implementation chose. They count only where they are tied for the largest.
    """
    tied = tied_prototypes(plan)
    target = tied.argmax(axis=1)  # the first
    if chosen is None:
        return target
    return np.where(tied[np.arange(len(plan)), chosen], chosen, target)


def kept_words(labels: np.ndarray, target: np.ndarray, per_class: int) -> np.ndarray:
    """Return which words take part in the losses and in the update.

    All words labelled with an entity class do. A word labelled O does if its prototype is one of O (the weight
    ``w_i`` of eq. CE).
    """
    return (labels != 0) | (target < per_class)


def losses(
    h: torch.Tensor, prototypes: torch.Tensor, target: torch.Tensor, kept: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the cross-entropy (eq. CE) and the compactness (eq. CompactLoss) as means over the kept words.

    See points 1 and 2 at the top of this file. Without a kept word, both are 0.
    """
    if not kept.any():
        return h.sum() * 0.0, h.sum() * 0.0
    rows = prototypes.reshape(-1, prototypes.shape[-1])
    similarity = (h @ rows.T) / (h.norm(dim=1)[:, None] * rows.norm(dim=1)[None, :])
    to_target = similarity.gather(1, target[:, None]).squeeze(1)
    # The terms are at most e, so that the exponentials need no shift.
    negative_log_likelihood = similarity.exp().sum(dim=1).log() - to_target
    squared_distance = (1.0 - to_target) ** 2
    return negative_log_likelihood[kept].mean(), squared_distance[kept].mean()


def updated_prototypes(
    h: np.ndarray, target: np.ndarray, kept: np.ndarray, prototypes: np.ndarray, alpha: float
) -> np.ndarray:
    """Return the prototypes after the moving average of the paragraph "Prototype Updating".

    The mean is over the features as they are. Neither it nor the result is normalised. See points 3 and 4 at the top
    of this file.
    """
    classes, per_class, _ = prototypes.shape
    result = prototypes.copy()
    for c in range(classes):
        for m in range(per_class):
            words = kept & (target == c * per_class + m)
            if words.any():
                result[c, m] = alpha * prototypes[c, m] + (1.0 - alpha) * h[words].sum(axis=0) / words.sum()
    return result


@dataclass(frozen=True)
class StepResult:
    """The values of one training step.

    Attributes:
        plan: Transport plan of all words, of shape (N, K * M).
        target: Prototype index ``c * M + m`` of every word, of shape (N,).
        kept: Whether a word takes part in the losses and in the prototype update, of shape (N,).
        cross_entropy: Eq. CE as a mean over the kept words.
        compactness: Eq. CompactLoss as a mean over the kept words, without its weight.
        loss: ``cross_entropy + lambda^c * compactness``.
        gradient: Gradient of the loss with respect to the features, of shape (N, d).
        prototypes: Prototypes after the step, of shape (K, M, d).
    """

    plan: np.ndarray
    target: np.ndarray
    kept: np.ndarray
    cross_entropy: float
    compactness: float
    loss: float
    gradient: np.ndarray
    prototypes: np.ndarray


class PaperStep:
    """The prototypes of a model and its training step.

    Args:
        prototypes: Initial prototypes, of shape (K, M, d), with K >= 2 and class O first.
        alpha: Ratio of the moving average.
        beta: Share of the words labelled O which eq. DOT gives to the O prototypes.
        compactness: Weight ``lambda^c`` of the compactness loss.
        regularization: ``lambda^r`` of Sinkhorn-Knopp.
        iterations: Number of Sinkhorn-Knopp iterations.
    """

    def __init__(
        self,
        prototypes: np.ndarray,
        *,
        alpha: float,
        beta: float,
        compactness: float,
        regularization: float = REGULARIZATION,
        iterations: int = ITERATIONS,
    ) -> None:
        self.prototypes = np.array(prototypes, dtype=np.float64)
        self.alpha = alpha
        self.beta = beta
        self.compactness = compactness
        self.regularization = regularization
        self.iterations = iterations

    def step(self, features: np.ndarray, labels: np.ndarray, chosen: np.ndarray | None = None) -> StepResult:
        """Assign the words, compute the losses and the gradient, then update the prototypes.

        Args:
            features: Features of all words of the batch, of shape (N, d).
            labels: Class of every word, of shape (N,); 0 is O.
            chosen: Prototypes that another implementation chose, of shape (N,), to break ties as it did.
        """
        h = np.array(features, dtype=np.float64)
        labels = np.asarray(labels)
        plan = transport_plan(h, labels, self.prototypes, self.beta, self.regularization, self.iterations)
        target = assign(plan, chosen)
        kept = kept_words(labels, target, self.prototypes.shape[1])

        h_with_gradient = torch.tensor(h, requires_grad=True)
        cross_entropy, compactness = losses(
            h_with_gradient, torch.tensor(self.prototypes), torch.tensor(target), torch.tensor(kept)
        )
        loss = cross_entropy + self.compactness * compactness
        (gradient,) = torch.autograd.grad(loss, h_with_gradient)

        self.prototypes = updated_prototypes(h, target, kept, self.prototypes, self.alpha)
        return StepResult(
            plan,
            target,
            kept,
            cross_entropy.item(),
            compactness.item(),
            loss.item(),
            gradient.numpy(),
            self.prototypes.copy(),
        )
