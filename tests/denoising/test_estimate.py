"""The unlabelled-share estimate: known mixtures, and properties that follow from the definition."""

from __future__ import annotations

from math import log
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from encoders import write_roberta
from mproto.config import load_config
from mproto.denoising.estimate import UnlabelledEstimate, best_threshold, log_odds, mixture_share, type_shares
from mproto.denoising.word_memory import MEMORY_SHARE
from mproto.errors import InputError
from mproto.models.base import UsesEstimate
from mproto.models.encoder import Encoder
from mproto.models.mproto import MProtoModel
from mproto.models.registry import get_method
from mproto.training.data import Data
from mproto.training.hold_out import HoldOut, choose_words
from runs import labelled, small_config

FEW = [1000, 1, 1]
"""The number of words of each class. Hardly any words are labelled."""


def scores(count: int, mean: float, seed: int) -> torch.Tensor:
    return torch.randn(count, generator=torch.Generator().manual_seed(seed)) + mean


@pytest.mark.parametrize("share", [0.0, 0.02, 0.06, 0.11, 0.5, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_known_mixture(share: float, seed: int) -> None:
    inside = round(share * 20_000)
    mixed = torch.cat([scores(inside, 3, seed), scores(20_000 - inside, -3, seed + 10)])
    assert abs(mixture_share(mixed, scores(500, 3, seed + 20), 20_000) - share) < 0.01 + 0.05 * share


def test_missed_labelled_words_correct_for_missed_unlabelled_ones() -> None:
    """The estimate corrects for this: the share of found entities is only 5 %."""
    found, missed, other = scores(500, 4, 0), scores(500, -4, 1), scores(9000, -4, 2)
    positive = torch.cat([scores(200, 4, 3), scores(200, -4, 4)])
    assert abs(mixture_share(torch.cat([found, missed, other]), positive, 10_000) - 0.1) < 0.01


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=40),
    st.lists(st.integers(-20, 20), min_size=1, max_size=40),
)
def test_the_estimate_depends_only_on_the_order_of_scores(mixed: list[int], positive: list[int]) -> None:
    one, other = torch.tensor(mixed, dtype=torch.float64), torch.tensor(positive, dtype=torch.float64)
    share = mixture_share(one, other, len(one))
    assert 0 <= share <= 1
    assert share == mixture_share(one**3 - 5, other**3 - 5, len(one))


@pytest.mark.parametrize("function_words", [0, 5_000])
def test_the_number_of_function_words_in_a_sample_does_not_matter(function_words: int) -> None:
    """The corpus has 20,000 words and 1,000 entities; the sample, few or many words such as `the`."""
    mixed = torch.cat([scores(1000, 3, 0), scores(15_000, -3, 1), torch.full((function_words,), -9.0)])
    share = mixture_share(mixed, scores(500, 3, 2), 20_000)
    assert share == pytest.approx(0.05, abs=0.01)
    assert left_out_share(mixed, scores(500, 3, 2), 20_000, share, 1 / 3) == pytest.approx(0.05, abs=0.01)


def left_out_share(mixed: torch.Tensor, positive: torch.Tensor, size: float, share: float, cost_ratio: float) -> float:
    return int((mixed >= best_threshold(mixed, positive, size, share, cost_ratio)).sum()) / size


def test_shares_of_types() -> None:
    """Types are estimated separately: 7 % of the O words look like A, and 3 % look like B."""
    o, a, b = [-3.0, -3.1], [1.4, -2.2], [-2.2, 1.4]
    odds = torch.tensor([*[o] * 900, *[a] * 70, *[b] * 30, *[a] * 60, *[b] * 60])
    classes = torch.tensor([0] * 1000 + [1] * 60 + [2] * 60)
    found = type_shares(odds, classes, 1000, FEW)
    assert found is not None
    assert found[0].tolist() == pytest.approx([0.07, 0.03])
    assert found[1] == pytest.approx(0.1)


def test_a_word_that_may_be_of_two_types_is_left_out_once() -> None:
    o, both = [-3.0, -3.1], [0.5, 0.5]
    odds = torch.tensor([*[o] * 900, *[both] * 100, *[both] * 120])
    found = type_shares(odds, torch.tensor([0] * 1000 + [1, 2] * 60), 1000, FEW)
    assert found is not None
    assert found[0].tolist() == pytest.approx([0.1, 0.1])
    assert found[1] == pytest.approx(0.1)


def test_a_type_with_more_missing_labels_than_others_is_recognised() -> None:
    """All persons are labelled. Most organisations are not, and they have lower scores.

    If both types were estimated together, most labelled words would have higher scores than any
    unlabelled entity, so that hardly any label would seem to be missing.
    """
    sure, unsure, other = scores(2000, 8, 0), scores(600, 2, 1), scores(17_400, -4, 2)
    few = scores(100, 2, 3)
    own = torch.cat([unsure, other, sure, few])
    odds = torch.stack(
        [torch.cat([unsure - 9, other - 1, sure, few - 9]), torch.cat([unsure, other, sure - 9, few])], 1
    )
    classes = torch.tensor([0] * 18_000 + [1] * 2000 + [2] * 100)
    found = type_shares(odds, classes, 18_000, [18_000, 2000, 100])
    assert found is not None
    assert found[0].tolist() == pytest.approx([0, 600 / 18_000], abs=0.01)
    assert found[1] == pytest.approx(600 / 18_000, abs=0.01)
    together = mixture_share(own[:18_000], own[18_000:], 18_000)
    assert together < 0.01


@pytest.mark.parametrize(
    ("labelled", "expected"), [((60, 5), (5, 5 * 5 / 60)), ((15, 15), (5, 5)), ((5, 5), None), ((0, 60), (0, 5))]
)
def test_types_with_few_labels(labelled: tuple[int, int], expected: tuple[float, float] | None) -> None:
    """Their ratio of unlabelled to labelled words is that of the other types.

    Without other types, they are estimated together. Shares are in percent.
    """
    o, a, b = [-3.0, -3.1], [1.4, -2.2], [-2.2, 1.4]
    odds = torch.tensor([*[o] * 900, *[a] * 50, *[b] * 50, *[a] * labelled[0], *[b] * labelled[1]])
    classes = torch.tensor([0] * 1000 + [1] * labelled[0] + [2] * labelled[1])
    found = type_shares(odds, classes, 1000, FEW)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert (100 * found[0]).tolist() == pytest.approx(expected)
        assert 100 * found[1] == pytest.approx(sum(expected))


@given(st.integers(1, 4), st.integers(0, 10**6))
def test_types_are_parts_of_all_words(types: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    odds = torch.randn(200, types, generator=generator)
    classes = torch.randint(types + 1, (200,), generator=generator)
    size = int((classes == 0).sum())
    counts = torch.bincount(classes, minlength=types + 1).tolist()
    found = type_shares(odds, classes, size, counts) if size else None
    assert found is None or bool((found[0] >= 0).all())
    assert found is None or found[0].sum() <= 1 + 1e-6
    assert found is None or 0 <= found[1] <= 1


@pytest.mark.parametrize(("labelled", "expected"), [((69, 29), 0.1), ((71, 29), 0.03), ((69, 31), 0.07), ((71, 31), 0)])
def test_mostly_labelled_types_need_no_estimate(labelled: tuple[int, int], expected: float) -> None:
    """70 words of A and 30 of B have no label."""
    o, a, b = [-3.0, -3.1], [1.4, -2.2], [-2.2, 1.4]
    odds = torch.tensor([*[o] * 900, *[a] * 70, *[b] * 30, *[a] * 60, *[b] * 60])
    found = type_shares(odds, torch.tensor([0] * 1000 + [1] * 60 + [2] * 60), 1000, [1000, *labelled])
    assert found is not None
    assert found[0].tolist() == pytest.approx([0.07, 0.03])
    assert found[1] == pytest.approx(expected)


def test_without_unlabelled_words_there_is_no_estimate() -> None:
    assert type_shares(torch.ones(60, 1), torch.ones(60, dtype=torch.long), 0, [0, 60]) is None


@pytest.mark.parametrize(("share", "expected"), [(0.1, 0.1), (0.02, 0.02), (0.0, 0.0)])
def test_all_entities_are_left_out_if_they_are_easy_to_recognise(share: float, expected: float) -> None:
    inside = round(share * 20_000)
    mixed = torch.cat([scores(inside, 5, 0), scores(20_000 - inside, -5, 1)])
    assert left_out_share(mixed, scores(500, 5, 2), 20_000, share, 1 / 3) == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize("cost_ratio", [1 / 3, 1 / 5])
def test_fewer_entities_are_left_out_if_they_are_hard_to_recognise(cost_ratio: float) -> None:
    """If both distributions are equal, a tenth of the values above any threshold are positive.

    That is too few to leave them out. If the distributions differ a little, only the highest values
    are left out: at the threshold, the probability of a positive value is about the cost ratio.
    """
    same = torch.cat([scores(1000, 0, 0), scores(9000, 0, 1)])
    assert left_out_share(same, scores(500, 0, 2), 10_000, 0.1, cost_ratio) < 0.005
    apart = torch.cat([scores(1000, 2, 0), scores(9000, 0, 1)])
    left_out = left_out_share(apart, scores(500, 2, 2), 10_000, 0.1, cost_ratio)
    assert 0.05 < left_out < 0.25
    value = apart.sort(descending=True).values[round(left_out * 10_000)]
    odds = 2 * value - 2  # the log-likelihood ratio of the value
    assert 0.1 * odds.exp() / (0.1 * odds.exp() + 0.9) == pytest.approx(cost_ratio, abs=0.15)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 0.98)), max_size=20))
def test_log_odds_are_shared_by_the_mentions_of_a_word(mentions: list[tuple[int, float]]) -> None:
    """Compared with a loop. A word with one mention has the log-odds of that mention."""
    words, likely = [word for word, _ in mentions], [p for _, p in mentions]
    answers = torch.tensor([[1 - p, p / 4, 3 * p / 4] for p in likely], dtype=torch.float64).reshape(-1, 3).log()
    found = log_odds(answers, torch.tensor(words, dtype=torch.long))
    assert found.shape == (len(words), 2)
    for column, part in enumerate((1 / 4, 3 / 4)):
        own = [log(part * p / (1 - part * p)) for p in likely]
        for place, word in enumerate(words):
            others = [value for value, other in zip(own, words, strict=True) if other == word]
            expected = (1 - MEMORY_SHARE) * own[place] + MEMORY_SHARE * sum(others) / len(others)
            assert found[place, column].item() == pytest.approx(expected)


def test_priors_are_shares_of_all_words() -> None:
    """1,000 words: 100 and 50 labelled as entities, 850 as O; 2 % and 4 % of these are entities."""
    shares = UnlabelledEstimate.of({"A": 0.02, "B": 0.04}, 0.05, [850, 100, 50])
    assert shares.priors == pytest.approx({"A": 0.117, "B": 0.084})
    assert shares.coverage == pytest.approx(150 / (150 + 51))


def test_the_hold_out_phase_leaves_out_words_and_passes_the_estimate_to_the_model(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = write_roberta(tmp_path_factory.mktemp("encoder"), positions=200)
    config = load_config(settings=["mproto.denoising=threshold"])
    model = MProtoModel.build(Encoder.load(str(folder)), ("Chemical", "Disease"), config)
    data = Data.of(labelled(705), model)
    hold_out = HoldOut(data, model, config.training)
    assert hold_out.steps(100) == 20
    whole, part = data.batch(range(40)), hold_out.data.batch(range(40))
    assert whole.words is not None
    assert part.words is not None
    keep = ~hold_out.held_out[whole.words]
    assert 0 < keep.sum() < len(keep)
    for name in ("rows", "columns", "labels", "words", "certain"):
        assert torch.equal(getattr(part, name), getattr(whole, name)[keep])
    assert [place for window in part.windows for place in window.firsts] == part.columns.tolist()
    assert torch.equal(part.input_ids, whole.input_ids)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    model.train()
    logs = hold_out.finish(model)
    assert model.training
    assert set(logs) == {"unlabelled", "left_out", "coverage", "unlabelled.Chemical", "unlabelled.Disease"}
    assert model.denoiser.beta == max(1 - logs["left_out"], 0.5)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@given(st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=10), st.integers(0, 5))
def test_one_word_of_four_is_held_out_among_frequent_and_rare_ones(words: list[list[int]], seed: int) -> None:
    held_out = choose_words(words, seed)
    counts = torch.bincount(torch.tensor([number for own in words for number in own], dtype=torch.long))
    assert held_out.shape == counts.shape
    by_count = held_out[counts.argsort(descending=True, stable=True)]
    assert all(int(four.sum()) == 1 for four in by_count.split(4) if len(four) == 4)  # type: ignore[no-untyped-call]
    assert torch.equal(held_out, choose_words(words, seed))


@pytest.mark.parametrize("denoising", ["threshold", "transport"])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_an_estimate_needs_time(share: float, denoising: str, tmp_path: Path) -> None:
    config = load_config(settings=[f"mproto.denoising={denoising}", f"mproto.denoise_after={share}"])
    with pytest.raises(InputError, match="β is estimated from the steps before denoising starts"):
        get_method("mproto").build(Encoder.load(str(write_roberta(tmp_path))), ("A",), config)


def test_models_without_an_estimate_have_no_hold_out_phase(tmp_path_factory: pytest.TempPathFactory) -> None:
    encoder = Encoder.load(str(write_roberta(tmp_path_factory.mktemp("encoder"), positions=200)))

    def share(denoising: str, beta: str) -> float:
        config = small_config(f"mproto.denoising={denoising}", f"mproto.beta={beta}")
        return MProtoModel.build(encoder, ("A",), config).hold_out_share

    for denoising, estimated in {"threshold": 0.2, "transport": 0.2, "relabel": 0.0, "none": 0.0}.items():
        assert share(denoising, "0.9") == 0
        assert share(denoising, "auto") == estimated
    assert MProtoModel.build(encoder, ("A",), small_config()).hold_out_share == 0
    assert not isinstance(get_method("tagger").build(encoder, ("A",), small_config(method="tagger")), UsesEstimate)
