"""Words with offsets, and English word lists."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# Letters, digits, and the combining and invisible characters that occur inside words.
_IN_WORD = r"[\w\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
_WORD = re.compile(
    # a minus or plus sign that belongs to a number, or a sign with a meaning of its own
    r"(?P<sign>(?<![\w.])[-−+](?=\.?\d)|[%‰$€£¥₹°<>=≠≤≥±×÷~≈&@^|✓✔✗✘❌✅👍👎])"
    rf"|(?P<word>\d+(?:[.,:/]\d+)+{_IN_WORD}*|{_IN_WORD}+(?:['’.\-–/]{_IN_WORD}+)*)"
)
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_ENDING = re.compile(r"(.+?)(n't|'(?:s|re|ve|ll|m|d)|(?<=s)')")
_EXPANDED = {"'re": "are", "'ve": "have", "'ll": "will", "'m": "am", "'": "'s"}
_IRREGULAR_NOT = {"ca": "can", "wo": "will", "sha": "shall"}

MONTHS = (
    "January February March April May June July August September October November December"
).split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
NUMBER_WORDS = frozenset(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred "
    "thousand million billion trillion dozen half twice double triple".split()
)
ARTICLES = frozenset({"a", "an", "the"})
COORDINATORS = frozenset({"and", "but"})
SUBJECTS = frozenset({"i", "you", "he", "she", "it", "we", "they"})
RELATIVES = frozenset({"who", "whom", "whose", "which", "that"})
_BE = frozenset({"be", "am", "is", "are", "was", "were", "been", "being"})
_HAVE_DO = frozenset({"have", "has", "had", "having", "do", "does", "did"})
MODALS = frozenset("may might can could would should must shall will ought cannot needn".split())
AUXILIARIES = _BE | _HAVE_DO | MODALS
PREPOSITIONS = frozenset(
    "in on at by with from during after before since because while when as for to of into over "
    "under about between among against through near despite following although though unlike "
    "like upon within toward towards across around behind beside besides off onto per than "
    "until till via amid along once where whereas inside outside above below throughout".split()
)
FUNCTION_WORDS = ARTICLES | COORDINATORS | RELATIVES | SUBJECTS | _BE | _HAVE_DO | PREPOSITIONS

NEGATIONS = frozenset(
    "not no never none nobody nothing nowhere neither nor without hardly barely scarcely rarely "
    "seldom few little lack lacks lacked lacking non nicht kein keine keinen nie ohne pas jamais "
    "ne non sans aucun aucune nunca jamás sin ningún ninguna não nem nunca mai nessun senza".split()
)
# Words that change the meaning of a part of the sentence.
_LOCAL_SCOPE = (
    NEGATIONS
    | MODALS
    | frozenset(
        "or either all every each any everyone everybody everything always both most many some "
        "several only just merely solely even almost nearly about around approximately roughly "
        "half part partly mainly mostly less fewer more than least best worst first last second "
        "third fourth fifth next sole main single exclusively respectively together total "
        "combined average per between too enough so such same another other others instead "
        "rather".split()
    )
)
# Words that make the sentence hearsay, a plan, a wish, a condition or a fiction.
_GLOBAL_SCOPE = frozenset(
    # conditions and exceptions
    "if unless whether provided assuming suppose supposing supposed otherwise except excluding "
    "barring lest until till would-be hypothetical hypothetically "
    # hearsay and belief
    "according allegedly alleged allege alleges reportedly reported reports report reporting "
    "supposedly purportedly purported apparently seemingly presumably possibly perhaps maybe "
    "probably likely unlikely potentially potential possible impossible "
    "say says said saying tell tells told claim claims claimed claiming state states stated "
    "stating announce announces announced argue argues argued arguing assert asserts asserted "
    "believe believes believed believing think thinks thought thinking suggest suggests suggested "
    "suggesting deny denies denied denying doubt doubts doubted admit admits admitted insist "
    "insists insisted note notes noted add added adds explain explained explains write writes "
    "wrote tweet tweeted tweets estimate estimated estimates predict predicts predicted forecast "
    "expect expects expected expecting accuse accuses accused accusing confirm confirms confirmed "
    "speculate speculated rumor rumors rumour rumours rumored rumoured seem seems seemed appear "
    "appears appeared consider considers considered regard regarded assume assumes assumed "
    "conclude concluded warn warns warned imply implies implied mention mentioned describe "
    "described describes ask asks asked asking question questioned wonder wondered dispute "
    "disputed disputes testify testified sources opinion view views critics theory theories "
    # plans, wishes, attempts, failures
    "plan plans planned planning want wants wanted wish wishes wished hope hopes hoped hoping try "
    "tries tried trying attempt attempts attempted attempting fail fails failed failing failure "
    "refuse refuses refused refusing intend intends intended aim aims aimed seek seeks sought "
    "promise promises promised threaten threatens threatened propose proposes proposed agree "
    "agreed offer offered order ordered urge urged fear fears feared avoid avoided avoids prevent "
    "prevents prevented stop stopped stops cancel canceled cancelled forget forgot pretend "
    "pretends pretended decline declined declines miss missed missing need needs needed future "
    "reject rejects rejected rejecting ban bans banned cease ceased halt halted "
    # falsity and fiction
    "false falsely untrue wrong wrongly incorrect incorrectly myth lie lies lied hoax fake error "
    "mistake mistaken mistakenly misconception fiction fictional novel film movie book story "
    "play episode dream dreams dreamed imagine imagines imagined imagining imaginary joke "
    "satire former ex formerly previously once used".split()
)
_FINITE = frozenset(
    "became began brought built bought came chose died drew drove earned fell felt fought found "
    "fled flew founded gave got grew held hit hurt kept killed knew laid led left lost made "
    "married meant met moved ran rose sang sat saw sent shot sold spent spoke stood struck taught "
    "took threw understood went won wore "
    "becomes begins belongs brings builds buys comes consists contains continues dies gets gives "
    "goes grows includes involves joins keeps kills knows lives loses makes occurs opens owns "
    "produces provides receives remains sells serves sits sees speaks takes wins".split()
)
# Past forms without "-ed"; together with the above, nearly all of them.
_IRREGULAR = frozenset(
    "arose ate awoke beat beheld bent bet bid bit bled blew bore bound bred broke burnt burst cast "
    "caught clung cost crept cut dealt did drank dreamt drove dug dwelt fed flung forbade forgave "
    "forgot forsook froze ground hid hung knelt lay leapt learnt lent let lit mistook mowed "
    "overcame overtook overthrew paid put quit read rode rang rebuilt resold sank sawed sewed "
    "shook shone showed shrank shut slain slew slept slid slit smelt sought sped spilt spat split "
    "spoilt sprang spread stank stole strode stuck stung strove swam swept swore swung thrust told "
    "tore trod undertook underwent upheld upset wed wept withdrew withstood woke wound wove wrote "
    "wrung said thought".split()
)
_LOOSE_VERBS = frozenset(
    "acquire agree announce arrive ask beat become begin belong break bring build buy call cause "
    "change close come contain continue cost create cut damage defeat deliver deny destroy die "
    "earn eat employ end fall fight find fire fly form give go grow happen hate have help hire "
    "hold hurt include increase join keep kill know launch lead leave let live lose love make mean "
    "meet move need offer open own pay play produce provide raise reach read receive remain resign "
    "return rise rule run sell send serve show sit speak spend stand start stay steal stop sue "
    "support take teach tell think travel turn use visit want win work write".split()
)
_PRESENT = frozenset("is are am has have do does be been being having".split())
# Signs of another language, for which the lists above do not apply.
FOREIGN = frozenset(
    "la le les der das dem den el los las une ein eine einen il lo und et que qui est sont ist "
    "sind war wurde hat fue era foi een het och é è y des du dans avec für auf mit nel della "
    "não nicht pas".split()
)
_NOT_PAST = frozenset("hundred united indeed need exceed speed breed sacred naked wicked".split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text.

    Attributes:
        norm: The form used for comparison.
        start, end: Its place.
        capital: True if it starts with a capital letter.
    """

    norm: str
    start: int
    end: int
    capital: bool

    @property
    def numeric(self) -> bool:
        """True if it has a digit."""
        return any(char.isdigit() for char in self.norm)


def normalize(text: str) -> str:
    """Return one form for texts that look alike: case, ligatures, accents, invisible marks."""
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold().replace("’", "'")


def words(text: str) -> list[Word]:
    """Return the words of a text; "didn't" is "did" and "not", "Ann's" is "Ann" and "'s"."""
    result: list[Word] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        norm = normalize(match.group()).strip("-")
        if match["sign"]:
            result.append(Word("-" if norm in ("", "−") else norm, start, end, False))
            continue
        if not norm:
            continue
        capital = text[start].isupper() or text[start].istitle()
        if norm == "cannot":
            result += [Word("can", start, end, False), Word("not", start, end, False)]
            continue
        ending = _ENDING.fullmatch(norm)
        if ending is None:
            result.append(Word(norm, start, end, capital))
            continue
        stem, tail = ending.groups()
        if tail == "n't":
            stem, tail = _IRREGULAR_NOT.get(stem, stem), "not"
        result.append(Word(stem, start, end, capital))
        result.append(Word(_EXPANDED.get(tail, tail), start, end, False))
    return result


def same_word(left: str, right: str) -> bool:
    """Return True for words that are equal or differ only in number (dog/dogs, was/were)."""
    if left == right:
        return True
    if left[0] != right[0] and left not in _BE:
        return False
    short, long = sorted((left, right), key=len)
    if (short, long) in {("is", "are"), ("was", "were"), ("has", "have"), ("do", "does")}:
        return True
    if len(short) < 4 or not (short.isalpha() and long.isalpha()) or scope(left) or scope(right):
        return False
    return long in (short + "s", short + "es") or (
        short.endswith("y") and long == short[:-1] + "ies"
    )


def is_finite_verb(norm: str) -> bool:
    """Return True for a word that is certainly a finite verb."""
    return (
        norm in AUXILIARIES
        or norm in _FINITE
        or (norm.endswith("ed") and len(norm) > 4 and norm not in _NOT_PAST)
    )


def is_past_verb(norm: str) -> bool:
    """Return True for a finite verb that reports a past event, not a habit or a rule."""
    not_present = is_finite_verb(norm) and norm not in _PRESENT and norm not in MODALS
    return not_present and (norm == "was" or not norm.endswith("s"))


def may_be_verb(norm: str) -> bool:
    """Return True for a possible verb; missing a verb is the worse mistake."""
    return (
        is_finite_verb(norm)
        or norm in _IRREGULAR
        or norm in _LOOSE_VERBS
        or norm in _GLOBAL_SCOPE
        or (norm.endswith("es") and norm[:-2] in _LOOSE_VERBS)
        or (norm.endswith("s") and norm[:-1] in _LOOSE_VERBS)
        or (norm.endswith("ies") and norm[:-3] + "y" in _LOOSE_VERBS)
    )


def may_be_past(norm: str) -> bool:
    """Return True for a possible past tense, with or without "-ed"."""
    return norm in _IRREGULAR or is_past_verb(norm)


def scope(norm: str) -> str | None:
    """Return the scope of a word: "sentence", "part" of the sentence, or None."""
    if norm in _GLOBAL_SCOPE:
        return "sentence"
    if norm in _LOCAL_SCOPE or (norm.endswith("est") and len(norm) > 5) or norm.endswith("n't"):
        return "part"
    return None
