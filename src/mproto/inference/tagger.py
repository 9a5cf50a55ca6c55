"""The interface of a recogniser to its network, a PyTorch model or an exported one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.encoding.tokens import Tokens
    from mproto.encoding.windows import Window


class Tagged(NamedTuple):
    """The output of a network for the W own words of some windows, in the order of the windows.

    Attributes:
        tags: (W,) the index of each word's tag.
        scores: (W,) the score of each tag, from 0 to 1.
        prototypes: (W,) the index of the nearest prototype of the tag's class, if the model has
            prototypes.
        margins: (W,) the similarity to that prototype minus the similarity to the nearest prototype
            of any other class.
        features: (W, d) a numpy array, the words' features, if they were requested.
    """

    tags: list[int]
    scores: list[float]
    prototypes: list[int] | None = None
    margins: list[float] | None = None
    features: Any = None


class Tagger(Protocol):
    """A network that tags words."""

    @property
    def labels(self) -> Sequence[str]:
        """The entity types."""

    @property
    def tags(self) -> Sequence[str]:
        """The tag names: `O` first, then the tags of each type."""

    @property
    def prototype_names(self) -> Sequence[str]:
        """The prototype names; empty if the model has no prototypes."""

    @property
    def encoder_name(self) -> str:
        """The name of the pre-trained encoder."""

    @property
    def tokens(self) -> Tokens:
        """The tokenizer."""

    @property
    def window(self) -> int:
        """The maximum number of sub-words in an input: about that of the longest training input."""

    @property
    def tokens_per_batch(self) -> int | None:
        """The maximum number of sub-words in a batch, for the CPU's cache; `None` for no limit."""

    def tag(self, windows: Sequence[Window], *, features: bool = False) -> Tagged:
        """Tag the own words of some windows in one batch, with features if requested.

        This does not change the model.
        """
