"""Turn a question and its answer into a statement, by rule.

`statement` handles wh-questions (subject, object, copula, time, place) and `yes_no` handles yes/no
questions. Both return None if no rule is sure: `quoted` then quotes the question and the answer.
"""

from __future__ import annotations

import random
import re
from functools import lru_cache

from training.perturbation import lexicon
from training.words import pairs
from training.words import words as listed

_BE = frozenset("is are was were 's".split())
_HAVE = frozenset("has have had".split())
_MODAL = frozenset("will would can could should must may might shall".split())
_DO = frozenset("do does did".split())
_AUX = _BE | _HAVE | _MODAL | _DO
_DETERMINERS = frozenset(
    "the a an this that these those his her its their our my your some any each every".split()
)
_PRONOUNS = frozenset("he she it they we you i this that these those there".split())
_PREPOSITIONS = frozenset(listed("statement_prepositions"))
_IRREGULAR = {**lexicon.IRREGULAR_PASTS, **pairs("statement_irregular")}
_BASES = frozenset([*lexicon.VERBS, *listed("statement_more_verbs"), *_IRREGULAR, "have"])
_DOUBLE = frozenset(listed("statement_double"))
_PARTICIPLES = frozenset(listed("statement_participles"))
# Words that are as often nouns: if a verb follows directly, that one is the verb.
_NOUNS_TOO = frozenset(listed("statement_nouns_too"))
_TAKES_OF = frozenset(
    "consist think dream approve die speak hear become know dispose make complain".split()
)
_TIME_NOUNS = frozenset("year years month day date century decade time season era period".split())
_VAGUE_NOUNS = frozenset("kind type kinds types sort percentage".split())
_ADJECTIVES = frozenset(listed("statement_adjectives"))


def past(verb: str) -> str:
    """Return the simple past of a base form."""
    return lexicon.past(verb, _IRREGULAR, _DOUBLE)


def inflected(verb: str, auxiliary: str) -> str:
    """Return the inflected form of a verb that replaces "do" and its base form."""
    if auxiliary == "did":
        return past(verb)
    if auxiliary == "does":
        return "has" if verb == "have" else lexicon.third_person(verb)
    return verb


def is_participle(word: str) -> bool:
    """Return True if a word looks like a past participle."""
    return word in _PARTICIPLES or (len(word) > 4 and word.endswith("ed") and word != "indeed")


def capital(text: str) -> str:
    """Return the text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def lowered(answer: str) -> str:
    """Return an answer for use inside a sentence: a leading function word in lower case."""
    first = answer.split(maxsplit=1)[0] if answer.split() else ""
    small = first.lower()
    if first[:1].isupper() and (
        small in _DETERMINERS or small in _PREPOSITIONS or small in _PRONOUNS - {"i"}
    ):
        return answer[:1].lower() + answer[1:]
    return answer


@lru_cache(maxsize=1024)
def _cased(premise: str) -> dict[str, str]:
    small = frozenset(re.findall(r"(?<![\w'])[a-z]+(?:'[a-z]+)?(?![\w'])", premise))
    found: dict[str, str] = {}
    for match in re.finditer(r"(?<![.!?:\n] )(?<!^)\b[A-Z][\w'’-]*", premise):
        word = match.group()
        if word.lower() not in small:
            found.setdefault(word.lower(), word)
    return found


def recased(question: str, premise: str) -> str:
    """Return a lower-case question with the capitals of its passage."""
    if re.search(r"\w.*[A-Z]", question):
        return question
    known = _cased(premise)
    return re.sub(r"(?<![\w'’-])[a-z][\w’-]*", lambda m: known.get(m.group(), m.group()), question)


def cleaned(question: str) -> str:
    """Return a question without its mark, tokenisation gaps and openers."""
    text = re.sub(r"\s+", " ", question.replace("``", '"').replace("''", '"')).strip()
    text = re.sub(r"\s+([,.;:?!)'’]|n't\b|'s\b)", r"\1", text)
    text = re.sub(r"[\s?.!]+$", "", text)
    return re.sub(r"^(?:So|And|But|Also|Then|Well),? ", "", text)


def _subject_verb(tokens: list[str]) -> int | None:
    """Return the index of the base verb in "SUBJECT VERB rest", or None."""
    if not tokens:
        return None
    start = 1
    if tokens[0].lower() in _DETERMINERS and tokens[0].lower() not in _PRONOUNS:
        start = 2
    best: int | None = None
    for place in range(start, len(tokens)):
        word = tokens[place].lower().strip(",")
        if word in _PREPOSITIONS and place >= start:
            if best is not None:
                return best
            continue
        if word in _BASES and tokens[place][0].islower():
            previous = tokens[place - 1].lower()
            if previous in _PREPOSITIONS or previous in _DETERMINERS - _PRONOUNS:
                continue
            if best is not None and place > best + 1:
                return best  # the object of the first verb has begun
            following = tokens[place + 1].lower() if place + 1 < len(tokens) else ""
            if following == "of" and word not in _TAKES_OF:
                continue
            if best is not None and tokens[best].lower() not in _NOUNS_TOO:
                return best
            best = place
        elif best is not None:
            return best
    return best


def _subject_participle(tokens: list[str]) -> int | None:
    """Return the index of the participle in "SUBJECT PARTICIPLE rest" after a form of be."""
    start = 2 if tokens and tokens[0].lower() in _DETERMINERS - _PRONOUNS else 1
    for place in range(start, len(tokens)):
        word = tokens[place].lower().strip(",")
        if is_participle(word) and tokens[place][0].islower():
            if tokens[place - 1].lower() in _DETERMINERS:
                continue
            following = tokens[place + 1].lower() if place + 1 < len(tokens) else ""
            # "the so called crisis", "the United States": a noun follows an attribute.
            if following[:1].isalpha() and following not in _PREPOSITIONS:
                if following.endswith("ly"):
                    return place
                return None
            return place
    return None


def _at_time(answer: str) -> str:
    text = lowered(answer)
    if re.match(
        r"(?:in|on|at|during|after|before|since|from|by|until|around|about|between|when|while|"
        r"as|every|each|last|next|this|yesterday|today|now|once|late|early|mid|shortly|just|"
        r"\w+ (?:years?|days?|weeks?|months?|hours?) (?:ago|later|after|before|earlier))\b",
        text,
        re.I,
    ):
        return re.sub(r"^(late|early|mid)\b", r"in \1", text)
    months = "|".join(lexicon.MONTHS)
    if re.search(rf"\b(?:{months})\.? \d{{1,2}}\b(?!\d)|\b\d{{1,2}}(?:st|nd|rd|th)? (?:{months})\b",
                 text) or re.match(rf"(?:{'|'.join(lexicon.WEEKDAYS)})\b", text):  # fmt: skip
        return f"on {text}"
    return f"in {text}"


def _at_place(answer: str) -> str:
    text = lowered(answer)
    if re.match(
        r"(?:in|on|at|near|under|over|inside|outside|behind|between|from|to|along|by|off|within|"
        r"around|throughout|across|next|above|below|beneath|beside|into|through|where|home|"
        r"upstairs|downstairs|abroad|everywhere|nowhere|there|here|north|south|east|west)\b",
        text,
        re.I,
    ):
        return text
    return f"in {text}"


def statement(question: str, answer: str, premise: str = "") -> str | None:
    """Return the statement that a question and an answer make together, or None."""
    question = cleaned(recased(question, premise))
    answer = re.sub(r"\s+([,.;:?!)'’]|n't\b|'s\b)", r"\1", answer.strip())
    answer = answer.strip(" .,;:") if not re.search(r"\b[A-Z]\.$", answer.strip()) else answer
    if not answer or not question or len(question.split()) > 32 or "?" in question:
        return None
    # Two questions in one.
    if re.search(r"\b(?:and|or) (?:who|what|when|where|why|how|which|does|did|is|are|was)\b",
                 question, re.I):  # fmt: skip
        return None
    if answer.count('"') % 2 or answer.count("(") != answer.count(")"):
        return None
    made = _plain(question, answer)
    if made is None:
        return None
    made = re.sub(r"\s+", " ", made).strip()
    if len(made.split()) < 3 or len(made.split()) > 60:
        return None
    # A repeated word shows that a rule went wrong.
    if re.search(r"\b(\w+) \1\b", made.lower()) and not re.search(
        r"\b(\w+) \1\b", f"{question} | {answer}".lower()
    ):
        return None
    return capital(made) + ("" if made[-1] in ".!" else ".")


def _clause(auxiliary: str, rest: list[str]) -> str | None:
    """Return "was + X built + rest" as "X was built rest", "did + X build" as "X built"."""
    if not rest:
        return None
    if auxiliary in _DO:
        place = _subject_verb(rest)
        if place is None:
            return None
        verb = inflected(rest[place].lower(), auxiliary)
        return " ".join([*rest[:place], verb, *rest[place + 1 :]])
    place = _predicate(auxiliary, rest)
    if place is None:
        return None
    return " ".join([*rest[:place], auxiliary, *rest[place:]])


def _predicate(auxiliary: str, rest: list[str]) -> int | None:
    """Return the start of the predicate in "SUBJECT PREDICATE" after a fronted auxiliary."""
    pronouns = {"he", "she", "it", "they", "we", "you", "i", "there"}
    if rest[0].lower() in pronouns and len(rest) > 1 and rest[1].lower() not in _PREPOSITIONS:
        return 1
    if auxiliary in _MODAL:
        return _subject_verb(rest) or (rest.index("be") if "be" in rest[1:] else None)
    if auxiliary in _HAVE:
        for place in range(1, len(rest)):
            word = rest[place].lower()
            if (
                (is_participle(word) or word in {"had", "been"})
                and rest[place][0].islower()
                and rest[place - 1].lower() not in _DETERMINERS | _PREPOSITIONS
            ):
                return place
        return None
    return _subject_participle(rest)


def _plain(question: str, answer: str) -> str | None:
    tokens = question.split()
    head = tokens[0].lower()
    if len(tokens) < 3:
        return None
    if head == "who" and re.fullmatch(r"[\d,. ]+", answer):
        return None
    if head == "what" and tokens[1].lower() in {"happened", "happens"}:
        return None
    if head in {"who", "what"} and tokens[1].lower() in _AUX:
        return _who_what(tokens[1].lower(), tokens[2:], answer)
    if head == "what" and _finite(tokens[1]) and tokens[1].lower() not in _NOUNS_TOO:
        if tokens[1].endswith("s") and tokens[2].lower() in _AUX | _PREPOSITIONS:
            return None  # "What results are ...": a noun
        return f"{answer} {' '.join(tokens[1:])}"
    if head == "who":
        return f"{answer} {' '.join(tokens[1:])}" if _finite(tokens[1]) else None
    if head in {"when", "where"} and tokens[1].lower() in _AUX:
        phrase = _at_time(answer) if head == "when" else _at_place(answer)
        auxiliary, rest = tokens[1].lower(), tokens[2:]
        clause = _clause(auxiliary, rest)
        if clause:
            return f"{clause} {phrase}"
        if auxiliary in _BE and len(rest) <= 8 and not _verbish(rest):
            return f"{' '.join(rest)} {auxiliary} {phrase}"
        return None
    if head in {"what", "which"}:
        return _which(tokens, answer)
    return None


def _finite(word: str) -> bool:
    return (
        word in lexicon.BASE_OF_PAST
        or word in lexicon.BASE_OF_THIRD
        or word in _IRREGULAR.values()
        or (word.endswith("ed") and len(word) > 4)
        or (word.endswith("s") and word[:-1] in _BASES)
        or (word.endswith("es") and word[:-2] in _BASES)
    )


def _verbish(tokens: list[str]) -> bool:
    return any(
        is_participle(token) or token.endswith("ing") or token in _BASES for token in tokens[1:]
    )


_STRANDED = frozenset("of for in on to with by at from about as after against into like".split())


def _who_what(auxiliary: str, rest: list[str], answer: str) -> str | None:
    text = lowered(answer)
    if not rest:
        return None
    first = rest[0].lower()
    if first == "done" or "doing" in rest:
        return None
    if auxiliary in _DO:
        place = _subject_verb(rest)
        if place is None or rest[place].lower() in {"do", "happen", "be"}:
            return None
        verb = inflected(rest[place].lower(), auxiliary)
        before, after = " ".join([*rest[:place], verb]), rest[place + 1 :]
        if not after:
            return f"{before} {text}"
        if after[-1].lower() in _STRANDED:
            return f"{before} {' '.join(after)} {text}"
        if after[0].lower() == "to" and len(after) > 1:
            return None
        if after[0].lower() in _PREPOSITIONS - {"of"} or after[0].endswith("ly"):
            return f"{before} {text} {' '.join(after)}"
        return None
    if auxiliary in _MODAL | _HAVE:
        follows_verb = first in _BASES or first in {"be", "not"} or is_participle(first)
        if first in {"been", "be", "had"} or (follows_verb and first not in _DETERMINERS):
            return f"{answer} {auxiliary} {' '.join(rest)}"
        return None
    # "Who was elected in 1990?": the question word is the subject.
    noun_follows = len(rest) > 1 and re.fullmatch(r"[a-z]+s", rest[1]) is not None
    subject = is_participle(first) or (first.endswith("ing") and not noun_follows)
    if len(rest) > 1 and rest[0][0].islower() and first not in _DETERMINERS:
        # "What was badly damaged ...", "What is slow to ...", "What is more common ...".
        second = rest[1].lower()
        subject |= first.endswith("ly") and (is_participle(second) or second in _ADJECTIVES)
        subject |= second in {"to", "than"} or first in {"more", "less", "most", "least", "not"}
    if (subject or first in _STRANDED) and len(rest) > 1:
        return f"{answer} {auxiliary} {' '.join(rest)}"
    if first in {"not", "also", "still", "responsible", "able", "likely", "there"}:
        return None
    ending = [token.lower() for token in rest[-2:]]
    # "What is X called?", "What was X known for?"
    if ending[-1] in {"called", "named", "titled", "nicknamed", "dubbed"} and len(rest) > 1:
        return f"{' '.join(rest[:-1])} {auxiliary} {rest[-1]} {text}"
    if len(rest) > 2 and ending[1] in _STRANDED:
        if is_participle(ending[0]) or ending[0] in {"famous", "responsible", "similar", "part"}:
            return f"{' '.join(rest[:-2])} {auxiliary} {' '.join(rest[-2:])} {text}"
        return None
    if rest[-1].lower() in _STRANDED or rest[-1].lower() in {"doing", "like", "do"}:
        return None
    going = next((i for i, t in enumerate(rest) if i and re.fullmatch(r"[a-z]{2,}ing", t)), None)
    if going is not None and rest[going - 1].lower() not in _PREPOSITIONS | _DETERMINERS:
        return None
    if "interested" in rest or rest[-1].lower() in _ADJECTIVES - {"same", "most"}:
        return None
    place = _subject_participle(rest)
    if place is not None and " ".join(rest[:2]).lower() not in {"the name", "the names"}:
        named = all(token[:1].isupper() for token in rest[:place])
        if named and place + 1 < len(rest):
            return None
    if len(rest) <= 16:
        return f"{' '.join(rest)} {auxiliary} {text}"
    return None


def _which(tokens: list[str], answer: str) -> str | None:
    """Answer "Which team won the cup?", "What year did X open?", "What city is X in?"."""
    if tokens[1].lower() == "of":
        return None
    for place in range(2, min(len(tokens), 9)):
        word = tokens[place].lower()
        noun = [token.lower() for token in tokens[1:place]]
        if word in _AUX:
            rest = tokens[place + 1 :]
            if not rest or noun[0] in _VAGUE_NOUNS | {"else", "other"}:
                return None
            first = rest[0].lower()
            stranded = rest[-1].lower() in _STRANDED
            subject = word in _BE | _HAVE | _MODAL and (
                is_participle(first)
                or first.endswith("ing")
                or (word in _MODAL and first in _BASES)
                or first in {"been", "also", "not", "located", "responsible", "in", "on", "at"}
                or (word in _BE and first in {"exempt", "able", "known", "similar", "part"})
            )
            if subject:
                return f"{answer} {' '.join(tokens[place:])}"
            if noun[-1] in _TIME_NOUNS and not stranded:
                clause = _clause(word, rest)
                return f"{clause} {_at_time(answer)}" if clause else None
            return _who_what(word, rest, answer) if word in _DO else None
        plural = word in _BASES - _NOUNS_TOO and tokens[place - 1].endswith("s")
        following = tokens[place + 1].lower() if place + 1 < len(tokens) else ""
        if following in _AUX:
            continue  # "Which needs did ...": still the noun
        if (plural or _finite(tokens[place])) and tokens[place][0].islower():
            if noun[0] in _VAGUE_NOUNS:
                return None
            return f"{answer} {' '.join(tokens[place:])}"
    return None


_BEGINS_PREDICATE = frozenset("in on at from for under near like with".split())
_NOT = {
    "will": "will not", "would": "would not", "can": "cannot", "could": "could not",
    "should": "should not", "must": "must not", "may": "may not", "might": "might not",
}  # fmt: skip


def yes_no(question: str, premise: str = "") -> tuple[str, str] | None:
    """Return the statements that "yes" and "no" make of a yes/no question, or None."""
    text = cleaned(recased(question, premise))
    tokens = text.split()
    if len(tokens) < 3 or len(tokens) > 34:
        return None
    auxiliary, rest = tokens[0].lower(), tokens[1:]
    if auxiliary not in _AUX - {"'s"} or (re.search(r"\bor\b", question) and len(tokens) < 14):
        return None
    if auxiliary in _DO:
        place = _subject_verb(rest)
        if place is None:
            return None
        subject, verb, after = rest[:place], rest[place].lower(), rest[place + 1 :]
        yes = " ".join([*subject, inflected(verb, auxiliary), *after])
        no = " ".join([*subject, auxiliary, "not", verb, *after])
    else:
        place = _predicate(auxiliary, rest) if auxiliary not in _BE else _be_predicate(rest)
        if place is None:
            return None
        yes = " ".join([*rest[:place], auxiliary, *rest[place:]])
        no = " ".join([*rest[:place], _NOT.get(auxiliary, f"{auxiliary} not"), *rest[place:]])
    if re.search(r"\bnot\b|\bn't\b", " ".join(rest)):
        return None
    return capital(_positive(yes)) + ".", capital(no) + "."


def _positive(text: str) -> str:
    """Replace "any" and remove "ever", which belong to questions and negations."""
    text = re.sub(r"\bany\b", "some", text)
    text = re.sub(r"\banyone\b", "someone", text)
    return re.sub(r"\bever ", "", text)


def _be_predicate(rest: list[str]) -> int | None:
    first = rest[0].lower()
    if first in _PRONOUNS and first not in {"this", "that", "these", "those"}:
        return 1 if len(rest) > 1 else None
    fallback: int | None = None
    for place in range(2 if first in _DETERMINERS else 1, len(rest)):
        word, previous = rest[place].lower().strip(","), rest[place - 1].lower()
        if word in _PREPOSITIONS:
            if fallback is None and word in _BEGINS_PREDICATE:
                fallback = place
        elif word in _DETERMINERS:
            if previous not in _PREPOSITIONS:
                return place
        elif (
            rest[place][0].islower()
            and previous not in _PREPOSITIONS | _DETERMINERS
            and (is_participle(word) or word in _ADJECTIVES or word.endswith("ing"))
        ):
            return place
    return fallback if fallback is not None and fallback + 1 < len(rest) else None


_QUOTED = (
    'The answer to the question "{question}?" is {answer}.',
    'Asked "{question}?", the text answers: {answer}.',
    'To the question "{question}?" the correct answer is "{answer}".',
    "Question: {question}? Answer: {answer}.",
)


def quoted(question: str, answer: str, rng: random.Random) -> str:
    """Return the question and the answer in one sentence, if no rule is sure."""
    text = cleaned(question)
    return rng.choice(_QUOTED).format(question=capital(text), answer=answer.strip(" .\"'"))
