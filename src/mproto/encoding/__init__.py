"""From words to the inputs of an encoder: sub-words, windows, batches. Does not need torch."""
