"""From labelled documents to a recogniser."""

from mproto.training.run import train

__all__ = ["train"]
