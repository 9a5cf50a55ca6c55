"""From tagged words to entities, for PyTorch models and exported models alike.

Imports neither PyTorch nor transformers.
"""
