"""Denoising: leave out words labelled O that are probably unlabelled entities.

One interface, `Denoiser`, and three implementations: `NoDenoising`, `Transport` (the paper's) and
`Threshold` (ours, the default).
"""
