"""What a recogniser asks of a network, be it a model of torch or an exported one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.encoding.tokens import Tokens
    from mproto.encoding.windows import Window


class Tagged(NamedTuple):
    """What a network says about the W own words of some windows, one window after the other.

    Attributes:
        tags: (W) numbers of tags.
        scores: (W) from 0 to 1, how sure each is.
        prototypes: (W) the nearest prototype of the tag's class, where there are any.
        margins: (W) how much more similar it is than the nearest prototype of any other class.
        features: (W, d) of the words, where they were asked for: an array of numpy.
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
        """`O`, then those of the types."""

    @property
    def prototype_names(self) -> Sequence[str]:
        """What each prototype is called, where there are any."""

    @property
    def encoder_name(self) -> str:
        """The encoder that it was made from."""

    @property
    def tokens(self) -> Tokens:
        """From words to sub-words."""

    @property
    def window(self) -> int:
        """The most sub-words of an input; about the longest that it learnt from, since it knows no longer ones."""

    @property
    def at_once(self) -> int | None:
        """The sub-words that are best read together, if any number is: more do not fit into a processor's cache."""

    def tag(self, windows: Sequence[Window], *, features: bool = False) -> Tagged:
        """Tag the windows' own words, all at once. Changes nothing."""
