"""Windows divided to fit, and nothing lost, mixed up or judged in another's light."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.claims import Claim
from halldetect.reading.sentences import read_document
from halldetect.reading.sources import read_source
from halldetect.report import Probabilities
from halldetect.verification.rounds import PAIRS_AT_ONCE, TOKENS_AT_ONCE, JudgedClaim, verify
from halldetect.verification.scales import GRANULARITIES, source_windows
from halldetect.verification.schedule import StoppingRule
from halldetect.verification.tasks import Task


class Counting:
    """Every letter run, mark and end of line is a token; refuses what does not fit."""

    def __init__(self, max_tokens: int = 40) -> None:
        self.max_tokens = max_tokens
        self.calls: list[list[tuple[str, str]]] = []

    @property
    def description(self) -> dict[str, Any]:
        return {"name": "counting"}

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w{1,6}|[^\w ]", text)) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        self.calls.append(list(pairs))
        for pair in pairs:
            assert sum(self.count_tokens(pair)) <= self.max_tokens
        return [self.answer(*pair) for pair in pairs]

    @staticmethod
    def answer(premise: str, hypothesis: str) -> Probabilities:
        share = (hash((premise, hypothesis)) % 997) / 997
        return Probabilities(share, 1 - share, None)


def entailment(found: Probabilities) -> float:
    return found.entailment


rules = st.builds(
    StoppingRule,
    st.just(entailment),
    st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
    min_gain=st.sampled_from([0.0, 0.002, 0.2]),
    max_windows_supported=st.sampled_from([1, 4, 1000]),
    min_overlap=st.sampled_from([0.0, 0.2, 1.0]),
    silent_below=st.sampled_from([0.0, 0.1, 1.0]),
    max_windows=st.sampled_from([1, 3, 1000]),
    unrelated_below=st.sampled_from([0.0, 0.5]),
    hopeless_below=st.sampled_from([0.1, 1.0]),
    hopeless_windows=st.sampled_from([1, 4, 1000]),
)


def claims(*texts: str) -> tuple[Claim, ...]:
    return tuple(Claim(text, None, "made up") for text in texts)


def task(source: str | Sequence[str], *texts: str) -> Task:
    return scaled_task(source, GRANULARITIES, *texts)


def scaled_task(source: str | Sequence[str], scales: Sequence[int], *texts: str) -> Task:
    documents = tuple(map(read_document, (source,) if isinstance(source, str) else source))
    return Task(claims(*texts), source_windows(documents, scales), documents)


words = st.text("abcdefgh", min_size=1, max_size=9)
sentences = st.lists(words, min_size=1, max_size=30).map(
    lambda found: f"{' '.join(found)}.".title()
)
breaks = st.sampled_from([" ", "\n", "\n\n\n", "\r\n", "  \n\t\n "])
odd = st.text("ab é😀\n.字!\u0301\u00a0\t", max_size=120)
documents = st.one_of(
    st.lists(st.tuples(sentences, breaks), max_size=8).map(
        lambda found: "".join(part for pair in found for part in pair)
    ),
    odd,
    words.map(lambda word: word * 60),
)
texts = st.lists(words, min_size=1, max_size=60).map(" ".join)
tasks = st.builds(
    task, st.lists(documents, min_size=1, max_size=3), texts, texts, st.just("A short one")
)


@given(tasks, st.integers(12, 90))
def test_every_part_fits_and_cuts_back_and_the_parts_cover_the_source(
    given: Task, limit: int
) -> None:
    verifier = Counting(limit)
    for judged in verify(verifier, [given])[0]:
        assert len(judged.windows) == len(judged.probabilities)
        if judged.reason is not None:
            assert judged.windows == ()
            continue
        for window, found in zip(judged.windows, judged.probabilities, strict=True):
            document = given.documents[window.document].text
            assert window.span.cut(document) == window.text
            assert sum(verifier.count_tokens([window.text, judged.claim.text])) <= limit
            assert found == verifier.answer(window.text, judged.claim.text)
        for scale in {scale for window in given.windows for scale in window.scales}:
            assert covered(texts_of(given), judged, scale) == visible(texts_of(given))


def texts_of(given: Task) -> list[str]:
    return [document.text for document in given.documents]


def covered(texts: Sequence[str], judged: JudgedClaim, scale: int) -> set[tuple[int, int]]:
    return {
        (window.document, at)
        for window in judged.windows
        if scale in window.scales
        for at in range(window.span.start, window.span.end)
        if not texts[window.document][at].isspace()
    }


def visible(texts: Sequence[str]) -> set[tuple[int, int]]:
    return {
        (number, at)
        for number, text in enumerate(texts)
        for at, character in enumerate(text)
        if not character.isspace()
    }


@given(st.lists(tasks, min_size=1, max_size=4), st.booleans(), st.none() | rules, st.randoms())
def test_results_do_not_depend_on_the_other_tasks(
    given: list[Task], truncate: bool, rule: StoppingRule | None, random: Any
) -> None:
    together = verify(Counting(), given, truncate=truncate, rule=rule)
    alone = [verify(Counting(), [item], truncate=truncate, rule=rule)[0] for item in given]
    assert together == alone
    order = list(range(len(given)))
    random.shuffle(order)
    shuffled = verify(Counting(), [given[at] for at in order], truncate=truncate, rule=rule)
    assert [alone[at] for at in order] == shuffled


@given(tasks)
def test_a_claim_does_not_depend_on_the_other_claims(given: Task) -> None:
    together = verify(Counting(), [given])[0]
    for claim, judged in zip(given.claims, together, strict=True):
        [[alone]] = verify(Counting(), [Task((claim,), given.windows, given.documents)])
        assert alone == judged


@given(tasks, st.integers(12, 90))
def test_truncating_keeps_one_beginning_of_each_window(given: Task, limit: int) -> None:
    verifier = Counting(limit)
    for judged in verify(verifier, [given], truncate=True)[0]:
        if judged.reason is not None:
            continue
        starts = {(window.document, window.span.start) for window in given.windows}
        assert {(window.document, window.span.start) for window in judged.windows} == starts
        for window in judged.windows:
            assert window.span.cut(given.documents[window.document].text) == window.text
            assert sum(verifier.count_tokens([window.text, judged.claim.text])) <= limit


def test_windows_that_fit_are_left_alone() -> None:
    given = task("One is here. Two is there. Three is gone.", "One is here")
    [[judged]] = verify(Counting(80), [given])
    assert judged.windows == given.windows
    assert judged.reason is None
    # "One is here" has 3 tokens; each window's are counted with it.
    sizes = Counting().count_tokens([window.text for window in given.windows])
    assert judged.tokens == sum(sizes) + 3 * len(sizes)


def test_a_window_is_divided_at_sentence_ends() -> None:
    source = "Alpha beta gamma delta. Epsilon zeta eta theta. Iota kappa lambda mu."
    given = scaled_task(source, (1,), "Short")
    [[judged]] = verify(Counting(21), [given])
    assert [window.text for window in judged.windows] == [
        "Alpha beta gamma delta. Epsilon zeta eta theta.",
        "Iota kappa lambda mu.",
    ]
    assert [window.scales for window in judged.windows] == [(1,), (1,)]


def test_breaks_between_sentences_that_cost_tokens_are_reckoned_with() -> None:
    source = "Alpha beta." + "\n" * 9 + "Gamma delta."
    given = scaled_task(source, (1,), "Short")
    [[judged]] = verify(Counting(16), [given])
    assert [window.text for window in judged.windows] == ["Alpha beta.", "Gamma delta."]


def test_a_long_sentence_is_cut_at_spaces_and_a_spaceless_one_anywhere() -> None:
    for source in ("word " * 100, "x" * 2000):
        given = scaled_task(source, (1,), "Short")
        [[judged]] = verify(Counting(), [given])
        assert len(judged.windows) > 3
        assert "".join(window.text for window in judged.windows).replace(" ", "") == (
            source.replace(" ", "")
        )
    assert all(window.text.strip() == window.text for window in judged.windows)


def test_a_claim_too_long_to_be_read_says_so_and_the_others_are_judged() -> None:
    given = task("One is here.", "word " * 21, "One is here")
    [[long, short]] = verify(Counting(), [given])
    assert (long.windows, long.probabilities, long.tokens) == ((), (), 0)
    assert long.reason == "the claim has 21 tokens; the verifier reads 20"
    assert short.reason is None
    assert short.windows


def test_the_longest_claim_that_may_be_read_is() -> None:
    for words_in_claim in (19, 20):
        [[judged]] = verify(Counting(), [task("word " * 200, "word " * words_in_claim)])
        assert judged.reason is None


def test_repeated_pairs_are_judged_once_and_progress_reaches_the_end() -> None:
    source = ". ".join(f"Sentence number {number} is here" for number in range(40))
    given = task(source, *(f"Claim {number}" for number in range(6)))
    verifier = Counting(2000)
    seen: list[tuple[int, int]] = []
    results = verify(verifier, [given, given], lambda done, of: seen.append((done, of)))
    judged = [pair for call in verifier.calls for pair in call]
    assert len(judged) == len(set(judged)) == 6 * len(given.windows)
    assert results[0] == results[1]
    assert max(map(len, verifier.calls)) <= PAIRS_AT_ONCE
    sizes = [sum(verifier.count_tokens(pair)) for pair in judged]
    assert sizes == sorted(sizes, reverse=True)
    shares = [done / of for done, of in seen]
    assert shares == sorted(shares)
    assert seen[-1] == (sum(sizes), sum(sizes))


def test_the_verifier_gets_few_tokens_at_a_time() -> None:
    source = ". ".join(f"Sentence number {number} is here" for number in range(400))
    verifier = Counting(2000)
    verify(verifier, [task(source, *(f"Claim {number}" for number in range(20)))])
    for call in verifier.calls:
        tokens = sum(sum(verifier.count_tokens(pair)) for pair in call)
        assert tokens <= TOKENS_AT_ONCE or len(call) == 1
    assert len(verifier.calls) < sum(map(len, verifier.calls)) / 2, "short pairs go together"


@given(st.lists(tasks, min_size=1, max_size=3), st.one_of(st.none(), rules))
def test_progress_never_falls_and_ends_at_the_end(
    given: list[Task], rule: StoppingRule | None
) -> None:
    seen: list[tuple[int, int]] = []
    verify(Counting(), given, lambda done, of: seen.append((done, of)), rule=rule)
    shares = [done / of for done, of in seen if of]
    assert shares == sorted(shares)
    assert seen[-1][0] == seen[-1][1]


def test_progress_counts_what_will_really_be_judged() -> None:
    """Claims that nothing supports are judged to the end, the others are settled at once."""
    lines = [f"Sentence {number} tells of thing{number} and stuff{number}" for number in range(60)]
    good = [f"Sentence {number} tells of thing{number} and stuff{number}" for number in range(20)]
    bad = [f"Sentence {number} tells of nothing but thing{number}" for number in range(20)]
    seen: list[tuple[int, int]] = []
    rule = StoppingRule(lambda item: item.entailment)
    given = task(". ".join(lines), *good, *bad)
    verify(Literal(400), [given], lambda done, of: seen.append((done, of)), rule=rule)
    total = seen[-1][0]
    half = next(share for done, of in seen if done >= total / 2 for share in [done / of])
    assert 0.25 < half < 0.9


def test_a_verifier_says_how_many_pairs_it_wants_at_once() -> None:
    given = task("One is here. Two is there. Three is gone.", "One is here", "Two is there")
    for wish, most in ((None, PAIRS_AT_ONCE), (3, 3), (1000, 1000)):
        verifier = Counting(80)
        if wish is not None:
            verifier.pairs_at_once = wish  # type: ignore[attr-defined]
        assert verify(verifier, [given]) == verify(Counting(80), [given])
        assert max(map(len, verifier.calls)) == min(most, 2 * len(given.windows))


@pytest.mark.parametrize("given", [task("", "One"), task("One is here."), task([], "One")])
def test_nothing_to_judge(given: Task) -> None:
    verifier = Counting()
    [results] = verify(verifier, [given])
    assert [judged.windows for judged in results] == [()] * len(given.claims)
    assert verifier.calls == []
    assert verify(verifier, []) == []


@given(st.lists(tasks, min_size=1, max_size=3), rules)
def test_a_rule_judges_no_pair_twice_and_leaves_no_doubt_about_the_worst_claim(
    given: list[Task], rule: StoppingRule
) -> None:
    verifier = Counting()
    lazy, exact = verify(verifier, given, rule=rule), verify(Counting(), given)
    pairs = [pair for call in verifier.calls for pair in call]
    assert len(pairs) == len(set(pairs))
    # Below the line nothing is skipped.
    complete = rule.min_overlap == rule.silent_below == 0.0 and rule.max_windows == 1000
    given_up = rule.hopeless_windows < 1000  # nothing is silent below 0
    for few, many in zip(lazy, exact, strict=True):
        for here, there in zip(few, many, strict=True):
            assert (here.claim, here.reason) == (there.claim, there.reason)
            assert len(here.windows) + here.skipped == len(there.windows)
            answers = dict(zip(there.windows, there.probabilities, strict=True))
            assert [answers[window] for window in here.windows] == list(here.probabilities)
            assert list(here.windows) == [item for item in answers if item in here.windows]
            assert bool(here.windows) == bool(there.windows)
            assert len(here.windows) <= rule.max_windows
            if here.windows:  # nothing is called supported that judging everything would not
                assert support(here) <= support(there)
            if here.skipped and complete and not given_up:
                assert support(here) > rule.supported_above
        judged = [(support(a), support(b)) for a, b in zip(few, many, strict=True) if a.windows]
        if judged:
            found, true = (min(column) for column in zip(*judged, strict=True))
            assert found <= true
            if complete:
                assert (found > rule.supported_above) == (true > rule.supported_above)
                if true <= rule.supported_above:
                    assert true - rule.min_gain <= found
                elif rule.max_windows_supported == 1000:
                    assert found == true or found >= 1.0 - rule.min_gain


def support(judged: JudgedClaim) -> float:
    return max(item.entailment for item in judged.probabilities)


class Literal(Counting):
    """Entailed for certain where the window has the very words of the claim, else not at all."""

    @staticmethod
    def answer(premise: str, hypothesis: str) -> Probabilities:
        return Probabilities(float(hypothesis in premise), float(hypothesis not in premise), 0.0)


STORY = " ".join(f"Rider {name} crossed the {name} ford." for name in "abcdefghijklmnop")


def test_a_claim_that_its_most_promising_window_proves_meets_no_other() -> None:
    verifier = Literal(2000)
    [[judged]] = verify(
        verifier, [task(STORY, "Rider k crossed the k ford.")], rule=StoppingRule(entailment)
    )
    assert [window.text for window in judged.windows] == ["Rider k crossed the k ford."]
    assert [len(call) for call in verifier.calls] == [1]
    assert judged.skipped == len(task(STORY).windows) - 1


def test_a_claim_that_nothing_proves_meets_every_window_in_few_rounds() -> None:
    verifier = Literal(2000)
    [[judged]] = verify(
        verifier,
        [task(STORY, "Rider k drowned in the k ford.")],
        rule=StoppingRule(entailment, min_overlap=0.0, silent_below=0.0),
    )
    assert judged.windows == task(STORY).windows
    assert judged.skipped == 0
    assert [len(call) for call in verifier.calls] == [1, 1, 2, 4, 8, 15]


class Hinting(Literal):
    """Silent, but against every claim where the window says "never"."""

    @staticmethod
    def answer(premise: str, hypothesis: str) -> Probabilities:
        against = 0.6 * ("never" in premise)
        return Probabilities(0.0, 1.0 - against, against)


def test_parts_of_a_passage_that_says_nothing_of_the_claim_are_passed_over() -> None:
    claim = "Rider k drowned in the k ford."
    [[judged]] = verify(
        Hinting(2000), [task(STORY, claim)], rule=StoppingRule(entailment, min_overlap=0.0)
    )
    met = [(window.span.start, window.span.end) for window in judged.windows]
    assert (0, len(STORY)) in met
    assert judged.skipped > 0, "who read the whole need not read its parts"
    # A passage that speaks against the claim is read closely: which sentence does?
    source = f"{STORY} They never rode again."
    [[judged]] = verify(
        Hinting(2000), [task(source, claim)], rule=StoppingRule(entailment, min_overlap=0.0)
    )
    against = [item.contradiction or 0.0 for item in judged.probabilities]
    shortest = min(
        (window for window, share in zip(judged.windows, against, strict=True) if share),
        key=lambda window: len(window.text),
    )
    assert len(read_document(source).sentences_in(shortest.span)) <= 2
    assert "never" in shortest.text


def test_windows_with_hardly_a_word_of_the_claim_are_passed_over() -> None:
    source = f"{STORY} The miller drank cold coffee."
    given = task(source, "The miller drank wine, and Rider k paid.")
    [[judged]] = verify(Literal(2000), [given], rule=StoppingRule(entailment, min_overlap=0.5))
    assert judged.skipped > 0
    assert all("miller" in window.text for window in judged.windows)
    rule = StoppingRule(entailment, silent_below=0.0)
    [[nothing]] = verify(Literal(2000), [task(source, "Zebras!")], rule=rule)
    assert nothing.skipped == 0, "with no word to go by, nothing is skipped"


def test_a_claim_meets_the_most_promising_windows_of_a_long_source_and_no_more() -> None:
    source = " ".join(f"Rider {at} crossed the wide ford at {at} past nine." for at in range(400))
    given = replace(task(source, "Nobody crossed the wide ford."), finer=True)
    [[judged]] = verify(Literal(60), [given], rule=StoppingRule(entailment, max_windows=10))
    assert len(judged.windows) == 10
    assert judged.skipped > 100


MANY_WINDOWS = " ".join(f"Rider {at} crossed the wide ford at {at} past nine." for at in range(64))


def test_unsupported_claims_are_given_up_but_not_all_of_them() -> None:
    """One is judged to its end: the verdict rests on it."""
    unrelated = [f"Zebra{at} ate violet{at} yoghurt{at} at the ford." for at in range(5)]
    related = [f"Nobody{at} crossed the wide ford at midnight{at}." for at in range(5)]
    given = task(MANY_WINDOWS, *unrelated, *related)
    [judged] = verify(Against(2000), [given], rule=StoppingRule(entailment))
    counts = [len(item.windows) for item in judged]
    assert counts[1:5] == [1] * 4, "few of their words are in the source, and it is silent on them"
    assert MANY_WINDOWS in [window.text for window in judged[0].windows], "judged to its end"
    assert counts[5:] == [4] * 5


class Against(Literal):
    """Certain that the claims about riders are wrong, and silent on all others."""

    @staticmethod
    def answer(premise: str, hypothesis: str) -> Probabilities:
        against = 0.95 * ("Nobody" in hypothesis)
        return Probabilities(0.0, 1.0 - against, against)


class Wavering(Literal):
    """Neither sure that a claim is contradicted nor that it is not."""

    @staticmethod
    def answer(premise: str, hypothesis: str) -> Probabilities:
        return Probabilities(0.0, 0.4, 0.6)


def test_whether_a_claim_is_contradicted_is_found_out() -> None:
    claims = [f"Nobody{at} crossed the wide ford at midnight{at}." for at in range(3)]
    rule = StoppingRule(entailment)
    [unclear] = verify(Wavering(2000), [task(MANY_WINDOWS, *claims)], rule=rule)
    [clear] = verify(Against(2000), [task(MANY_WINDOWS, *claims)], rule=rule)
    assert min(len(item.windows) for item in unclear) > 4
    assert [len(item.windows) for item in clear[1:]] == [4, 4]


def test_a_claim_that_was_given_up_is_taken_up_again_before_the_response_is_flagged() -> None:
    """Few of their words are in the source, and not their first window but the whole supports."""

    class Late(Literal):
        @staticmethod
        def answer(premise: str, hypothesis: str) -> Probabilities:
            yes = 0.9 * (premise == MANY_WINDOWS)
            return Probabilities(yes, 1.0 - yes, 0.0)

    given = task(MANY_WINDOWS, "Zebras ate yoghurt at a ford.", "Lions drank ink at a ford.")
    [judged] = verify(Late(2000), [given], rule=StoppingRule(entailment))
    assert [support(item) for item in judged] == [0.9, 0.9]


def test_progress_ends_where_all_is_done_though_not_all_was_judged() -> None:
    seen: list[tuple[int, int]] = []
    given = task(STORY, "Rider k crossed the k ford.")
    verify(Literal(2000), [given], lambda *step: seen.append(step), rule=StoppingRule(entailment))
    (judged, expected), last = seen
    assert judged < expected
    assert last == (judged, judged)


class CountingTokens(Counting):
    """The same for tokens: what it is given must fit too."""

    adds_up = True

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        return [tuple(range(count)) for count in self.count_tokens(texts)]

    def judge_tokens(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[Probabilities]:
        for premise, hypothesis in pairs:
            assert len(premise) + len(hypothesis) <= self.max_tokens
        return [Probabilities(0.5, 0.3, 0.2)] * len(pairs)


def test_a_truncated_window_fits_where_its_text_is_longer_than_its_place() -> None:
    # Each row of a table is read with the names of its columns.
    header = "| The name of the building | The year of its opening |\n|---|---|\n"
    documents = (read_source(header + "".join(f"| {n} | {n} |\n" for n in range(9))),)
    task = Task(claims("It opened."), source_windows(documents), documents)
    (judged,) = verify(CountingTokens(30), [task], truncate=True)[0]
    assert max(len(window.text) for window in judged.windows) > 60
