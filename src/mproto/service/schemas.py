"""What callers send and get; the description of the API is made from these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from mproto.service.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.service.limits import Limits

Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Threshold = Annotated[
    Annotated[Score, Tag("one")] | Annotated[dict[str, Score], Tag("each")],
    Discriminator(lambda given: "each" if isinstance(given, dict) else "one"),
]
"""One for all types, or one each for some. Told apart first, so that an error is about the one that was meant."""


class Asked(BaseModel):
    """The body of a request for entities. Exactly one of `text` and `texts` is given; `null` is neither."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = ""
    texts: list[str] = []
    threshold: Threshold = 0.0
    types: Annotated[list[str], Field(min_length=1)] = []

    @property
    def is_one(self) -> bool:
        """Whether one text was asked about, and one list is the answer."""
        return "text" in self.model_fields_set

    @property
    def all_texts(self) -> list[str]:
        return [self.text] if self.is_one else self.texts


class Entity(BaseModel):
    """An entity: `text[start:end] == word`, in Unicode characters, end exclusive."""

    entity_group: Annotated[str, Field(description="its type")]
    score: Annotated[float, Field(description="from 0 to 1")]
    word: Annotated[str, Field(description="the stretch of text")]
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]


class OneAnswer(BaseModel):
    """The entities of one text, in order."""

    model: str
    entities: list[Entity]


class SeveralAnswers(BaseModel):
    """The entities of each text, in the order of the texts."""

    model: str
    entities: list[list[Entity]]


class ModelInfo(BaseModel):
    """The model that is served, and the limits of the service."""

    name: str
    labels: list[str]
    method: str
    encoder: str
    card: dict[str, Any]
    version: Annotated[str, Field(description="of mproto")]
    limits: dict[str, float]


class Health(BaseModel):
    """The state of the service."""

    status: Annotated[str, Field(description="`live`, or `ready`")]


class ErrorContent(BaseModel):
    """What is wrong."""

    code: Annotated[str, Field(description="a name for programs")]
    message: Annotated[str, Field(description="a sentence for people: what is wrong, and what to do")]


class ErrorAnswer(BaseModel):
    """The body of every answer that is an error."""

    error: ErrorContent


def read_request(body: bytes, limits: Limits, labels: Sequence[str]) -> Asked:
    """A request that can be answered.

    Raises:
        ProblemError: it cannot, because it is not JSON, not of the right form, or beyond a limit.
    """
    try:
        asked = Asked.model_validate_json(body)
    except ValidationError as error:
        raise ProblemError(422, _sentence(error)) from None
    if asked.is_one == ("texts" in asked.model_fields_set):
        given = "Both are" if asked.is_one else "Neither is"
        problem = f'{given} given: send either "text" (one text) or "texts" (a list of them).'
        raise ProblemError(422, problem)
    if len(asked.texts) > limits.texts:
        problem = f"{len(asked.texts)} texts are more than the {limits.texts} that a request may have; send several."
        raise ProblemError(422, problem)
    for number, text in enumerate(asked.all_texts):
        if len(text) > limits.characters:
            where = "text" if asked.is_one else f"texts[{number}]"
            problem = f"{where} has {len(text)} characters, more than the {limits.characters} that a text may have"
            raise ProblemError(422, f"{problem}; split it between paragraphs.")
    of_types = {"threshold": asked.threshold if isinstance(asked.threshold, dict) else (), "types": asked.types}
    for field, types in of_types.items():
        for wanted in types:
            if wanted not in labels:
                problem = f"{field}: {wanted[:40]!r} is no type of this model; it has {', '.join(labels)}."
                raise ProblemError(422, problem)
    return asked


def _sentence(error: ValidationError) -> str:
    """The first thing that is wrong, without the value, which may be a text."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    first = problems[0]
    if first["type"] == "json_invalid":
        return f"The body is not JSON: {first['msg'].removeprefix('Invalid JSON: ')}."
    parts = [part for number, part in enumerate(first["loc"]) if number != 1 or first["loc"][0] != "threshold"]  # a tag
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}"[:41] for part in parts).lstrip(".")
    known = ", ".join(Asked.model_fields)
    if first["type"] == "extra_forbidden":
        return f"{place} is no field of a request; it has {known}."
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place or 'The body'}: {first['msg'][0].lower()}{first['msg'][1:]}{more}."
