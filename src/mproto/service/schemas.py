"""The schemas of requests and responses. The OpenAPI document is made from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError

from mproto.service.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mproto.service.limits import Limits

Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Threshold = Annotated[
    Annotated[Score, Tag("all")] | Annotated[dict[str, Score], Tag("by type")],
    Discriminator(lambda given: "by type" if isinstance(given, dict) else "all"),
]
"""A threshold for all types, or a mapping from types to thresholds. The discriminator picks one of
the two before validation, so that an error message is about the form that was sent."""


class EntitiesRequest(BaseModel):
    """The body of a request for entities.

    Exactly one of `text` and `texts` must be given; `null` is not accepted.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str = ""
    texts: list[str] = []
    threshold: Threshold = 0.0
    types: Annotated[list[str], Field(min_length=1)] = []

    @property
    def is_one(self) -> bool:
        """Whether the request has `text`, so that the response has one list of entities."""
        return "text" in self.model_fields_set

    @property
    def all_texts(self) -> list[str]:
        return [self.text] if self.is_one else self.texts


class Entity(BaseModel):
    """An entity: `text[start:end] == word`.

    Offsets count Unicode code points; the end is exclusive.
    """

    entity_group: Annotated[str, Field(description="the type")]
    score: Annotated[float, Field(description="from 0 to 1")]
    word: Annotated[str, Field(description="the text of the entity")]
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]


class SingleResponse(BaseModel):
    """The response to `text`: its entities, in order of position."""

    model: str
    entities: list[Entity]


class BatchResponse(BaseModel):
    """The response to `texts`: the entities of each text."""

    model: str
    entities: list[list[Entity]]


class ModelInfo(BaseModel):
    """The model and the limits of the service."""

    name: str
    labels: list[str]
    method: str
    encoder: str
    card: dict[str, Any]
    version: Annotated[str, Field(description="the version of mproto")]
    limits: dict[str, float]


class Health(BaseModel):
    """The state of the service."""

    status: Annotated[str, Field(description="`live` or `ready`")]


class ErrorDetails(BaseModel):
    """What is wrong with a request, or with the service."""

    code: Annotated[str, Field(description="a fixed name of the error")]
    message: Annotated[str, Field(description="what is wrong, and what to do")]


class ErrorResponse(BaseModel):
    """The body of every error response."""

    error: ErrorDetails


def read_request(body: bytes, limits: Limits, labels: Sequence[str]) -> EntitiesRequest:
    """Parse and check the body of a request.

    Raises:
        ProblemError: it is not JSON, does not follow the schema, or exceeds a limit.
    """
    try:
        asked = EntitiesRequest.model_validate_json(body)
    except ValidationError as error:
        raise ProblemError(422, _sentence(error)) from None
    if asked.is_one == ("texts" in asked.model_fields_set):
        given = 'Both "text" and "texts" are' if asked.is_one else 'Neither "text" nor "texts" is'
        problem = f'{given} given; send either "text" (a string) or "texts" (a list of strings).'
        raise ProblemError(422, problem)
    if len(asked.texts) > limits.texts:
        problem = f"The request has {len(asked.texts)} texts, and the limit is {limits.texts}; send several requests."
        raise ProblemError(422, problem)
    for number, text in enumerate(asked.all_texts):
        if len(text) > limits.characters:
            where = "text" if asked.is_one else f"texts[{number}]"
            problem = f"{where} has {len(text)} characters, and the limit is {limits.characters}"
            raise ProblemError(422, f"{problem}; split it, for example into paragraphs.")
    given_types = {"threshold": asked.threshold if isinstance(asked.threshold, dict) else (), "types": asked.types}
    for field, types in given_types.items():
        for wanted in types:
            if wanted not in labels:
                problem = f"{field}: the model has no type {wanted[:40]!r}; its types are {', '.join(labels)}."
                raise ProblemError(422, problem)
    return asked


def _sentence(error: ValidationError) -> str:
    """Describe the first problem, without the value, which may be a text of the client."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    first = problems[0]
    if first["type"] == "json_invalid":
        return f"The body is not JSON: {first['msg'].removeprefix('Invalid JSON: ')}."
    parts = list(first["loc"])
    if parts[:1] == ["threshold"]:
        del parts[1:2]  # the tag of the discriminator
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}"[:41] for part in parts).lstrip(".")
    known = ", ".join(EntitiesRequest.model_fields)
    if first["type"] == "extra_forbidden":
        return f"{place} is not a field of a request; its fields are {known}."
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place or 'The body'}: {first['msg'][0].lower()}{first['msg'][1:]}{more}."
