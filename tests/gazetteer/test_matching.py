"""The automaton, the trie and a brute-force matcher agree; matching options; the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mproto import Document, Entry, Gazetteer, Span, annotate
from mproto.errors import InputError
from mproto.gazetteer import Matcher, MatchOptions, automaton, cache
from mproto.gazetteer.automaton import DoubleArray, Trie
from mproto.gazetteer.forms import case_fits, forms, is_case_sensitive, normalise
from mproto.gazetteer.matcher import compile_patterns
from mproto.gazetteer.vocabulary import UNKNOWN, Codes, Vocabulary, code

WORDS = st.sampled_from(
    [
        "heart",
        "Heart",
        "HEART",
        "attack",
        "MS",
        "ms",
        "of",
        "IL-2",
        "il-2",
        "5-HT3",
        "straße",
        "STRASSE",
        "é",
        "e\u0301",
        "ﬁn",
        "fin",
        "中",
        "👍🏽",
        "'s",
        "(",
        "İ",
        "ǅ",
    ]
)
SURFACES = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
OPTIONS = st.builds(
    MatchOptions,
    case=st.sampled_from(["smart", "sensitive", "insensitive"]),
    normalise=st.sampled_from(["NFC", "NFKC", "none"]),
    plurals=st.booleans(),
    hyphens=st.booleans(),
    min_length=st.integers(1, 4),
    stop=st.frozensets(SURFACES, max_size=1),
)
ENTRIES = st.lists(
    st.builds(Entry, SURFACES, st.sampled_from(["A", "B"]), case_sensitive=st.sampled_from([None, None, True, False])),
    max_size=6,
)


def brute_force(words: list[str], entries: list[Entry], options: MatchOptions) -> list[tuple[int, int, set[Entry]]]:
    """Find the longest form of an entry at each position, in the right case if it matters."""
    stop = {normalise(term, options.normalise).casefold() for term in options.stop}
    allowed = [
        e
        for e in entries
        if len(e.surface) >= options.min_length and normalise(e.surface, options.normalise).casefold() not in stop
    ]

    def fits(entry: Entry, found: list[str]) -> bool:
        key = tuple(normalise(word, options.normalise).casefold() for word in found)
        if is_case_sensitive(entry, options):
            exact = normalise("".join(found), options.normalise)
            plain = MatchOptions(normalise=options.normalise)
            return key in forms(entry.surface, plain) and exact == "".join(
                normalise(entry.surface, options.normalise).split()
            )
        return key in forms(entry.surface, options) and has_capitals(entry, found)

    def has_capitals(entry: Entry, found: list[str]) -> bool:
        is_name = options.case == "smart" and entry.case_sensitive is None and entry.type in (options.names or ())
        terms = normalise(entry.surface, options.normalise).split()
        texts = [normalise(word, options.normalise) for word in found]
        if is_name and len(terms) != len(texts):  # split or joined otherwise: no second opinion
            return case_fits(entry, "".join(found), options)
        return not is_name or all(not a[0].isupper() or b[0].isupper() for a, b in zip(terms, texts, strict=True))

    matches, position = [], 0
    while position < len(words):
        for end in range(len(words), position, -1):
            if fitting := {entry for entry in allowed if fits(entry, words[position:end])}:
                matches.append((position, end, fitting))
                position = end
                break
        else:
            position += 1
    return matches


@settings(max_examples=2000)
@given(ENTRIES, st.lists(WORDS, max_size=12), OPTIONS, st.booleans())
@example([Entry("ﬁn Heart", "A")], ["fin", "Heart"], MatchOptions(), True)
@example([Entry("Weiße Elster", "A")], ["WEISSE", "elster"], MatchOptions(), True)
def test_matcher_against_brute_force(
    entries: list[Entry], words: list[str], options: MatchOptions, is_name: bool
) -> None:
    gazetteer = Gazetteer(tuple(entries))
    if is_name and options.case == "smart" and "A" in gazetteer.types:
        options = replace(options, names=frozenset("A"))
    found = Matcher(gazetteer, options).matches(words)
    assert [(m.start, m.end, set(m.entries)) for m in found] == brute_force(words, entries, options)


ANY_WORD = st.text(st.characters(exclude_categories=()), min_size=1, max_size=4) | st.text("ab", min_size=1, max_size=3)
SPARSE = st.sampled_from([1, 1000, 5000])
"""The step between word numbers, so that codes differ in the first, the second or both characters."""


@settings(max_examples=2000)
@given(
    st.lists(st.lists(ANY_WORD, min_size=1, max_size=3), min_size=1, max_size=6),
    st.lists(ANY_WORD, max_size=12),
    SPARSE,
    st.data(),
)
def test_automaton_trie_and_brute_force_agree(
    patterns: list[list[str]], words: list[str], sparse: int, data: st.DataObject
) -> None:
    for pattern in patterns:  # make hits likely: some patterns stand in the text
        if data.draw(st.booleans()):
            place = data.draw(st.integers(0, len(words)))
            words = [*words[:place], *pattern, *words[place:]]
    numbers = {word: i * sparse for i, word in enumerate(dict.fromkeys(chain(*patterns)))}
    codes = Codes(Vocabulary.of(numbers), str)
    unique = list(dict.fromkeys(map(tuple, patterns)))
    coded = ["".join(map(code, map(numbers.__getitem__, pattern))) for pattern in unique]
    sentence = "".join(map(codes.__getitem__, words))
    found = DoubleArray.build(coded).find(sentence)
    assert found == Trie(coded).find(sentence)
    expected, position = [], 0
    while position < len(words):
        fitting = [p for p in unique if tuple(words[position : position + len(p)]) == p]
        longest = max(fitting, key=len, default=None)
        if longest:
            expected.append((2 * position, 2 * (position + len(longest)), unique.index(longest)))
        position += len(longest or "x")
    assert found == expected


@given(st.dictionaries(ANY_WORD, st.integers(0, 3_000_000)), ANY_WORD)
def test_a_vocabulary_is_a_dictionary(numbers: dict[str, int], other: str) -> None:
    vocabulary = Vocabulary.of(numbers)
    for word in [*numbers, other]:
        assert vocabulary.code(word) == (code(numbers[word]) if word in numbers else UNKNOWN)


def test_the_cache_of_codes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mproto.gazetteer.vocabulary.CACHE_SIZE", 3)
    codes = Codes(Vocabulary.of({"gold": 0}), str.casefold)
    assert [codes[word] for word in ("a", "b", "c", "Gold", "a")] == [UNKNOWN, UNKNOWN, UNKNOWN, code(0), UNKNOWN]
    assert len(codes) == 2


def test_the_trie_replaces_a_missing_daachorse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "daachorse", None)
    matcher = Matcher(Gazetteer((Entry("heart attack", "X"),)))
    assert isinstance(matcher._automaton, Trie)
    assert [m[:2] for m in matcher.matches(["a", "Heart", "attack"])] == [(1, 3)]


def spans(text: str, *entries: tuple[str, str], **options: object) -> list[tuple[str, str]]:
    gazetteer = Gazetteer(tuple(Entry(*entry) for entry in entries))
    (document,) = annotate([text], gazetteer, options=MatchOptions(**options))  # type: ignore[arg-type]
    return [(document.surface(span), span.label) for span in document.spans]


class TestOptions:
    def test_smart_case(self) -> None:
        terms = (("MS", "D"), ("ice", "C"), ("aspirin", "C"), ("AIDS", "D"))
        assert spans("MS ms Aspirin ASPIRIN ice Ice AIDS aids", *terms) == [
            ("MS", "D"),
            ("Aspirin", "C"),
            ("ASPIRIN", "C"),
            ("ice", "C"),
            ("AIDS", "D"),
        ]

    def test_shorter_terms_replace_a_longer_one_in_the_wrong_case(self) -> None:
        terms = (("HEART OF MS", "A"), ("heart", "B"), ("of ms now", "C"))
        assert spans("heart of ms now", *terms) == [("heart", "B"), ("of ms now", "C")]
        assert spans("HEART OF MS now", *terms) == [("HEART OF MS", "A")]

    def test_ambiguous_terms(self) -> None:
        terms = (("lead", "Chemical"), ("lead", "Disease"), ("gold", "Chemical"))
        assert spans("lead gold", *terms) == [("gold", "Chemical")]
        assert spans("lead gold", *terms, ambiguous="first") == [("lead", "Chemical"), ("gold", "Chemical")]
        assert spans("lead", *terms, ambiguous="keep-all") == [("lead", "Chemical"), ("lead", "Disease")]
        assert spans("lead", *terms, priority=("Disease",)) == [("lead", "Disease")]
        assert spans("lead", *terms, priority=("Other",)) == []

    def test_an_ambiguous_term_hides_shorter_ones(self) -> None:
        assert spans("lead pipe", ("lead pipe", "A"), ("lead pipe", "B"), ("lead", "C")) == []

    def test_plurals(self) -> None:
        terms = (("headache", "D"), ("allergies", "D"), ("reflex", "D"), ("virus", "D"))
        text = "headaches allergy reflexes virus viru"
        assert [s for s, _ in spans(text, *terms, plurals=True)] == ["headaches", "allergy", "reflexes", "virus"]
        assert [s for s, _ in spans(text, *terms)] == ["virus"]

    def test_possessives_match_by_default(self) -> None:
        assert spans("Aspirin's effect", ("aspirin", "C")) == [("Aspirin", "C")]

    def test_hyphens(self) -> None:
        text = "beta-blocker, beta blocker and betablocker"
        assert len(spans(text, ("beta-blocker", "C"), hyphens=True)) == 3
        assert len(spans(text, ("beta blocker", "C"), hyphens=True)) == 2
        assert len(spans(text, ("beta-blocker", "C"))) == 1

    def test_unicode(self) -> None:
        assert spans("cafe\u0301", ("café", "X")) == [("cafe\u0301", "X")]
        assert spans("cafe\u0301", ("café", "X"), normalise="none") == []
        assert spans("ﬁsh", ("fish", "X"), normalise="NFKC") == [("ﬁsh", "X")]

    def test_length_and_stop_list(self) -> None:
        assert spans("ab abc", ("ab", "X"), ("abc", "X"), min_length=3) == [("abc", "X")]
        assert spans("Lead gold", ("lead", "X"), ("gold", "X"), stop=frozenset({"LEAD"})) == [("gold", "X")]
        assert spans("cafe\u0301", ("cafe\u0301", "X"), stop=frozenset({"café"})) == []

    def test_boundaries_are_exact(self) -> None:
        assert spans("aspirins paspirin aspirin-free", ("aspirin", "C")) == [("aspirin", "C")]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"case": "x"},
            {"ambiguous": "x"},
            {"normalise": "x"},
            {"min_length": 0},
            {"names": "PER"},
            {"names": frozenset({"PER"}), "case": "insensitive"},
        ],
    )
    def test_invalid_options(self, wrong: dict[str, object]) -> None:
        with pytest.raises(InputError, match=next(iter(wrong))):
            MatchOptions(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "words",
    [["Parkinson", "'", "s", "disease"], ["Parkinson's", "disease"], ["Parkinson", "'s", "disease"]],
)
def test_terms_match_for_all_word_boundaries(words: list[str]) -> None:
    (document,) = annotate([Document.from_words(words)], Gazetteer((Entry("Parkinson's disease", "D"),)))
    assert [(s.start, s.end) for s in document.word_spans] == [(0, len(words))]


def test_old_spans_become_gold() -> None:
    document = Document("gold", (Span(0, 4, "Y"),), id="7", meta={"a": 1})
    (labelled,) = annotate([document], Gazetteer((Entry("gold", "X"),)))
    assert (labelled.spans, labelled.gold) == ((Span(0, 4, "X"),), (Span(0, 4, "Y"),))
    assert (labelled.id, labelled.meta) == ("7", {"a": 1})
    (again,) = annotate([labelled], Gazetteer((Entry("gold", "Z"),)))
    assert (again.spans, again.gold) == ((Span(0, 4, "Z"),), (Span(0, 4, "Y"),))
    assert labelled.word_spans[0].label == "X"
    assert again.word_spans[0].label == "Z"


def test_control_characters() -> None:
    matcher = Matcher(Gazetteer((Entry("gold", "X"),)))
    assert [m[:2] for m in matcher.matches(["a\x01b", "\0", "gold", "\0\0"])] == [(2, 3)]


def test_unknown_policy() -> None:
    with pytest.raises(InputError, match="no matching policy 'x'"):
        list(annotate(["a"], Gazetteer(()), matching="x"))  # type: ignore[arg-type]


def test_an_empty_gazetteer_and_empty_texts() -> None:
    assert [d.spans for d in annotate(["", " ", "a"], Gazetteer(()))] == [(), (), ()]


FILES = ("automaton", "entries", "labels", "word-ends", "letters", "meta.json")


class TestCache:
    GAZETTEER = Gazetteer(tuple(Entry(f"term{i} x", f"T{i % 3}") for i in range(30)))

    @pytest.fixture(autouse=True)
    def small_is_worth_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cache, "WORTH_IT", 10)

    def test_loaded_and_built_are_the_same(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        words = [word for i in range(40) for word in (f"term{i}", "x", "y")]
        built = Matcher(self.GAZETTEER, cache_folder=tmp_path).matches(words)
        monkeypatch.setattr(automaton, "build", lambda patterns: pytest.fail("it was built again"))
        assert Matcher(self.GAZETTEER, cache_folder=tmp_path).matches(words) == built
        assert len(built) == 30
        assert len(list(tmp_path.iterdir())) == 1

    def test_other_content_and_options_have_other_places(self, tmp_path: Path) -> None:
        other = Gazetteer((*self.GAZETTEER.entries[:-1], Entry("term29 x", "T9")))
        for gazetteer, options in (
            (self.GAZETTEER, MatchOptions()),
            (other, MatchOptions()),
            (self.GAZETTEER, MatchOptions(case="sensitive")),
            (self.GAZETTEER, MatchOptions(stop=frozenset({"a"}))),
            (self.GAZETTEER, MatchOptions(names=frozenset({"T1"}))),  # by the same automaton as without
        ):
            Matcher(gazetteer, options, tmp_path)
        assert len(list(tmp_path.iterdir())) == 4

    @pytest.mark.parametrize(
        ("name", "damage"),
        [(name, damage) for name in FILES for damage in ("cut", "gone")]
        + [("automaton", "garbage"), ("meta.json", "garbage")],
    )
    def test_damage_only_costs_time(self, name: str, damage: str, tmp_path: Path) -> None:
        Matcher(self.GAZETTEER, cache_folder=tmp_path)
        file = next(tmp_path.iterdir()) / name
        data = file.read_bytes()
        if damage == "gone":
            file.unlink()
        else:
            file.write_bytes(data[:-3] if damage == "cut" else b"x" * len(data))
        assert [m[:2] for m in Matcher(self.GAZETTEER, cache_folder=tmp_path).matches(["term7", "x"])] == [(0, 2)]

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        assert Matcher(self.GAZETTEER, cache_folder=tmp_path / "file").matches(["term7", "x"])

    def test_every_process_looks_in_the_same_place(self) -> None:
        """Sets of strings have another order in each process."""
        code = "from mproto.gazetteer import MatchOptions; print(MatchOptions(stop=frozenset('abcdefgh')).key)"
        keys = {
            subprocess.check_output([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed})
            for seed in ("1", "2", "3")
        }
        assert len(keys) == 1

    def test_small_ones_are_not_kept(self, tmp_path: Path) -> None:
        Matcher(Gazetteer((Entry("a", "X"),)), cache_folder=tmp_path)
        assert list(tmp_path.iterdir()) == []


def test_patterns_are_flat_and_complete() -> None:
    gazetteer = Gazetteer((Entry("gold", "A"), Entry("Gold", "B"), Entry("IL-2", "A")))
    codes, patterns, vocabulary = compile_patterns(gazetteer, MatchOptions())
    assert len(codes) == len(patterns.ends) == len(patterns.labels)
    assert set("".join(codes)) == set("".join(map(vocabulary.code, ("gold", "il", "-", "2", "il-2"))))
    assert patterns.ends[-1] == len(patterns.entries)
    assert set(patterns.entries) == {0, 1, 2}
