"""Train a recogniser on labelled documents."""

from mproto.training.result import TrainingResult
from mproto.training.run import train

__all__ = ["TrainingResult", "train"]
