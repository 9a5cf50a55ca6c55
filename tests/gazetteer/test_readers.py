"""Readers and writers of term lists."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mproto import Entry, Gazetteer
from mproto.errors import InputError, Notes
from mproto.gazetteer import write_gazetteer


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def terms(gazetteer: Gazetteer) -> list[tuple[str, str]]:
    return [(entry.surface, entry.type) for entry in gazetteer]


class TestText:
    def test_a_folder(self, tmp_path: Path) -> None:
        put(tmp_path, "A.txt", b"\xef\xbb\xbf gold \r\n\r\nzinc\r\n")
        put(tmp_path, "B.c.txt", "gout\n")
        gazetteer = Gazetteer.load(tmp_path)
        assert [(e.surface, e.type, e.line) for e in gazetteer] == [
            ("gold", "A", 1),
            ("zinc", "A", 3),
            ("gout", "B.c", 1),
        ]
        assert gazetteer.types == ("A", "B.c")
        assert gazetteer.sizes == {"A": 2, "B.c": 1}
        assert Path(gazetteer.entries[0].file) == tmp_path / "A.txt"

    def test_a_file_for_each_type(self, tmp_path: Path) -> None:
        path = put(tmp_path, "list.txt.gz", gzip.compress(b"gold\n"))
        assert terms(Gazetteer.load({"C": path, "D": path})) == [("gold", "C"), ("gold", "D")]
        assert terms(Gazetteer.load(path)) == [("gold", "list")]

    @pytest.mark.parametrize(
        ("content", "what"),
        [
            (b"", "the file is empty"),
            (b"\n \n", "contains no terms"),
            (b"a\x00b", "line 1: is binary"),
            (b"ok\n\xff\n", "line 2: .*not UTF-8"),
            (b"Chemical\taspirin\n", r"line 1: has columns .*--columns type,term \(AutoNER\) or --columns term,type"),
        ],
    )
    def test_wrong_files(self, content: bytes, what: str, tmp_path: Path) -> None:
        put(tmp_path, "A.txt", content)
        with pytest.raises(InputError, match=what):
            Gazetteer.load(tmp_path)

    def test_an_empty_folder_and_no_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"contains no \.txt file"):
            Gazetteer.load(tmp_path)
        with pytest.raises(InputError, match="no such file"):
            Gazetteer.load(tmp_path / "nowhere")

    def test_the_first_part(self) -> None:
        gazetteer = Gazetteer(tuple(Entry(str(i), t) for i in range(10) for t in "AB"))
        assert terms(gazetteer.head(0.2)) == [(str(i), t) for i in range(3) for t in "AB"]
        assert len(gazetteer.head(1.0)) == 20


class TestTables:
    def test_with_a_header(self, tmp_path: Path) -> None:
        header = "term,label,id,aliases,case_sensitive\n"
        rows = 'Aspirin,Chemical,C1,ASA | acetylsalicylic acid,\n"gout, acute",Disease,,,yes\n'
        gazetteer = Gazetteer.load(put(tmp_path, "x.csv", header + rows))
        assert [e[:4] for e in gazetteer] == [
            ("Aspirin", "Chemical", "C1", None),
            ("ASA", "Chemical", "C1", None),
            ("acetylsalicylic acid", "Chemical", "C1", None),
            ("gout, acute", "Disease", "", True),
        ]
        assert [e.line for e in gazetteer] == [2, 2, 2, 3]

    def test_other_names_order_and_tabs(self, tmp_path: Path) -> None:
        path = put(tmp_path, "x.tsv", 'Type\tnotes\tName\nDrug\tx\tasp"irin\n')
        assert terms(Gazetteer.load(path)) == [('asp"irin', "Drug")]

    def test_without_a_header(self, tmp_path: Path) -> None:
        autoner = put(tmp_path, "dict_core.txt", "Chemical\taspirin\nDisease\tgout\n")
        assert terms(Gazetteer.load(autoner, columns=("type", "term"))) == [
            ("aspirin", "Chemical"),
            ("gout", "Disease"),
        ]
        regexner = put(tmp_path, "regexner.tsv", "Bachelor of Arts\tDEGREE\tMISC\t1.0\n")
        assert terms(Gazetteer.load(regexner, columns=("term", "type"))) == [("Bachelor of Arts", "DEGREE")]

    def test_autoner_full_dictionary(self, tmp_path: Path) -> None:
        path = put(tmp_path, "dict_full.txt", "heart rate\n")
        assert terms(Gazetteer.load({"unknown": path})) == [("heart rate", "unknown")]

    def test_wikidata(self, tmp_path: Path) -> None:
        rows = (
            'item,itemLabel,itemAltLabel\nhttp://www.wikidata.org/entity/Q18216,aspirin,"ASA, acetylsalicylic acid"\n'
        )
        path = put(tmp_path, "query.csv", rows)
        gazetteer = Gazetteer.load({"Chemical": path})
        assert [e.surface for e in gazetteer] == ["aspirin", "ASA", "acetylsalicylic acid"]
        assert {e.id for e in gazetteer} == {"http://www.wikidata.org/entity/Q18216"}
        with pytest.raises(InputError, match="has no label column; add one, or name the type: TYPE=FILE"):
            Gazetteer.load(path)

    @pytest.mark.parametrize(
        ("content", "columns", "what"),
        [
            ("term\naspirin\n", (), r"header \(term\) has no label column"),
            ("aspirin,Chemical\n", (), "has no term column.*--columns"),
            ("a,b\n", ("term", "typ"), "there is no column 'typ'; choose from term, type"),
            ("a,b\n", ("type",), "must name the term column"),
            ("a\n", ("term",), "has no type column"),
            ("term,label\naspirin,\n", (), "line 2: .* has no type"),
            ("term,label\n,X\n", (), "line 2: .* has no term"),
            ("term,label,case_sensitive\na,X,maybe\n", (), "line 2: case_sensitive is 'maybe'"),
            ("term,label\n", (), "contains no terms"),
            ('term,label\n"' + "a,b\n" * 50_000, (), "line .*: cannot be read as a table .*quotation marks"),
        ],
    )
    def test_wrong_tables(self, content: str, columns: tuple[str, ...], what: str, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=what):
            Gazetteer.load(put(tmp_path, "x.csv", content), columns=columns)

    def test_wrong_rows_can_be_skipped(self, tmp_path: Path) -> None:
        notes = Notes("skip")
        gazetteer = Gazetteer.load(put(tmp_path, "x.csv", "term,label\n,X\na,X\n"), notes=notes)
        assert terms(gazetteer) == [("a", "X")]
        assert notes.rejected == 1


class TestPatterns:
    def test_phrases_and_tokens(self, tmp_path: Path) -> None:
        lines = [
            {"label": "C", "pattern": "aspirin", "id": "C1"},
            {"label": "D", "pattern": [{"LOWER": "heart"}, {"LOWER": "attack"}]},
            {"label": "D", "pattern": [{"TEXT": "AIDS"}]},
        ]
        path = put(tmp_path, "x.jsonl", "\n".join(map(json.dumps, lines)))
        assert [e[:4] for e in Gazetteer.load(path)] == [
            ("aspirin", "C", "C1", None),
            ("heart attack", "D", "", False),
            ("AIDS", "D", "", True),
        ]
        assert [e.line for e in Gazetteer.load(path)] == [1, 2, 3]

    @pytest.mark.parametrize(
        ("line", "what"),
        [
            (
                '{"label": "D", "pattern": [{"LEMMA": "be"}]}',
                r"line 1: token pattern \{\"LEMMA\": \"be\"\} is not supported",
            ),
            ('{"label": "D", "pattern": [{"LOWER": {"IN": ["a"]}}]}', "is not supported"),
            ('{"label": "D", "pattern": [{"LOWER": "a", "OP": "?"}]}', "is not supported"),
            ('{"label": "D", "pattern": [{"LOWER": "a"}, {"TEXT": "B"}]}', "mixes LOWER and TEXT"),
            ('{"label": "D"}', "is not a spaCy pattern"),
            ('{"pattern": "x"}', "the label is None"),
            ('{"label": "D", "pattern": " "}', "the pattern is empty"),
            ("{", "not valid JSON"),
            ("[" * 100_000, "not valid JSON"),
        ],
    )
    def test_invalid_patterns(self, line: str, what: str, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=what):
            Gazetteer.load(put(tmp_path, "x.jsonl", line))


class TestSkweak:
    def test_words_and_strings(self, tmp_path: Path) -> None:
        content = json.dumps({"C": ["aspirin", ["gold", "salt"]], "D": [["gout"]]}, indent=1)
        for name, data in (("x.json", content.encode()), ("x.json.gz", gzip.compress(content.encode()))):
            gazetteer = Gazetteer.load(put(tmp_path, name, data))
            assert terms(gazetteer) == [("aspirin", "C"), ("gold salt", "C"), ("gout", "D")]
            assert [content.split("\n")[e.line - 1].strip(' ",') for e in gazetteer] == ["aspirin", "gold", "gout"]

    @pytest.mark.parametrize("content", ["[]", '{"C": "x"}', "{", '{"C": [5]}', "[" * 100_000])
    def test_wrong_files(self, content: str, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="x.json"):
            Gazetteer.load(put(tmp_path, "x.json", content))


TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:scheme a skos:ConceptScheme ; skos:prefLabel "Medicine"@en .
:drugs a skos:Concept ; skos:prefLabel "Drug"@en ; skos:topConceptOf :scheme .
:aspirin a skos:Concept ; skos:broader :drugs ; skos:inScheme :scheme ;
  skos:prefLabel "aspirin"@en, "Aspirin"@de ;
  skos:altLabel "ASA" ; skos:hiddenLabel "asprin"@en .
:gout a skos:Concept ; skos:inScheme :scheme ; skos:prefLabel "gout"@en .
"""


class TestSkos:
    def test_labels_types_and_lines(self, tmp_path: Path) -> None:
        gazetteer = Gazetteer.load(put(tmp_path, "x.ttl", TURTLE), language="en")
        assert sorted(terms(gazetteer)) == [
            ("ASA", "Drug"),
            ("Drug", "Medicine"),
            ("aspirin", "Drug"),
            ("asprin", "Drug"),
            ("gout", "Medicine"),
        ]
        assert {e.surface: e.line for e in gazetteer}["asprin"] == 7
        assert {e.surface: e.id for e in gazetteer}["gout"] == "http://example.org/gout"

    def test_all_languages_and_a_given_type(self, tmp_path: Path) -> None:
        gazetteer = Gazetteer.load({"X": put(tmp_path, "x.ttl", TURTLE)})
        assert ("Aspirin", "X") in terms(gazetteer)

    def test_rdf_xml(self, tmp_path: Path) -> None:
        import rdflib

        xml = rdflib.Graph().parse(data=TURTLE, format="turtle").serialize(format="pretty-xml")
        gazetteer = Gazetteer.load(put(tmp_path, "x.rdf", xml), language="en")
        assert ("aspirin", "Drug") in terms(gazetteer)
        assert "aspirin" in xml.split("\n")[{e.surface: e.line for e in gazetteer}["aspirin"] - 1]

    def test_wrong_files(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="cannot be read as turtle"):
            Gazetteer.load(put(tmp_path, "x.ttl", "this is not turtle"))


SURFACE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=6)
SURFACES = st.lists(SURFACE, min_size=1, max_size=3).map(" ".join)


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x"])
@given(
    entries=st.lists(
        st.builds(
            Entry,
            SURFACES,
            st.sampled_from(["A", "B c"]),
            id=st.sampled_from(["", "C1"]),
            case_sensitive=st.sampled_from([None, True, False]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_round_trip(name: str, entries: list[Entry], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("gazetteer") / name
    write_gazetteer(Gazetteer(tuple(entries)), path)
    back = Gazetteer.load(path)
    if name == "x":
        assert sorted(terms(back)) == sorted((e.surface, e.type) for e in entries)
    elif name == "x.jsonl":  # spaCy's LOWER patterns are lower-case
        lowered = [
            e._replace(surface=" ".join(w.lower() for w in e.surface.split())) if e.case_sensitive is False else e
            for e in entries
        ]
        assert [e[:4] for e in back] == [e[:4] for e in lowered]
    else:
        assert [e[:4] for e in back] == [e[:4] for e in entries]


def test_invalid_outputs(tmp_path: Path) -> None:
    gazetteer = Gazetteer((Entry("a", "x/y"),))
    with pytest.raises(InputError, match="cannot be a file name"):
        write_gazetteer(gazetteer, tmp_path / "x")
    with pytest.raises(InputError, match="is written as .csv, .jsonl or a folder"):
        write_gazetteer(gazetteer, tmp_path / "x.doc")
    assert list(tmp_path.iterdir()) == []


def test_fingerprints() -> None:
    one = Gazetteer((Entry("a", "X"), Entry("b", "Y")))
    assert one.fingerprint == Gazetteer((Entry("a", "X", file="f", line=3), Entry("b", "Y"))).fingerprint
    others = [
        (Entry("b", "Y"), Entry("a", "X")),
        (Entry("a", "Y"), Entry("b", "Y")),
        (Entry("a", "X", case_sensitive=True), Entry("b", "Y")),
    ]
    assert all(Gazetteer(entries).fingerprint != one.fingerprint for entries in others)
