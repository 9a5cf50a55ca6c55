"""Details of each format: the variants that tools really write, and losses."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mproto.errors import InputError, Notes
from mproto.io.sources import Source
from mproto.text import Document, Options, Span, WordSpan, detect, formats, read_documents, write_documents
from mproto.text.formats import format_for_output, get_format

FILE_SAMPLES = [
    f.name for f in formats() if f.name not in ("text-folder", "brat", "roster", "parquet", "arrow", "docbin")
]
ASPIRIN = Span(0, 7, "Chemical")


def read(path: Path | str, format: str | None = None, **options: object) -> tuple[list[Document], Notes]:
    notes = Notes()
    return list(read_documents(Source(path, notes), format, Options(**options))), notes  # type: ignore[arg-type]


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def sample(folder: Path, name: str) -> Path:
    """Write a format's sample to a file, with the sidecar files that it needs."""
    put(folder, "tag_to_id.json", '{"O": 0, "B-Chemical": 1, "I-Chemical": 2}')
    put(folder, "types.txt", "Chemical\n")
    return put(folder, "sample.txt" if name == "text" else "sample", get_format(name).sample + "\n")


@pytest.mark.parametrize("name", FILE_SAMPLES)
def test_samples_are_detected_and_read(name: str, tmp_path: Path) -> None:
    path = sample(tmp_path, name)
    assert detect(Source(path)).name == name
    documents, notes = read(path)
    assert documents
    assert not notes.counts
    if name != "text":
        assert documents[0].surface(documents[0].spans[0]) == "Aspirin"
        assert documents[0].spans[0].label == "Chemical"


@pytest.mark.parametrize("name", FILE_SAMPLES)
def test_gzip_byte_order_mark_and_crlf(name: str, tmp_path: Path) -> None:
    plain = sample(tmp_path, name)
    content = plain.read_bytes()
    expected, _ = read(plain)
    for variant in (
        b"\xef\xbb\xbf" + content,
        content.replace(b"\n", b"\r\n"),
        gzip.compress(content),
        gzip.compress(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")),
    ):
        plain.write_bytes(variant)
        assert read(plain)[0] == expected


def test_gzip_is_written_for_names_in_gz(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    write_documents([Document("Aspirin", (ASPIRIN,))], path)
    assert json.loads(gzip.decompress(path.read_bytes()))["text"] == "Aspirin"
    assert read(path)[0] == [Document("Aspirin", (ASPIRIN,))]


class TestConll:
    def test_docstart_columns_and_tabs(self, tmp_path: Path) -> None:
        content = (
            "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\n\nNew\tNNP\tB-LOC\nYork\tNNP\tI-LOC\n"
        )
        documents, notes = read(put(tmp_path, "x", content), "conll")
        assert [d.word_texts for d in documents] == [("EU", "rejects"), ("New", "York")]
        assert [d.word_spans for d in documents] == [(WordSpan(0, 1, "ORG"),), (WordSpan(0, 2, "LOC"),)]
        assert not notes.counts

    def test_label_studio_export(self, tmp_path: Path) -> None:
        path = put(tmp_path, "x", "-DOCSTART- -X- O\nKarl -X- _ B-PER\nspoke -X- _ O\n\n")
        assert detect(Source(path)).name == "conll"
        assert read(path)[0] == [Document.from_words(["Karl", "spoke"], [WordSpan(0, 1, "PER")])]

    def test_repairs_are_counted(self, tmp_path: Path) -> None:
        _, notes = read(put(tmp_path, "x", "a B-X\n\nb I-X\nc I-Y\n"))
        assert notes.messages() == ["2 spans with tags that BIO does not allow were repaired"]
        _, notes = read(put(tmp_path, "x", "a I-X\n\nb I-X\nc I-Y\n"))
        assert not notes.counts
        _, notes = read(put(tmp_path, "x", "a I-X\n\nb I-X\nc I-Y\n"), scheme="bio")
        assert notes.messages() == ["3 spans with tags that BIO does not allow were repaired"]

    def test_bare_tags(self, tmp_path: Path) -> None:
        path = put(tmp_path, "x", "Tom person-actor\nHanks person-actor\nin O\n")
        assert read(path, "conll", bare_tags=True)[0][0].word_spans == (WordSpan(0, 2, "person-actor"),)
        with pytest.raises(InputError, match="line 1: unknown tag 'person-actor'.*--bare-tags"):
            read(path, "conll")

    def test_io_is_written_and_merges_are_counted(self, tmp_path: Path) -> None:
        document = Document.from_words(["a", "b"], [WordSpan(0, 1, "X"), WordSpan(1, 2, "X")])
        notes = Notes()
        write_documents([document], tmp_path / "x.conll", options=Options(write_scheme="io"), notes=notes)
        assert (tmp_path / "x.conll").read_text() == "a I-X\nb I-X\n\n"
        assert notes.messages() == ["1 spans were merged with a touching one of the same label"]


class TestJsonLines:
    def test_unknown_keys_are_metadata(self, tmp_path: Path) -> None:
        record = {"text": "Aspirin", "spans": [], "source": "leaflet", "year": 2020}
        (document,), _ = read(put(tmp_path, "x", json.dumps(record)))
        assert document.meta == {"source": "leaflet", "year": 2020}
        write_documents([document], tmp_path / "y.jsonl")
        assert json.loads((tmp_path / "y.jsonl").read_text()) == record

    def test_only_text_is_required(self, tmp_path: Path) -> None:
        assert read(put(tmp_path, "x", '{"text": "Aspirin"}'))[0] == [Document("Aspirin")]

    def test_line_separators_inside_strings(self, tmp_path: Path) -> None:
        text = "a\u2028b\x85c"
        path = put(tmp_path, "x", json.dumps({"text": text}, ensure_ascii=False))
        assert read(path)[0] == [Document(text)]

    def test_distant_and_human_labels(self, tmp_path: Path) -> None:
        record = {
            "tokens": ["EU", "German"],
            "entities": [{"start": 0, "end": 1, "type": "ORG"}],
            "human_entities": [{"start": 1, "end": 2, "type": "MISC"}],
        }
        (document,), _ = read(put(tmp_path, "x", json.dumps(record)))
        assert document.word_spans == (WordSpan(0, 1, "ORG"),)
        assert document.gold_word_spans == (WordSpan(1, 2, "MISC"),)


class TestTools:
    def test_doccano_variants(self, tmp_path: Path) -> None:
        entity = {"id": 7, "label": "Chemical", "start_offset": 0, "end_offset": 7}
        lines = [
            {"text": "Aspirin", "label": [[0, 7, "Chemical"]], "Comments": ["hm"]},
            {"text": "Aspirin", "labels": [[0, 7, "Chemical"]]},
            {"text": "Aspirin", "entities": [entity], "relations": [{"id": 1}]},
        ]
        path = put(tmp_path, "x", "\n".join(map(json.dumps, lines)))
        documents, notes = read(path)
        assert [d.spans for d in documents] == [(ASPIRIN,)] * 3
        assert notes.counts == {"comments were not read": 1, "relations were not read": 1}

    def test_prodigy_answers(self, tmp_path: Path) -> None:
        span = {"start": 0, "end": 7, "label": "Chemical", "token_start": 0, "token_end": 0}
        tasks = [{"text": "Aspirin", "spans": [span], "answer": a} for a in ("accept", "reject", "ignore")]
        documents, notes = read(put(tmp_path, "x", "\n".join(map(json.dumps, tasks))))
        assert [d.spans for d in documents] == [(ASPIRIN,)]
        assert sum(notes.counts.values()) == 2

    def test_prodigy_token_ends_are_inclusive(self, tmp_path: Path) -> None:
        document = Document.from_words(["New", "York", "City"], [WordSpan(0, 2, "LOC")])
        write_documents([document], tmp_path / "x.jsonl", "prodigy")
        span = json.loads((tmp_path / "x.jsonl").read_text())["spans"][0]
        assert (span["token_start"], span["token_end"], span["start"], span["end"]) == (0, 1, 0, 8)

    def test_label_studio_counts_utf_16_units(self, tmp_path: Path) -> None:
        """An emoji has two UTF-16 units: the span 3–10 of JavaScript is 2–9 here."""
        document = Document("👍 Aspirin", (Span(2, 9, "Chemical"),))
        path = tmp_path / "x.json"
        write_documents([document], path, "label-studio")
        value = json.loads(path.read_text())[0]["annotations"][0]["result"][0]["value"]
        assert (value["start"], value["end"], value["text"]) == (3, 10, "Aspirin")
        assert read(path)[0] == [document]
        path.write_text(path.read_text().replace('"start": 3, "end": 10', '"start": 2, "end": 9'))
        assert read(path)[0] == [document]

    def test_label_studio_oddities(self, tmp_path: Path) -> None:
        def task(**annotation: object) -> dict[str, object]:
            return {"data": {"text": "Aspirin"}, "annotations": [{"result": [], **annotation}]}

        tasks = [
            task(was_cancelled=True),
            {"data": {"text": "Aspirin"}, "annotations": []},
            task(result=[{"type": "relation", "from_id": "a", "to_id": "b"}]),
            {"data": {"text": "Aspirin"}, "annotations": [{"result": []}, {"result": []}]},
        ]
        documents, notes = read(put(tmp_path, "x", json.dumps(tasks)))
        assert len(documents) == 3
        assert notes.counts == {
            "cancelled tasks were left out": 1,
            "results that are not span labels were not read": 1,
            "further annotations of a task were not read": 1,
        }

    def test_label_studio_json_min(self, tmp_path: Path) -> None:
        record = {
            "id": 1,
            "text": "Aspirin",
            "annotation_id": 3,
            "label": [{"start": 0, "end": 7, "labels": ["Chemical"]}],
        }
        assert read(put(tmp_path, "x", json.dumps([record])))[0][0].spans == (ASPIRIN,)

    def test_brat_lines_and_pieces(self, tmp_path: Path) -> None:
        put(tmp_path, "a.txt", "North and South America\nheart\nfailure")
        lines = [
            "T1\tLoc 0 5;16 23\tNorth America",
            "T2\tDisease 24 29;30 37\theart failure",
            "R1\tRel Arg1:T1 Arg2:T2",
            "#1\tAnnotatorNotes T1\thm",
        ]
        put(tmp_path, "a.ann", "\n".join(lines) + "\n")
        (document,), notes = read(tmp_path)
        assert document.id == "a"
        assert document.spans == (Span(0, 23, "Loc"), Span(24, 37, "Disease"))
        assert notes.counts == {
            "discontinuous spans were read as one span from their first to their last character": 1,
            "relations, events, attributes and notes were not read": 2,
        }
        write_documents([document], tmp_path / "out", "brat")
        assert "T2\tDisease 24 29;30 37\theart failure\n" in (tmp_path / "out" / "a.ann").read_text()
        assert read(tmp_path / "a.ann")[0] == [document]
        (tmp_path / "out" / "b").mkdir()
        put(tmp_path / "out" / "b", "c.txt", "below")
        assert [d.id for d in read(tmp_path / "out")[0]] == ["a", "b/c"]
        assert [d.id for d in read(tmp_path / "a.txt", "text-folder")[0]] == ["a"]

    @pytest.mark.parametrize("format", ["text-folder", "brat"])
    def test_ids_do_not_depend_on_the_path_of_the_folder(
        self, format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = ["a", "b/2", "b/10", "b/c.txt/d", "b/c.txt/é e"]
        for name in names:
            (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            put(tmp_path / "in", f"{name}.txt", name)
            put(tmp_path / "in", f"{name}.ann", f"T1\tX 0 1\t{name[0]}\n")
        monkeypatch.chdir(tmp_path / "in")
        for folder in (tmp_path / "in", Path(), ".", "../in", "./", f"{tmp_path}/in/"):
            documents = read(folder, format)[0]
            assert [(d.id, d.text) for d in documents] == [(name, name) for name in names]
            assert all(d.spans for d in documents) == (format == "brat")

    def test_gliner_ends_are_inclusive(self, tmp_path: Path) -> None:
        path = put(tmp_path, "x", '{"tokenized_text": ["New", "York"], "ner": [[0, 1, "city"]]}\n')
        assert read(path)[0][0].word_spans == (WordSpan(0, 2, "city"),)


class TestResearchFormats:
    def test_bond_numbers_are_shared_by_a_folder(self, tmp_path: Path) -> None:
        train = Document.from_words(["a", "b"], [WordSpan(0, 1, "PER")])
        test = Document.from_words(
            ["a", "b"],
            [
                WordSpan(0, 2, "geo-loc"),
            ],
        )
        write_documents([train], tmp_path / "train.json", "bond")
        write_documents([test], tmp_path / "test.json", "bond")
        assert json.loads((tmp_path / "tag_to_id.json").read_text()) == {
            "O": 0,
            "B-PER": 1,
            "B-geo-loc": 2,
            "I-geo-loc": 3,
        }
        assert read(tmp_path / "train.json")[0] == [train]
        assert read(tmp_path / "test.json")[0] == [test]

    def test_bond_without_names(self, tmp_path: Path) -> None:
        path = put(tmp_path, "train.json", '[{"str_words": ["a"], "tags": [1]}]')
        with pytest.raises(InputError, match="no tag_to_id.json next to it"):
            read(path)
        put(tmp_path, "tag_to_id.json", '{"O": 0}')
        with pytest.raises(InputError, match="line 1: tag 1 is not in tag_to_id.json"):
            read(path)

    def test_roster_distant_and_true(self, tmp_path: Path) -> None:
        text = put(tmp_path, "train_text.txt", "Karl spoke\nin Oslo\n")
        put(tmp_path, "train_label_true.txt", "B-PER O\nO B-LOC\n")
        assert [d.word_spans for d in read(text)[0]] == [(WordSpan(0, 1, "PER"),), (WordSpan(1, 2, "LOC"),)]
        put(tmp_path, "train_label_dist.txt", "B-PER O\nO UNK\n")
        documents, notes = read(text)
        assert [d.word_spans for d in documents] == [(WordSpan(0, 1, "PER"),), ()]
        assert documents[1].gold_word_spans == (WordSpan(1, 2, "LOC"),)
        assert notes.counts == {"words with the tag UNK were read as outside": 1}

    def test_roster_files_of_different_lengths(self, tmp_path: Path) -> None:
        text = put(tmp_path, "train_text.txt", "Karl spoke\nin Oslo\n")
        labels = put(tmp_path, "train_label_dist.txt", "B-PER O\nO\n")
        with pytest.raises(InputError, match=r"train_label_dist.txt, line 2: has 1 tags for a sentence of 2 words"):
            read(text)
        labels.write_text("B-PER O\nO O\nO\n")
        with pytest.raises(InputError, match="label_dist.txt, line 3: has more lines than train_text.txt"):
            read(text)

    def test_conf_mpu_labels(self, tmp_path: Path) -> None:
        path = put(tmp_path, "train.txt", "EU B-ORG 3\nrejects O 0\nGerman B-MISC 0\n")
        assert detect(Source(path)).name == "conf-mpu"
        with pytest.raises(InputError, match="line 1: label 3 has no name.*--labels"):
            read(path)
        (document,), _ = read(path, labels=("PER", "LOC", "ORG", "MISC"))
        assert document.word_spans == (WordSpan(0, 1, "ORG"),)
        assert document.gold_word_spans == (WordSpan(0, 1, "ORG"), WordSpan(2, 3, "MISC"))

    def test_autoner_unknown_phrases(self, tmp_path: Path) -> None:
        rows = [
            "<s> O None S",
            "lithium I Chemical S",
            "carbonate O Chemical S",
            "level I None S",
            "heart O None D",
            "rate O None D",
            "fell I Chemical,Disease S",
            "<eof> I None S",
        ]
        (document,), notes = read(put(tmp_path, "x", "\n".join(rows) + "\n\n"))
        assert document.word_texts == ("lithium", "carbonate", "level", "heart", "rate", "fell")
        assert document.word_spans == (
            WordSpan(0, 2, "Chemical"),
            WordSpan(5, 6, "Chemical"),
            WordSpan(5, 6, "Disease"),
        )
        assert notes.counts == {"phrases of unknown type (D) were not read": 1}


class TestArrow:
    TABLE = {"tokens": [["Karl", "spoke"]], "ner_tags": [[1, 0]]}

    def test_hub_metadata_is_written(self, tmp_path: Path) -> None:
        path = tmp_path / "x.parquet"
        write_documents([Document.from_words(["Karl"], [WordSpan(0, 1, "PER")])], path)
        schema = pq.read_schema(path)
        features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
        assert features["ner_tags"]["feature"] == {"names": ["O", "B-PER"], "_type": "ClassLabel"}
        assert schema.field("ner_tags").type == pa.list_(pa.int64())

    @pytest.mark.parametrize("kind", ["List", "Sequence", "plain"])
    def test_all_shapes_of_features(self, kind: str, tmp_path: Path) -> None:
        label = {"names": ["O", "B-PER"], "_type": "ClassLabel", "id": None}
        feature = [label] if kind == "plain" else {"feature": label, "_type": kind, "length": -1}
        metadata = {"huggingface": json.dumps({"info": {"features": {"ner_tags": feature}}})}
        table = pa.table(self.TABLE).replace_schema_metadata(metadata)
        pq.write_table(table, tmp_path / "x.parquet")
        with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        for name in ("x.parquet", "x.arrow"):
            assert read(tmp_path / name)[0][0].word_spans == (WordSpan(0, 1, "PER"),)

    def test_names_are_needed(self, tmp_path: Path) -> None:
        pq.write_table(pa.table(self.TABLE), tmp_path / "x.parquet")
        with pytest.raises(InputError, match="its ner_tags are numbers without names; pass --labels"):
            read(tmp_path / "x.parquet")
        assert read(tmp_path / "x.parquet", labels=("O", "B-PER"))[0][0].word_spans == (WordSpan(0, 1, "PER"),)

    def test_string_tags(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"tokens": [["Karl"]], "ner_tags": [["B-PER"]]}), tmp_path / "x.parquet")
        assert read(tmp_path / "x.parquet")[0][0].word_spans == (WordSpan(0, 1, "PER"),)

    def test_invalid_tables(self, tmp_path: Path) -> None:
        pq.write_table(pa.table({"text": ["a"]}), tmp_path / "x.parquet")
        with pytest.raises(InputError, match="has the columns text; it needs tokens and ner_tags"):
            read(tmp_path / "x.parquet")
        pq.write_table(pa.table({"tokens": [["a", "b"]], "ner_tags": [["O"]]}), tmp_path / "x.parquet")
        with pytest.raises(InputError, match="row 1: 2 words and 1 tags"):
            read(tmp_path / "x.parquet")
        put(tmp_path, "x.parquet", b"PAR1 and then nothing")
        with pytest.raises(InputError, match="cannot be read as Parquet or Arrow"):
            read(tmp_path / "x.parquet")


class TestLosses:
    def test_all_losses_are_counted(self, tmp_path: Path) -> None:
        document = Document("A  b", (Span(0, 1, "X"),), id="7", gold=(Span(3, 4, "Y"), Span(0, 1, "X")), meta={"k": 1})
        notes = Notes()
        write_documents([document, Document("   ")], tmp_path / "x.conll", notes=notes)
        assert sorted(notes.messages()) == [
            "1 document ids were lost",
            "1 documents lost their metadata",
            "1 documents lost their original spacing",
            "1 documents without words were left out: conll cannot hold them",
            "2 gold spans were lost: the format holds one set of spans",
        ]

    def test_losses_without_notes_are_a_warning(self, tmp_path: Path) -> None:
        with pytest.warns(UserWarning, match="1 document ids were lost"):
            write_documents([Document("a", id="7")], tmp_path / "x.conll")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            list(read_documents(tmp_path / "x.conll"))

    def test_words_are_split_unless_given(self, tmp_path: Path) -> None:
        spans = (Span(0, 7, "C"),)
        notes = Notes()
        write_documents([Document("aspirin1", spans)], tmp_path / "x.conll", notes=notes)
        assert (tmp_path / "x.conll").read_text() == "aspirin B-C\n1 O\n\n"
        given = Document("aspirin1", spans, given_words=Document("aspirin1").words)
        write_documents([given], tmp_path / "y.conll", notes=notes)
        assert (tmp_path / "y.conll").read_text() == "aspirin1 B-C\n\n"
        assert notes.counts == {
            "documents had words split, or white space trimmed from spans, to align the two": 1,
            "documents lost their original spacing": 1,
            "documents had spans widened to whole words, since their words were given": 1,
        }

    def test_odd_labels_and_words(self, tmp_path: Path) -> None:
        notes = Notes()
        document = Document.from_words(["New York"], [WordSpan(0, 1, "Big City")])
        write_documents([document], tmp_path / "x.conll", notes=notes)
        assert (tmp_path / "x.conll").read_text() == "New_York B-Big_City\n\n"
        assert len(notes.counts) == 2


class TestChoosing:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("a.conll", "conll"),
            ("a.CONLL.gz", "conll"),
            ("a.spacy", "docbin"),
            ("a.ck", "autoner"),
            ("a.txt", "text"),
            ("train_text.txt", "roster"),
            ("a.parquet", "parquet"),
            ("a.jsonl", "jsonl"),
        ],
    )
    def test_output_by_name(self, name: str, expected: str) -> None:
        assert format_for_output(name).name == expected

    def test_the_input_format_is_the_default_output_format(self) -> None:
        assert format_for_output("a.jsonl", get_format("jsonl-words")).name == "jsonl-words"
        assert format_for_output("folder", get_format("brat")).name == "brat"
        with pytest.raises(InputError, match="--to"):
            format_for_output("a.json", get_format("bond"))

    def test_unknown_format(self) -> None:
        with pytest.raises(InputError, match="there is no format 'conl'; did you mean conll?"):
            get_format("conl")

    @pytest.mark.parametrize("content", ["just some prose\nand more\n", '{"a": 1}', "\x00\x01\x02", "[1, 2]"])
    def test_unknown_content(self, content: str, tmp_path: Path) -> None:
        with pytest.raises(
            InputError, match="cannot be detected from its content; pass --from text .* name it with --from"
        ):
            detect(Source(put(tmp_path, "x", content)))
