"""An HTTP service around a model: texts in, entities out. Requires the extra `serve`."""
