"""Inference: from texts to entities, for PyTorch models and exported models.

Imports neither PyTorch nor transformers.
"""
