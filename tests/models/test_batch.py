from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from encoders import embedded, write_roberta
from mproto.models.batch import Batch, collate, make_windows, plan
from mproto.models.encoder import Encoder

ODD = ["\x00", "\x07\x1b", "\u200b", "\ufeff", " ", "\ud800", "\ue000", "[SEP]", "[PAD]", "😀", "a\tb"]
WORDS = st.one_of(
    st.sampled_from(
        [*ODD, ".", "?", "aspirin", "hypotension", "Selegiline-induced", "of", ",", "x" * 300, "naïve" * 9]
    ),
    st.text(min_size=1, max_size=12),
)
SENTENCES = st.lists(st.lists(WORDS, max_size=40), max_size=5)
WINDOWS = st.integers(3, 40)


def features(encoder: Encoder, batch: Batch) -> torch.Tensor:
    with torch.inference_mode():
        return encoder(batch)


class TestWindows:
    @given(sentences=SENTENCES, window=WINDOWS, context=st.integers(0, 20))
    @example(sentences=[["x" * 300], [], ["aspirin"] * 200], window=3, context=64)
    def test_every_word_is_own_once_and_no_input_is_too_long(
        self, sentences: list[list[str]], window: int, context: int
    ) -> None:
        windows = make_windows(sentences, embedded().tokens, window, context)
        own = Counter((w.document, w.start + i) for w in windows for i in range(len(w.firsts)))
        assert own == Counter((d, i) for d, words in enumerate(sentences) for i in range(len(words)))
        for w in windows:
            assert w.firsts
            assert len(w.input_ids) <= window
            assert w.input_ids[0] == embedded().tokenizer.cls_token_id
            assert w.input_ids[-1] == embedded().tokenizer.sep_token_id
            assert w.firsts == sorted(set(w.firsts))
            assert 0 < w.firsts[0] <= w.firsts[-1] < len(w.input_ids) - 1
        assert [(w.document, w.start) for w in windows] == sorted((w.document, w.start) for w in windows)

    @given(sentences=SENTENCES, window=WINDOWS, context=st.integers(0, 20))
    def test_firsts_point_at_first_sub_words(self, sentences: list[list[str]], window: int, context: int) -> None:
        tokenizer = embedded().tokenizer
        for w in make_windows(sentences, embedded().tokens, window, context):
            for i, position in enumerate(w.firsts):
                word = sentences[w.document][w.start + i].replace("\ud800", "\ufffd")
                ids = tokenizer([[word]], is_split_into_words=True, add_special_tokens=False)["input_ids"][0]
                assert w.input_ids[position] == (ids or [tokenizer.unk_token_id])[0]

    @given(words=st.lists(WORDS, min_size=1, max_size=300), window=st.integers(12, 40), context=st.integers(0, 20))
    def test_context_is_the_neighbouring_words(self, words: list[str], window: int, context: int) -> None:
        whole = make_windows([words], embedded().tokens, 10**6)[0]
        longest = window - 2
        edges = [*whole.firsts, len(whole.input_ids) - 1]
        parts = [whole.input_ids[a:b][:longest] for a, b in pairwise(edges)]
        for w in make_windows([words], embedded().tokens, window, context):
            stop = w.start + len(w.firsts)
            own_end = w.firsts[-1] + len(parts[stop - 1])
            left, right = w.input_ids[1 : w.firsts[0]], w.input_ids[own_end:-1]
            assert w.input_ids[w.firsts[0] : own_end] == [id for part in parts[w.start : stop] for id in part]
            assert len(left) <= context
            assert len(right) <= context
            before = [id for part in parts[: w.start] for id in part]
            after = [id for part in parts[stop:] for id in part]
            assert left == before[len(before) - len(left) :]
            assert right == after[: len(right)]

    def test_split_texts_have_context_on_both_sides(self) -> None:
        first, middle, *_, last = make_windows([["a"] * 100], embedded().tokens, 34, context=8)
        shown = [(w.firsts[0] - 1, len(w.input_ids) - 2 - w.firsts[-1]) for w in (first, middle, last)]
        assert shown == [(0, 8), (8, 8), (8, 0)]

    @given(sentences=st.lists(st.integers(1, 60), min_size=1), window=st.integers(12, 40), context=st.integers(0, 20))
    def test_texts_are_split_where_sentences_end(self, sentences: list[int], window: int, context: int) -> None:
        words = [word for length in sentences for word in [*["Word"] * length, "."]]
        begins = {0, *accumulate(length + 1 for length in sentences)}
        windows = make_windows([words], embedded().tokens, window, context)
        lengths = dict(zip(sorted(begins), sentences, strict=False))
        for own in windows:
            stop = own.start + len(own.firsts)
            if own.start in begins:
                assert own.firsts[0] == 1  # no context
                if lengths[own.start] + 1 <= window - 2:
                    assert stop in begins
            if stop in begins:
                assert own.firsts[-1] == len(own.input_ids) - 2

    def test_long_text(self) -> None:
        words = [f"word{i % 977}" for i in range(20_000)]
        windows = make_windows([words], embedded().tokens, embedded().window)
        assert sum(len(w.firsts) for w in windows) == 20_000
        plain = embedded().tokenizer([words], is_split_into_words=True, add_special_tokens=False, verbose=False)
        parts = make_windows([words], embedded().tokens, embedded().window, context=0)
        assert [id for w in parts for id in w.input_ids[1:-1]] == plain["input_ids"][0]
        batch = collate(windows[:1] + windows[-1:], embedded().pad_id)
        assert features(embedded(), batch).isfinite().all()

    def test_words_without_sub_words_are_unknown(self) -> None:
        (window,) = make_windows([["\x00", "aspirin", "\u200b"]], embedded().tokens, 512)
        assert len(window.firsts) == 3
        unknown = embedded().tokenizer.unk_token_id
        assert [window.input_ids[i] == unknown for i in window.firsts] == [True, False, True]

    def test_no_sentence_no_window(self) -> None:
        assert make_windows([], embedded().tokens, 512) == []
        assert make_windows([[], []], embedded().tokens, 512) == []

    def test_no_room(self) -> None:
        with pytest.raises(ValueError, match="a window of 2 sub-words"):
            make_windows([["a"]], embedded().tokens, 2)

    def test_words_of_byte_level_tokenizers_have_a_space_before_them(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        encoder = Encoder.load(str(write_roberta(tmp_path_factory.mktemp("roberta"))))
        (window,) = make_windows([["hello", "world"]], encoder.tokens, encoder.window)
        assert encoder.tokenizer.convert_ids_to_tokens(window.input_ids) == ["<s>", "Ġhello", "Ġworld", "</s>"]


class TestCollate:
    @settings(max_examples=8)
    @given(sentences=st.lists(st.lists(WORDS, min_size=1, max_size=20), min_size=1, max_size=6))
    def test_batched_features_equal_unbatched_ones(self, sentences: list[list[str]]) -> None:
        windows = make_windows(sentences, embedded().tokens, 64)
        together = features(embedded(), collate(windows, embedded().pad_id))
        alone = torch.cat([features(embedded(), collate([w], embedded().pad_id)) for w in windows])
        assert together.shape == (sum(map(len, sentences)), embedded().hidden_size)
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)

    def test_sizes_padding_and_labels(self) -> None:
        windows = make_windows([["a"] * 30, ["b", "c"]], embedded().tokens, 22, context=0)
        batch = collate(windows, 7, [list(range(30)), [50, 51]])
        assert [len(w.firsts) for w in batch.windows] == [20, 10, 2]
        assert batch.input_ids.shape == batch.attention_mask.shape == (3, 22)
        assert batch.attention_mask.sum(1).tolist() == [22, 12, 4]
        assert (batch.input_ids[batch.attention_mask == 0] == 7).all()
        assert batch.rows.tolist() == [0] * 20 + [1] * 10 + [2] * 2
        assert batch.columns.tolist() == [*range(1, 21), *range(1, 11), 1, 2]
        assert batch.labels is not None
        assert batch.labels.tolist() == [*range(30), 50, 51]
        assert {t.dtype for t in (batch.input_ids, batch.rows, batch.columns, batch.labels)} == {torch.long}
        assert collate(windows, 7).labels is None

    def test_labels_follow_the_windows_not_their_order(self) -> None:
        windows = make_windows([["a"], ["b", "c"]], embedded().tokens, 22)
        labels = collate(windows[::-1], 0, [[1], [2, 3]]).labels
        assert labels is not None
        assert labels.tolist() == [2, 3, 1]

    def test_too_few_labels(self) -> None:
        with pytest.raises(ValueError, match="document 0 has more words than its 1 labels"):
            collate(make_windows([["a", "b"]], embedded().tokens, 22), 0, [[1]])

    def test_to_moves_every_tensor(self) -> None:
        batch = collate(make_windows([["a"]], embedded().tokens, 22), 0, [[1]]).to("meta")
        assert batch.labels is not None
        tensors = (batch.input_ids, batch.attention_mask, batch.rows, batch.columns, batch.labels)
        assert {t.device.type for t in tensors} == {"meta"}


class TestPlan:
    @given(
        lengths=st.lists(st.integers(1, 60), max_size=400),
        batch_size=st.integers(1, 9),
        token_budget=st.integers(1, 300),
        seed=st.none() | st.integers(0, 99),
    )
    def test_every_index_once_within_the_budgets(
        self, lengths: list[int], batch_size: int, token_budget: int, seed: int | None
    ) -> None:
        def planned() -> list[list[int]]:
            generator = None if seed is None else torch.Generator().manual_seed(seed)
            return plan(lengths, batch_size=batch_size, token_budget=token_budget, generator=generator)

        batches = planned()
        assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
        for batch in batches:
            assert 1 <= len(batch) <= batch_size
            assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= token_budget
        assert planned() == batches

    def test_batches_and_their_order_differ_between_epochs(self) -> None:
        lengths = torch.randint(5, 60, (3000,), generator=torch.Generator().manual_seed(1)).tolist()
        generator = torch.Generator().manual_seed(0)
        one, other = (plan(lengths, batch_size=8, token_budget=400, generator=generator) for _ in range(2))
        together = [{frozenset(batch) for batch in epoch} for epoch in (one, other)]
        assert len(together[0] & together[1]) < len(one) / 100
        longest = [lengths[batch[0]] for batch in one[:50]]
        assert longest != sorted(longest, reverse=True)  # batches are not sorted by length

    def test_prediction_starts_with_the_longest(self) -> None:
        batches = plan([3, 9, 5, 9, 1], batch_size=2, token_budget=100)
        assert batches == [[1, 3], [2, 0], [4]]

    @pytest.mark.parametrize("epoch", [0, 1])
    def test_there_is_little_padding(self, epoch: int) -> None:
        lengths = (torch.randn(4500, generator=torch.Generator().manual_seed(epoch)).exp() * 25 + 4).long().tolist()
        generator = torch.Generator().manual_seed(epoch)
        batches = plan(lengths, batch_size=32, token_budget=4096, generator=generator)
        padded = sum(len(batch) * max(lengths[i] for i in batch) for batch in batches)
        assert 1 - sum(lengths) / padded < 0.08

    def test_wrong_sizes(self) -> None:
        with pytest.raises(ValueError, match="batch_size 0"):
            plan([1], batch_size=0, token_budget=1)
