"""Which of the words labelled O a training step leaves out, because they are probably unlabelled entities.

One interface, `Denoiser`, and three implementations: `NoDenoising`, `Transport` (the paper's) and `Threshold` (ours, the
default).
"""
