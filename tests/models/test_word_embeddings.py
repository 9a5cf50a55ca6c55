from __future__ import annotations

import random

import torch

from encoders import embedded, plain_features
from mproto.denoising.neighbours import nearest_neighbours
from mproto.models.word_embeddings import LONGEST, word_embeddings

WORDS = ["England", "Scotland", "Thursday", "Monday", "aspirin", "ibuprofen", "α-synuclein", "\u200b", "x" * 300]


def test_an_embedding_is_the_mean_hidden_state_of_a_word() -> None:
    found = word_embeddings(embedded(), WORDS)
    for word, embedding in zip(WORDS, found, strict=True):
        _, hidden = plain_features(embedded(), [word])
        if len(hidden) <= LONGEST and word != "\u200b":  # it has no sub-word
            torch.testing.assert_close(embedding, hidden.mean(0), atol=1e-5, rtol=1e-4)


def test_embeddings_do_not_depend_on_order_or_the_other_words() -> None:
    many = [f"word{number}" for number in range(700)] + WORDS
    found = dict(zip(many, word_embeddings(embedded(), many), strict=True))
    order = random.Random(0).sample(many, 60)
    torch.testing.assert_close(
        word_embeddings(embedded(), order), torch.stack([found[word] for word in order]), atol=1e-5, rtol=1e-4
    )


def test_neighbours_have_a_similar_meaning() -> None:
    pairs = WORDS[:6]
    found = nearest_neighbours(word_embeddings(embedded(), pairs), torch.tensor([word.islower() for word in pairs]))
    assert found is not None
    nearest = {word: pairs[near] for word, near in zip(pairs, found.words[:, 0].tolist(), strict=True)}
    assert nearest == {pairs[i]: pairs[i ^ 1] for i in range(6)}
