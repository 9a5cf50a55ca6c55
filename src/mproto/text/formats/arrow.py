"""Parquet and Arrow as on the Hugging Face Hub: `tokens` (strings) and `ner_tags` (class numbers).

The schema's `huggingface` metadata names the numbers. Tags may also be strings. `.arrow` files are
in Arrow's stream format, as the `datasets` library writes them; Arrow's file format is read too.
"""

from __future__ import annotations

import io
import json
import tempfile
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any

from mproto.errors import InputError, MissingExtraError
from mproto.text.document import Document
from mproto.text.formats.base import Format, Head, Keeps, Options, Target
from mproto.text.formats.records import shorten
from mproto.text.formats.tag_reading import TagReader
from mproto.text.tagging import OUTSIDE, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mproto.io.sources import Source

BATCH = 1000
_TAG_KEYS = ("ner_tags", "tags", "labels")
_FILE_MAGIC, _STREAM_START, _PARQUET_MAGIC = b"ARROW1", b"\xff\xff\xff\xff", b"PAR1"


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet or Arrow", "parquet") from None
    return pa


def read(source: Source, options: Options) -> Iterator[Document]:
    pa = _pyarrow()
    tags = TagReader(options)
    row = 0
    with source.open() as stream:
        file = io.BytesIO(source.guard(stream.read)) if source.is_pipe else stream
        try:
            schema, batches = _open(pa, file)
            tag_key, names = _tag_names(pa, source, schema, options)
            columns = [key for key in ("id", "tokens", tag_key) if key in schema.names]
            source.notes.count("columns were not read", len(schema.names) - len(columns))
            for batch in batches:
                for record in batch.select(columns).to_pylist():
                    row += 1
                    try:
                        yield _document(record, tag_key, names, tags)
                    except (InputError, ValueError) as error:
                        message = f"row {row}: {getattr(error, 'message', error)}"
                        source.notes.reject(source.error(message, hint="correct it"))
        except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
            raise source.error(f"cannot be read as Parquet or Arrow ({error})", hint="write the file again") from None
    tags.report(source.notes)


def _open(pa: Any, file: Any) -> tuple[Any, Any]:
    """Return the schema and the batches of a Parquet file, an Arrow file or an Arrow stream."""
    start = file.read(8)
    file.seek(0)
    if start.startswith(_PARQUET_MAGIC):
        parquet = pa.parquet.ParquetFile(file)
        return parquet.schema_arrow, parquet.iter_batches(batch_size=BATCH)
    if start.startswith(_FILE_MAGIC):
        arrow = pa.ipc.open_file(file)
        return arrow.schema, (arrow.get_batch(i) for i in range(arrow.num_record_batches))
    stream = pa.ipc.open_stream(file)
    return stream.schema, stream


def _tag_names(pa: Any, source: Source, schema: Any, options: Options) -> tuple[str, list[str] | None]:
    """Return the name of the tag column and, if tags are numbers, their names."""
    key = next((key for key in _TAG_KEYS if key in schema.names), None)
    if key is None or "tokens" not in schema.names:
        raise source.error(f"has the columns {', '.join(schema.names)}", hint="it needs tokens and ner_tags")
    kind = schema.field(key).type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise source.error(f"its {key} are {kind}, not lists", hint="it needs a list of tags for each list of tokens")
    if not pa.types.is_integer(kind.value_type):
        return key, None
    if options.labels:
        return key, list(options.labels)
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][key]
        feature = feature[0] if isinstance(feature, list) else feature["feature"]
        return key, list(feature["names"])
    except (KeyError, IndexError, TypeError, ValueError):
        raise source.error(
            f"its {key} are numbers without names", hint="pass --labels O,B-PER,I-PER,… in order"
        ) from None


def _document(record: dict[str, Any], key: str, names: list[str] | None, tags: TagReader) -> Document:
    words, values = record["tokens"] or [], record[key] or []
    if len(words) != len(values):
        raise InputError(f"{len(words)} words and {len(values)} tags")
    if invalid := [word for word in words if type(word) is not str]:
        raise InputError(f"the word {shorten(invalid[0])} is not a string")
    if names is not None:
        if invalid := [v for v in values if type(v) is not int or not 0 <= v < len(names)]:
            raise InputError(f"tag {shorten(invalid[0])} has no name")
        values = [names[value] for value in values]
    elif invalid := [value for value in values if type(value) is not str]:
        raise InputError(f"the tag {shorten(invalid[0])} is not a string")
    identity = record.get("id")
    return Document.from_words(words, tags.spans(values), id="" if identity is None else str(identity))


def write(documents: Iterable[Document], target: Target, *, is_parquet: bool) -> None:
    """Write documents in batches.

    The batches go to a temporary file first: the schema names all tags, and comes before the
    batches in the output.
    """
    pa = _pyarrow()
    numbers = {OUTSIDE: 0}
    fields = [("id", pa.string()), ("tokens", pa.list_(pa.string())), ("ner_tags", pa.list_(pa.int64()))]
    with tempfile.TemporaryFile() as scratch:
        with pa.ipc.new_file(scratch, pa.schema(fields)) as writer:
            for batch in _batches(documents):
                tags = [encode(d.word_spans, len(d.words), target.options.write_scheme) for d in batch]
                columns = {
                    "id": [document.id for document in batch],
                    "tokens": [document.word_texts for document in batch],
                    "ner_tags": [[numbers.setdefault(tag, len(numbers)) for tag in row] for row in tags],
                }
                writer.write(pa.RecordBatch.from_pydict(columns, pa.schema(fields)))
        schema = pa.schema(fields, {"huggingface": json.dumps({"info": {"features": _features(list(numbers))}})})
        stream = target.outputs.open(target.path)
        scratch.seek(0)
        batches = pa.ipc.open_file(scratch)
        with pa.parquet.ParquetWriter(stream, schema) if is_parquet else pa.ipc.new_stream(stream, schema) as writer:
            for i in range(batches.num_record_batches):
                writer.write_batch(batches.get_batch(i).cast(schema) if is_parquet else batches.get_batch(i))


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    for document in documents:
        batch.append(document)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _features(names: list[str]) -> dict[str, Any]:
    """Return the features in a form that old and new versions of `datasets` read."""
    string = {"dtype": "string", "_type": "Value"}
    return {
        "id": string,
        "tokens": {"feature": string, "_type": "Sequence"},
        "ner_tags": {"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"},
    }


def sniff_parquet(head: Head) -> bool:
    return head.data.startswith(_PARQUET_MAGIC)


def sniff_arrow(head: Head) -> bool:
    return head.data.startswith((_FILE_MAGIC, _STREAM_START))


_KEEPS = Keeps.WORDS | Keeps.ANY_WORD | Keeps.ANY_LABEL | Keeps.SPANS | Keeps.TOUCHING | Keeps.IDS | Keeps.EMPTY
_SAMPLE = 'tokens:    ["Aspirin", "helps"]\nner_tags:  [1, 0]      (features: ClassLabel(names=["O", "B-Chemical", …]))'

PARQUET = Format(
    name="parquet",
    title="Parquet, tokens and ner_tags as on the Hugging Face Hub",
    keeps=_KEEPS,
    sample=_SAMPLE,
    read=read,
    write=partial(write, is_parquet=True),
    sniff=sniff_parquet,
    suffixes=(".parquet",),
    extra="parquet",
    has_tags=True,
)
ARROW = Format(
    name="arrow",
    title="Arrow, tokens and ner_tags as saved by datasets",
    keeps=_KEEPS,
    sample=_SAMPLE,
    read=read,
    write=partial(write, is_parquet=False),
    sniff=sniff_arrow,
    suffixes=(".arrow",),
    extra="parquet",
    has_tags=True,
)
