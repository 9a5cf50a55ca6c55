"""A model on disk: its folder, its card, and the Hugging Face hub."""
