"""Models on disk: their folder, their card, and the Hugging Face hub."""
