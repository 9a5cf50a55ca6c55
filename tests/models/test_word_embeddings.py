from __future__ import annotations

import random

import torch

from encoders import embedded, plain_features
from mproto.denoising.neighbours import nearest_neighbours
from mproto.models.word_embeddings import LONGEST, meanings

WORDS = ["England", "Scotland", "Thursday", "Monday", "aspirin", "ibuprofen", "α-synuclein", "\u200b", "x" * 300]


def test_an_embedding_is_the_mean_of_the_hidden_states_of_a_word_on_its_own() -> None:
    found = meanings(embedded(), WORDS)
    for word, meaning in zip(WORDS, found, strict=True):
        _, hidden = plain_features(embedded(), [word])
        if len(hidden) <= LONGEST and word != "\u200b":  # which has no sub-word
            torch.testing.assert_close(meaning, hidden.mean(0), atol=1e-5, rtol=1e-4)


def test_embeddings_do_not_depend_on_other_words() -> None:
    many = [f"word{number}" for number in range(700)] + WORDS
    found = dict(zip(many, meanings(embedded(), many), strict=True))
    order = random.Random(0).sample(many, 60)
    torch.testing.assert_close(
        meanings(embedded(), order), torch.stack([found[word] for word in order]), atol=1e-5, rtol=1e-4
    )


def test_words_of_a_kind_are_neighbours() -> None:
    pairs = WORDS[:6]
    found = nearest_neighbours(meanings(embedded(), pairs), torch.tensor([word.islower() for word in pairs]))
    assert found is not None
    nearest = {word: pairs[near] for word, near in zip(pairs, found.words[:, 0].tolist(), strict=True)}
    assert nearest == {pairs[i]: pairs[i ^ 1] for i in range(6)}
