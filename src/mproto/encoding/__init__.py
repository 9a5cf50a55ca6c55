"""From words to the inputs of an encoder: sub-words, windows, batches. Needs no torch."""
