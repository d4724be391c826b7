"""Statements against windows: the order, the early stop, the pages, the batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect.reading.document import Document, Span
from halldetect.reading.sources import read_source
from halldetect.report import Probabilities
from halldetect.verification.judging import Judgement, verify
from halldetect.verification.windows import PAGES, CountedDocument, Task, cut_pages, short_spans
from tests.support.fakes import OverlapVerifier

SOURCE = (
    "The mill on the Arle was built in 1790. It ground barley for the village of Stoke. "
    "A flood carried the wheel away. The owner rebuilt it with an iron axle. "
    "Today the mill is a museum. Visitors can see the stones turn on Sundays."
)
SENTENCE = "Today the mill is a museum."
MUSEUM = "The mill is a museum today."
INVENTED = "Pilgrims slept upstairs beneath painted ceilings."


def judged(
    statement: str, source: str = SOURCE, verifier: OverlapVerifier | None = None, stop: float = 0.8
) -> Judgement:
    verifier = verifier or OverlapVerifier()
    tasks = [Task((statement,), (read_source(source),))]
    ((found,),) = verify(verifier, tasks, lambda answer: answer.entailment >= stop)
    return found


def test_best_sentence_comes_first_and_is_enough() -> None:
    found = judged(MUSEUM)
    assert [window.text for window in found.windows] == [SENTENCE]
    assert found.tokens == 12


def test_other_windows_follow_where_one_is_not_enough() -> None:
    verifier = OverlapVerifier()
    found = judged(INVENTED, verifier=verifier)
    assert [window.page for window in found.windows] == [False, False, True]
    assert found.windows[-1].text == SOURCE
    assert [len(call) for call in verifier.calls] == [1, 1, 1]


def test_no_early_stop_without_a_rule() -> None:
    verifier = OverlapVerifier()
    ((found,),) = verify(verifier, [Task((MUSEUM,), (read_source(SOURCE),))])
    assert len(found.windows) == 3
    assert len(verifier.calls) == 1


def test_only_the_best_pages_are_judged() -> None:
    filler = [f"Rain fell on roof number {at} and everyone stayed at home." for at in range(40)]
    source = " ".join([*filler[:30], SENTENCE, *filler[30:]])
    found = judged("The mill is no longer a museum today.", source, OverlapVerifier(60))
    pages = [window for window in found.windows if window.page]
    assert len(pages) == PAGES
    assert any(SENTENCE in page.text for page in pages)


def test_single_sentence_source_has_one_window() -> None:
    found = judged("Rye bread rests.", "Rye bread needs a long rest.")
    assert [window.page for window in found.windows] == [True]


def test_window_text_is_that_of_its_places() -> None:
    documents = (read_source("Rye bread needs a long rest."), read_source(SOURCE))
    ((found,),) = verify(OverlapVerifier(), [Task((INVENTED,), documents)])
    for window in found.windows:
        parts = [span.cut(documents[document].text) for document, span in window.places]
        assert " ".join(parts) == window.text


BRIDGE = "The bridge at Stoke opened in 1802. It has three arches. Carts paid a toll of a penny."
ROAD = "The road from Arle reaches Stoke. It was paved in 1950. Lorries may not use it."
BOTH = "The mill was built in 1790 and the bridge opened in 1802."


def test_best_runs_of_several_documents_are_judged_together() -> None:
    documents = tuple(map(read_source, (BRIDGE, ROAD, SOURCE)))
    ((found,),) = verify(OverlapVerifier(), [Task((BOTH,), documents)])
    joined = [window for window in found.windows if window.others]
    assert [[place for place, _ in window.places] for window in joined] == [[0, 2], [0, 1, 2]]
    assert "built in 1790" in joined[0].text
    assert "opened in 1802" in joined[0].text
    assert [window.page for window in joined] == [False, False]


def test_joined_tokens_are_those_of_the_text() -> None:
    verifier = OverlapVerifier()
    documents = (read_source(BRIDGE), read_source(SOURCE))
    ((found,),) = verify(verifier, [Task((BOTH,), documents)])
    asked = [premise for call in verifier.calls for premise, _ in call]
    assert {window.text for window in found.windows if window.others} <= set(asked)


def test_documents_share_pages_under_their_names() -> None:
    documents = (read_source(BRIDGE), read_source(SOURCE))
    ((found,),) = verify(WholeVerifier(), [Task((BOTH,), documents, ("bridge.md", "mill.md"))])
    (page,) = found.windows
    assert page.text == f"bridge.md\n{BRIDGE}\n\nmill.md\n{SOURCE}"
    assert [document for document, _ in page.places] == [0, 1]


def test_documents_without_names_are_numbered() -> None:
    documents = (read_source(BRIDGE), read_source(SOURCE))
    ((found,),) = verify(WholeVerifier(), [Task((BOTH,), documents)])
    assert [window.text for window in found.windows] == [
        f"Document 1\n{BRIDGE}\n\nDocument 2\n{SOURCE}"
    ]


def test_documents_share_a_page_up_to_the_limit() -> None:
    documents = tuple(read_source(f"Roof {at} leaks badly.") for at in range(3))
    # Half the limit is for the statement; a document needs 6 tokens with its name, 4 for a seam.

    def pages(limit: int) -> list[list[int]]:
        ((found,),) = verify(WholeVerifier(limit), [Task(("Roofs leak.",), documents)])
        return [[document for document, _ in window.places] for window in found.windows]

    assert pages(60) == [[0, 1, 2]]
    assert pages(58) == pages(40) == [[0, 1], [2]]
    assert pages(38) == [[0], [1], [2]]


def test_second_document_adds_what_the_first_one_lacks() -> None:
    mill = "The mill was built in 1790 by Ann Cole of Stoke."
    again = f"{mill[:-1]}, they say. Rain fell. Wind blew. Snow melted. Ice cracked."
    documents = (read_source(mill), read_source(f"{again} {BRIDGE}"))
    claim = f"{mill[:-1]} and the bridge opened in 1802."
    ((found,),) = verify(OverlapVerifier(), [Task((claim,), documents)])
    (joined,) = [window for window in found.windows if window.others]
    assert joined.text == f"{mill} Snow melted. Ice cracked. The bridge at Stoke opened in 1802."


def test_short_windows_rank_by_their_length_beside_the_statement() -> None:
    whole = (
        "In the old days the mill ground barley and rye and oats and corn for all of the people."
    )
    found = judged(
        "The mill ground barley and rye and oats and corn.",
        f"{whole} The mill ground barley and rye and oats at times.",
        stop=1.1,
    )
    assert found.windows[0].text == whole


def test_pages_rank_by_shared_words_alone() -> None:
    rain = " Rain fell on every roof." * 6
    documents = (
        read_source(f"Ann, Bob and Eve left.{rain}"),
        read_source(f"Tom and Max stayed.{rain}"),
        read_source("Zoe sang."),
    )
    ((found,),) = verify(OverlapVerifier(), [Task(("Ann Bob Eve Tom Max Zoe",), documents)])
    assert [window.document for window in found.windows if window.page] == [0, 1]


def test_window_may_fill_the_room_exactly() -> None:
    long = "The mill on the Arle at Stoke ground barley and rye and oats for all of us today."
    verifier = OverlapVerifier(2 * len(long.split()))
    found = judged(
        "The mill ground barley and oats for all today.", f"{long} Rain fell.", verifier, 1.1
    )
    assert found.windows[0].text == long


def test_documents_too_long_have_their_own_pages() -> None:
    documents = (read_source(BRIDGE), read_source(SOURCE))
    ((found,),) = verify(WholeVerifier(70), [Task((BOTH,), documents)])
    assert [window.text for window in found.windows if window.others] == []


@pytest.mark.parametrize(
    "statement", [SENTENCE, "today the mill is a museum", f"{SENTENCE[:-1]} !"]
)
def test_copied_sentence_needs_no_verifier(statement: str) -> None:
    verifier = OverlapVerifier()
    found = judged(statement, verifier=verifier)
    assert [window.text for window in found.windows] == [SENTENCE]
    assert found.probabilities == (Probabilities(1.0, 0.0, None),)
    assert [window.page for window in found.windows] == [False]
    assert found.tokens == 0
    assert verifier.calls == []


def test_entities_are_read_in_copies() -> None:
    found = judged("Tom & Ann left at 5.", source="Tom &amp; Ann left at&nbsp;5.")
    assert found.probabilities == (Probabilities(1.0, 0.0, None),)


@pytest.mark.parametrize(
    "statement", ["The mill is a museum.", "a museum. Visitors", "Is a museum"]
)
def test_part_of_a_sentence_is_not_a_copy(statement: str) -> None:
    verifier = OverlapVerifier()
    judged(statement, verifier=verifier)
    assert verifier.calls


class WholeVerifier(OverlapVerifier):
    """Reads a source once for all statements."""

    reads_whole_sources = True


def test_verifiers_of_whole_sources_get_only_pages() -> None:
    verifier = WholeVerifier()
    statements = (MUSEUM, INVENTED)
    ((first, second),) = verify(
        verifier, [Task(statements, (read_source(SOURCE),))], lambda answer: True
    )
    assert len(verifier.calls) == 1
    assert [window.page for window in first.windows] == [True]
    alone = verify(WholeVerifier(), [Task((INVENTED,), (read_source(SOURCE),))])[0][0]
    shared = [window.text for window in second.windows if window in first.windows]
    assert SOURCE in shared
    assert second.tokens == alone.tokens - sum(verifier.count_tokens(shared)), "counted once"


def test_every_page_is_read_by_such_a_verifier() -> None:
    source = " ".join(f"Rain fell on roof number {at} and all stayed home." for at in range(40))
    ((found,),) = verify(WholeVerifier(60), [Task((INVENTED,), (read_source(source),))])
    assert sum(window.page for window in found.windows) > PAGES
    assert all(b.span.start < a.span.end for a, b in pairwise(found.windows)), "pages overlap"


def test_too_long_statement_has_a_reason() -> None:
    found = judged("very " * 101 + "long")
    assert found.windows == ()
    assert found.reason == "the claim has 102 tokens; the verifier reads 100"
    assert judged("very " * 99 + "long").reason is None
    long = "very " * 101 + "long"
    assert judged(long, source=f"{long}. It ends.").probabilities == (
        Probabilities(1.0, 0.0, None),
    )


class Illiterate(OverlapVerifier):
    """Has no tokens for some words."""

    def unknown_words(self, text: str) -> list[str]:
        return [word for word in text.split() if word[0] in "塔川山木"]


def test_unknown_word_is_a_reason() -> None:
    assert judged("The 塔 is a museum.", verifier=Illiterate()).reason == (
        "the verifier cannot read '塔'"
    )
    assert judged("The 塔 塔 川 山 木", verifier=Illiterate()).reason == (
        "the verifier cannot read '塔', '川'"
    )
    assert judged("The " + "塔" * 50, verifier=Illiterate()).reason == (
        f"the verifier cannot read '{'塔' * 40}'"
    )


def test_answers_do_not_depend_on_the_batch() -> None:
    source = read_source(SOURCE * 3)
    tasks = [Task((MUSEUM, INVENTED), (source,)), Task((MUSEUM,), (read_source(SOURCE),))]
    together = verify(OverlapVerifier(60), tasks)
    assert together == [verify(OverlapVerifier(60), [task])[0] for task in tasks]


def test_identical_pairs_are_judged_once() -> None:
    verifier = OverlapVerifier()
    verify(verifier, [Task((INVENTED,), (read_source(SOURCE),))] * 3)
    pairs = [pair for call in verifier.calls for pair in call]
    assert len(pairs) == len(set(pairs))


def test_progress_never_falls_and_ends_at_all() -> None:
    seen: list[tuple[int, int]] = []
    tasks = [Task((MUSEUM, INVENTED), (read_source(SOURCE),))] * 2
    verify(
        OverlapVerifier(),
        tasks,
        lambda answer: answer.entailment > 0.8,
        lambda done, of: seen.append((done, of)),
    )
    shares = [done / of for done, of in seen]
    assert shares == sorted(shares)
    assert seen[-1][0] == seen[-1][1] > 0


def test_progress_counts_the_tokens_of_every_window() -> None:
    seen: list[tuple[int, int]] = []
    task = Task((INVENTED,), (read_source(SOURCE),))
    ((found,),) = verify(
        OverlapVerifier(), [task], lambda answer: False, lambda *counts: seen.append(counts)
    )
    sizes = [count + 6 for count in OverlapVerifier().count_tokens([w.text for w in found.windows])]
    assert found.tokens == sum(sizes)
    # The first call comes before the windows are found, which takes long in a long source.
    assert seen.pop(0) == (0, 1)
    assert seen == [(total, found.tokens) for total in (*accumulate(sizes), found.tokens)]


def test_settled_statements_are_reported_once_with_their_outcome() -> None:
    seen: dict[int, Judgement] = {}
    ((first, second),) = verify(
        OverlapVerifier(),
        [Task((MUSEUM, INVENTED), (read_source(SOURCE),))],
        lambda answer: answer.entailment > 0.8,
        settled=lambda _, at, found: seen.update({at: found}),
    )
    assert list(seen) == [0, 1]
    assert seen == {0: first, 1: second}


class Limited(OverlapVerifier):
    """Wants few pairs per call."""

    pairs_at_once = 2

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        assert len(pairs) <= 2
        return super().judge(pairs)


def test_verifiers_say_how_many_pairs_they_want() -> None:
    verifier = Limited()
    verify(verifier, [Task((MUSEUM, INVENTED), (read_source(SOURCE),))])
    assert max(map(len, verifier.calls)) == 2


class Patient(OverlapVerifier):
    """Wants many pairs per call."""

    pairs_at_once = 40


def test_batches_are_small_unless_a_verifier_wants_more() -> None:
    def calls(verifier: OverlapVerifier, count: int, words: int) -> list[list[int]]:
        statements = tuple(f"Guest {at} " + "sang " * (words - 2) for at in range(count))
        verify(verifier, [Task(statements, (read_source("Rain fell."),))])
        return [[sum(verifier.count_tokens(pair)) for pair in call] for call in verifier.calls]

    assert [len(call) for call in calls(OverlapVerifier(), 20, 4)] == [16, 4]
    # 126 tokens and the two of the source: eight pairs are 1,024 tokens.
    assert [sum(call) for call in calls(OverlapVerifier(300), 9, 126)] == [1024, 128]
    assert [len(call) for call in calls(OverlapVerifier(300), 9, 127)] == [7, 2]
    assert [len(call) for call in calls(Patient(300), 50, 127)] == [40, 10]


def test_longest_pairs_are_judged_first() -> None:
    verifier = OverlapVerifier()
    verify(
        verifier,
        [Task(("Rats sang.", "Bats and cats sang.", "Ants sang."), (read_source("Rain."),))],
    )
    assert [claim for _, claim in verifier.calls[0]] == [
        "Bats and cats sang.",
        "Ants sang.",
        "Rats sang.",
    ]


class Talkative(OverlapVerifier):
    """Gives one answer too many."""

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        return [*super().judge(pairs), Probabilities(1.0, 0.0, 0.0)]


def test_answers_that_fit_no_pair_are_refused() -> None:
    with pytest.raises(ValueError, match="longer"):
        verify(Talkative(), [Task((INVENTED,), (read_source(SOURCE),))])


# Pages and sentences

WORDS = st.lists(st.sampled_from(["rain", "mill", "1790", "roof", "Arle"]), min_size=1, max_size=30)
TEXTS = st.lists(WORDS.map(lambda words: " ".join(words) + "."), min_size=1, max_size=12)


@settings(max_examples=80)
@given(TEXTS, st.integers(5, 60), st.booleans())
def test_pages_fit_and_cover_every_word(parts: list[str], room: int, overlap: bool) -> None:
    document = read_source("\n".join(parts))
    verifier = OverlapVerifier(1000)
    tokens = CountedDocument(verifier, document)
    pages = cut_pages(tokens, room, overlap=overlap)
    assert all(tokens.count([page])[0] <= room for page in pages)
    starts = [page.start for page in pages]
    assert starts == sorted(starts)
    covered = "".join(
        " " if any(page.start <= at < page.end for page in pages) else char
        for at, char in enumerate(document.text)
    )
    assert not covered.strip()
    if not overlap:
        assert all(a.end <= b.start for a, b in pairwise(pages))


def test_page_boundaries_are_sentence_boundaries() -> None:
    source = " ".join(f"Sentence number {at} has seven words here." for at in range(9))
    document = read_source(source)
    tokens = CountedDocument(OverlapVerifier(), document)
    pages = cut_pages(tokens, 21)
    assert [page.cut(source).count(".") for page in pages] == [3, 3, 3]
    assert pages[1] == Span(document.sentences[3].start, document.sentences[5].end)
    shared = cut_pages(tokens, 21, overlap=True)
    assert shared[1].start < shared[0].end


def test_runs_of_three_sentences_overlap() -> None:
    document = read_source(" ".join(f"Roof {at} leaks." for at in range(5)))
    found = [span.cut(document.text).count("leaks") for span in short_spans(document, 3)]
    assert found == [3, 3, 3]
    assert len(short_spans(read_source("Rain. Wind."), 3)) == 1


def test_sentence_with_a_pronoun_takes_the_one_before() -> None:
    document = read_source("Ann left Rome. She sold her boat. She never came back. She wrote.")
    found = [span.cut(document.text) for span in short_spans(document, 1)]
    assert found == [
        "Ann left Rome.",
        "Ann left Rome. She sold her boat.",
        "Ann left Rome. She sold her boat. She never came back.",
        "She sold her boat. She never came back. She wrote.",
    ]


@pytest.mark.parametrize("text", ["", " \n", "."])
def test_documents_without_sentences_have_no_windows(text: str) -> None:
    document = Document(text, ())
    assert short_spans(document, 3) == []
    assert cut_pages(CountedDocument(OverlapVerifier(), document), 9) == []
