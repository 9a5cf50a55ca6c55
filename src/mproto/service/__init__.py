"""A model behind HTTP: texts in, entities out, those of many callers tagged together. Needs the extra `serve`."""
