"""The spaCy component: entities of whole tokens, entities of other components, and saved pipelines."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
import spacy
import srsly
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.pipeline import EntityRuler
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from mproto import Document, demo
from mproto.errors import InputError, MissingExtraError
from mproto.integrations.spacy import NAME, RecognizerPipe, Settings
from mproto.recognizer import Entity
from mproto.text import Span as OurSpan
from tiny import tiny_export, tiny_model

ROOT = Path(__file__).parent.parent.parent
TEXTS = [document.text for document in demo.documents("test")[:16]]

Found = list[tuple[int, int, str]]


def pipeline(**config: object) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("mproto", config=config).recognizer = tiny_model()  # type: ignore[attr-defined]
    return nlp


@pytest.fixture(scope="module")
def nlp() -> Language:
    return pipeline()


def found(doc: Doc) -> Found:
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


def all_of(doc: Doc, key: str = NAME) -> list[tuple[int, int, str, float]]:
    group = doc.spans[key]
    return [(s.start, s.end, s.label_, v) for s, v in zip(group, group.attrs["scores"].tolist(), strict=True)]


def test_the_entities_of_the_model_are_in_the_document(nlp: Language) -> None:
    """The oracle is the recogniser with the same words."""
    count = 0
    for doc in nlp.pipe(TEXTS):
        words = [(token.idx, token.idx + len(token)) for token in doc if not token.is_space]
        (expected,) = tiny_model().predict_entities([Document(doc.text, given_words=tuple(words))])  # type: ignore[arg-type]
        assert [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents] == [tuple(e.span) for e in expected]
        assert doc.spans[NAME].attrs["scores"].tolist() == pytest.approx([e.score for e in expected], abs=1e-5)
        assert [(s.start, s.end, s.label_) for s in doc.spans[NAME]] == found(doc)
        count += len(expected)
    assert count > 10
    assert nlp.get_pipe("mproto").labels == tiny_model().labels  # type: ignore[attr-defined]
    assert nlp.pipe_labels["mproto"] == list(tiny_model().labels)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PIECES = st.sampled_from(
    ["Aspirin", "headache", "  \n", "👍🏽", "naïve", "\u200b", "e\u0301", "don't", "\x00", "한국어", "\u2028"]
)


@settings(max_examples=25)
@given(texts=st.lists(TEXT | st.lists(PIECES, max_size=8).map(" ".join), max_size=3))
def test_entities_are_whole_tokens_of_any_text(nlp: Language, texts: list[str]) -> None:
    for text, doc in zip(texts, nlp.pipe(texts), strict=True):
        assert doc.text == text
        for ent in doc.ents:
            assert text[ent.start_char : ent.end_char] == ent.text
            assert not ent[0].is_space
            assert not ent[-1].is_space


def test_merged_and_blank_tokens(nlp: Language) -> None:
    doc = nlp.make_doc("He took acetylsalicylic acid against a bad headache.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[2:4])
        retokenizer.merge(doc[5:8])
    nlp.get_pipe("mproto")(doc)
    assert [token.text for token in doc][2] == "acetylsalicylic acid"
    blank = Doc(nlp.vocab, words=[" ", "\n", "\t"], spaces=[False, True, False])
    assert not nlp.get_pipe("mproto")(blank).ents
    assert not nlp.get_pipe("mproto")(Doc(nlp.vocab)).ents


def test_one_by_one_and_in_batches(nlp: Language) -> None:
    alone = [all_of(nlp(text)) for text in TEXTS]
    for size in (1, 3, 1000):
        together = [all_of(doc) for doc in nlp.pipe(TEXTS, batch_size=size)]
        assert [[e[:3] for e in doc] for doc in together] == [[e[:3] for e in doc] for doc in alone]
        scores = [[e[3] for doc in docs for e in doc] for docs in (together, alone)]
        assert scores[0] == pytest.approx(scores[1], abs=1e-4)
    tuples = list(nlp.pipe([(text, number) for number, text in enumerate(TEXTS)], as_tuples=True))
    assert [number for _, number in tuples] == list(range(len(TEXTS)))


class Fixed:
    """A recogniser that returns fixed entities, given in tokens."""

    labels = ("Chemical",)

    def __init__(self, spans: Found) -> None:
        self.spans = spans

    def predict_entities(self, documents: list[Document], *, batch_size: int, threshold: float) -> list[list[Entity]]:
        (document,) = documents
        words = document.words
        places = [OurSpan(words[start].start, words[end - 1].end, label) for start, end, label in self.spans]
        return [[Entity(place, 0.5) for place in places]]


@st.composite
def disjoint(draw: st.DrawFn, label: str) -> Found:
    edges = sorted(draw(st.sets(st.integers(0, 9), max_size=8)))
    return [(start, end, label) for start, end in zip(edges[::2], edges[1::2], strict=False)]


@settings(max_examples=60)
@given(old=disjoint("Old"), new=disjoint("Chemical"), overwrite=st.booleans())
def test_existing_entities_are_treated_as_by_the_entity_ruler(
    nlp: Language, old: Found, new: Found, overwrite: bool
) -> None:
    docs = [nlp.make_doc("a b c d e f g h i") for _ in range(2)]
    for doc in docs:
        doc.ents = [Span(doc, start, end, label=label, kb_id="Q1") for start, end, label in old]
    ruler = EntityRuler(nlp, overwrite_ents=overwrite)
    ruler.set_annotations(docs[0], [(nlp.vocab.strings.add(label), start, end) for start, end, label in new])
    component = RecognizerPipe(settings=Settings(overwrite_entities=overwrite))
    component.recognizer = Fixed(new)  # type: ignore[assignment]
    assert found(component(docs[1])) == found(docs[0])
    assert [token.ent_iob_ for token in docs[1]] == [token.ent_iob_ for token in docs[0]]
    assert [ent.kb_id_ for ent in docs[1].ents] == [ent.kb_id_ for ent in docs[0].ents]
    assert [span[:3] for span in all_of(docs[1])] == new  # the span group has all of them


@pytest.mark.parametrize("overwrite", [False, True])
def test_blocked_tokens(overwrite: bool) -> None:
    doc = spacy.blank("en").make_doc("a b c d e f g h i")
    doc.set_ents([], blocked=[doc[1:2], doc[7:8]])
    component = RecognizerPipe(settings=Settings(overwrite_entities=overwrite))
    component.recognizer = Fixed([(0, 2, "Chemical"), (4, 6, "Chemical")])  # type: ignore[assignment]
    component(doc)
    assert found(doc) == [(0, 2, "Chemical"), (4, 6, "Chemical")][1 - overwrite :]
    assert [token.i for token in doc if token.ent_iob_ == "B" and not token.ent_type_] == [1, 7][overwrite:]


def test_with_an_entity_ruler(nlp: Language) -> None:
    doc = next(doc for doc in nlp.pipe(TEXTS) if len(doc.ents) > 1)
    first, *others = found(doc)
    for place in ("before", "after"):
        both = pipeline()
        ruler = both.add_pipe("entity_ruler", **{place: "mproto"})  # type: ignore[arg-type]
        ruler.add_patterns([{"label": "DRUG", "pattern": doc[first[0] : first[1]].text}])  # type: ignore[attr-defined]
        assert found(both(doc.text)) == [(*first[:2], "DRUG" if place == "before" else first[2]), *others]


def test_the_threshold_and_the_key_of_the_span_group() -> None:
    every = [entity for doc in pipeline().pipe(TEXTS) for entity in all_of(doc)]
    middle = sorted(score for *_, score in every)[len(every) // 2]
    nlp = pipeline(threshold=middle - 1e-5, spans_key="sure")
    kept = [entity for doc in nlp.pipe(TEXTS) for entity in all_of(doc, "sure")]
    assert [entity[:3] for entity in kept] == [entity[:3] for entity in every if entity[3] >= middle - 1e-5]
    assert 0 < len(kept) < len(every)
    assert NAME not in nlp(TEXTS[0]).spans
    label = every[0][2]
    of_one_type = [entity for doc in pipeline(threshold={label: 1.0}).pipe(TEXTS) for entity in all_of(doc)]
    assert [e[:3] for e in of_one_type] == [e[:3] for e in every if e[2] != label or e[3] >= 1]
    with pytest.raises(InputError, match="a threshold for 'Nothing', but the model has no such type"):
        pipeline(threshold={"Nothing": 0.5})(TEXTS[0])
    for wrong in ({"threshold": 1.5}, {"batch_size": 0}):
        with pytest.raises(InputError, match="threshold is 1.5; give|batch_size is 0; give"):
            pipeline(**wrong)
    with pytest.raises(ValueError, match="threshold"):  # spaCy validates types itself
        pipeline(threshold="high")


def test_a_saved_pipeline_does_not_need_the_model_folder(tmp_path: Path) -> None:
    tiny_model().save_pretrained(tmp_path / "model")
    nlp = spacy.blank("en")
    nlp.add_pipe("mproto", config={"model": str(tmp_path / "model"), "threshold": 0.1, "spans_key": "ours"})
    before = [all_of(doc, "ours") for doc in nlp.pipe(TEXTS)]
    assert any(before)
    nlp.to_disk(tmp_path / "pipeline")
    packed = nlp.to_bytes()
    (tmp_path / "model").rename(tmp_path / "gone")
    (tmp_path / "pipeline").rename(tmp_path / "moved")
    assert not [
        file.name for file in (tmp_path / "moved" / "mproto").iterdir() if file.suffix in {".bin", ".pkl", ".pt"}
    ]
    loaded = spacy.load(tmp_path / "moved")
    assert loaded.pipe_labels["mproto"] == list(tiny_model().labels)
    unpacked = type(nlp).from_config(nlp.config).from_bytes(packed)
    for again in (loaded, unpacked):
        assert [all_of(doc, "ours") for doc in again.pipe(TEXTS)] == before
    strict = spacy.load(tmp_path / "moved", config={"components": {"mproto": {"threshold": 1.0}}})
    assert not any(all_of(doc, "ours") for doc in strict.pipe(TEXTS))


def test_an_exported_model_is_saved_with_the_pipeline(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mproto", config={"model": str(tiny_export())})
    before = [all_of(doc) for doc in nlp.pipe(TEXTS)]
    assert any(before)
    unpacked = type(nlp).from_config(nlp.config).from_bytes(nlp.to_bytes())
    unpacked.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")
    again.to_disk(tmp_path / "pipeline")  # over the files that it came from
    for each in (unpacked, again, spacy.load(tmp_path / "pipeline")):
        assert [all_of(doc) for doc in each.pipe(TEXTS)] == before
    folder = unpacked.get_pipe("mproto").recognizer.tagger.folder  # type: ignore[attr-defined]
    assert folder.is_dir()
    del unpacked, each
    gc.collect()
    assert not folder.exists()


def test_nothing_is_left_of_an_unpacked_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pipeline().to_bytes()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    unpacked = pipeline().from_bytes(packed)
    assert any(all_of(doc) for doc in unpacked.pipe(TEXTS))
    with pytest.raises(InputError):
        RecognizerPipe().from_bytes(srsly.msgpack_dumps({"config.json": b"x"}))
    assert not list(tmp_path.iterdir())


def test_documents_keep_their_scores_in_a_docbin(nlp: Language) -> None:
    docs = list(nlp.pipe(TEXTS))
    again = DocBin().from_bytes(DocBin(docs=docs, store_user_data=True).to_bytes()).get_docs(nlp.vocab)
    assert [all_of(doc) for doc in again] == [all_of(doc) for doc in docs]


@pytest.mark.parametrize("name", ["../out.txt", "/out.txt", "a/../../out.txt"])
def test_a_packed_model_writes_nothing_elsewhere(name: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"contains the file '{name}'")):
        RecognizerPipe().from_bytes(srsly.msgpack_dumps({name: b"x"}))


def test_evaluation_with_spacy() -> None:
    """Evaluate with the component's own entities as gold."""
    nlp = pipeline()
    examples = [
        Example.from_dict(
            nlp.make_doc(doc.text), {"entities": [(e.start_char, e.end_char, e.label_) for e in doc.ents]}
        )
        for doc in nlp.pipe(TEXTS)
    ]
    assert nlp.evaluate(examples)["ents_f"] == 1


def test_without_a_model() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("mproto", name="ours")
    assert nlp.meta["labels"] == {}  # spaCy reads them before there is a model
    nlp.initialize()
    for act in (lambda: nlp("Aspirin"), nlp.to_bytes, lambda: list(nlp.pipe(["Aspirin"]))):
        with pytest.raises(InputError, match="the component 'ours' has no model; .*config=.*my-model"):
            act()
    seen = []
    nlp.set_error_handler(lambda name, component, docs, error: seen.append((name, error)))
    assert not list(nlp.pipe(["Aspirin"]))
    assert [name for name, _ in seen] == ["ours"]
    nowhere = spacy.blank("en")
    nowhere.add_pipe("mproto", config={"model": "./nowhere"})
    with pytest.raises(InputError, match="nowhere: contains no model"):
        nowhere("Aspirin")


def test_spacy_finds_the_entry_point(tmp_path: Path) -> None:
    """With an installed entry point, spaCy finds the component, and the model is not imported yet."""
    (table,) = (tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spacy_factories"],)
    folder = tmp_path / "installed-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1\n")
    lines = "".join(f"{name} = {place}\n" for name, place in table.items())
    (folder / "entry_points.txt").write_text(f"[spacy_factories]\n{lines}")
    code = (
        "import spacy, sys\n"
        "nlp = spacy.blank('de')\n"
        "nlp.add_pipe('mproto', config={'model': 'my-model'})\n"
        "assert 'mproto.recognizer' not in sys.modules\n"
        "print(nlp.analyze_pipes()['summary']['mproto']['assigns'])"
    )
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "['doc.ents', 'doc.spans', 'token.ent_iob', 'token.ent_type']"


def test_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mproto.integrations.spacy")
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mproto-ner\[spacy,train\]'"):
        import mproto.integrations.spacy  # noqa: F401
