"""From words to what an encoder reads: sub-words, windows, and which windows go together. Knows no network."""
