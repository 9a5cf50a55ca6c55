"""Which words labelled O a training step leaves out: the paper's transport, our threshold, and what serves them."""
