"""Words with offsets, and English word lists."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import cache, lru_cache, wraps
from typing import NamedTuple, TypeVar

Found = TypeVar("Found")

# Vowel signs of Arabic, Indic and Thai letters, which are not letters themselves.
MARKS = (
    r"\u0300-\u036f\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
)
# Letters of scripts without spaces between words, and of Korean, whose words end in particles.
UNSPACED = r"\u0e01-\u0e4e\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff"
# Letters, digits, and the combining and invisible characters that occur inside words.
_IN_WORD = rf"[\w{MARKS}\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"
_SIGNS = "%‰$€£¥₹°<>=≠≤≥±×÷~≈&@^|✓✔✗✘❌✅👍👎"
WORD = re.compile(
    # a minus or plus sign that belongs to a number, or a sign with a meaning of its own
    rf"(?<![\w.])[-−+](?=\.?\d)|[{_SIGNS}]"
    rf"|\d+(?:[.,:/]\d+)+{_IN_WORD}*|{_IN_WORD}+(?:['’.\-–/]{_IN_WORD}+)*"
)
_COUNTED = re.compile(rf"[{UNSPACED}]{{2}}|[^\s{UNSPACED}]+")
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
    "seldom few little lack lacks lacked lacking nicht kein keine keinen nie ohne pas jamais "
    "ne non sans aucun aucune nunca jamás sin ningún ninguna não nem nunca mai nessun senza".split()
)
# Words that change the meaning of others: quantity, condition, hearsay, plan, failure, fiction.
_SCOPE = frozenset(
    "or either all every each any everyone everybody everything always both most many some several "
    "only just merely solely even almost nearly about around approximately roughly half part "
    "partly mainly mostly less fewer more than least best worst first last second third fourth "
    "fifth next sole main single exclusively respectively together total combined average per "
    "between too enough so such same another other instead rather if unless whether provided "
    "suppose otherwise except excluding barring lest until till would-be hypothetical according "
    "allegedly allege reportedly report supposedly purportedly purported apparently seemingly "
    "presumably possibly perhaps maybe probably likely unlikely potentially potential possible "
    "impossible say said tell told claim state announce argue assert believe think thought suggest "
    "deny doubt admit insist note add explain write wrote tweet estimate predict forecast expect "
    "accuse confirm speculate rumor rumour seem appear consider regard assume conclude warn imply "
    "mention describe ask question wonder dispute testify source opinion view critic theory "
    "plan want wish hope try attempt fail failure refuse intend aim seek sought promise threaten "
    "propose agree offer order urge fear avoid prevent stop cancel forget forgot pretend decline "
    "miss need future reject ban cease halt false falsely untrue wrong wrongly incorrect "
    "incorrectly myth lie hoax fake error mistake mistaken mistakenly misconception fiction "
    "fictional novel film movie book story play episode dream imagine imaginary joke satire former "
    "ex formerly previously once used".split()
)
_ENDINGS = ("s", "es", "d", "ed", "ing", "led", "ned", "ted", "ped", "ning", "ping", "ting")
_FINITE = frozenset(
    "became began brought built bought came chose died drew drove fell felt fought found fled flew "
    "gave got grew held hit hurt kept knew laid led left lost made meant met ran rose sang sat saw "
    "sent shot sold spent spoke stood struck taught took threw understood went won wore becomes "
    "begins belongs brings builds buys comes consists contains continues dies gets gives goes "
    "grows includes involves joins keeps kills knows lives loses makes occurs opens owns produces "
    "provides receives remains sells serves sits sees speaks takes wins".split()
)
# Past forms without "-ed"; together with the above, nearly all of them.
_IRREGULAR = frozenset(
    "arose ate awoke beat beheld bent bet bid bit bled blew bore bound bred broke burnt burst cast "
    "caught clung cost crept cut dealt drank dreamt dug dwelt fed flung forbade forgave forgot "
    "forsook froze ground hid hung knelt lay leapt learnt lent let lit mistook overcame overtook "
    "overthrew paid put quit read rode rang rebuilt resold sank shook shone shrank shut slain slew "
    "slept slid slit smelt sought sped spilt spat split spoilt sprang spread stank stole strode "
    "stuck stung strove swam swept swore swung thrust told tore trod undertook underwent upheld "
    "upset wed wept withdrew withstood woke wound wove wrote wrung said thought".split()
)
# Stems: "-s", "-es" and "-ies" may follow.
_LOOSE_VERBS = frozenset(
    "accuse acquire add admit agree aim allege announce appear argue arrive ask assert assume "
    "attempt avoid ban beat become begin believe belong break bring build buy call cancel cause "
    "cease change claim close come conclude confirm consider contain continue cost create cut "
    "damage decline defeat deliver deny describe destroy die dispute doubt dream earn eat employ "
    "end estimate expect explain fail fall fear fight find fire fly forecast forget form give go "
    "grow halt happen hate have help hire hold hope hurt imagine imply include increase insist "
    "intend join keep kill know launch lead leave let lie live lose love make mean meet mention "
    "miss move need note offer open order own pay plan play predict pretend prevent produce "
    "promise propose provide question raise reach read receive refuse regard reject remain report "
    "resign return rise rule run say seek seem sell send serve show sit speak speculate spend "
    "stand start state stay steal stop sue suggest support take teach tell testify think threaten "
    "travel try turn tweet urge use visit want warn win wish wonder work write".split()
)
_PRESENT = frozenset("is are am has have do does be been being having".split())
_NOT_PAST = frozenset("hundred united indeed need exceed speed breed sacred naked wicked".split())
_ENGLISH = frozenset(
    "the and of to with for from by this that these those it its they their have has been which "
    "at who she he his her were are is was not but about into than there when where while".split()
)
# Function words of the major languages in Latin script that are not English words.
FOREIGN = frozenset(
    # French, Spanish, Portuguese, Italian
    "à un au ce cet sa ses ont mais le la les des du une est sont dans avec qui que pas sur "
    "cette ces aux été leur nous "
    "vous ils elle el los las una unos del por para como está fue muy más pero lo se su "
    " um uma das não em com mais foi ao pela pelo são il gli di che della delle nel nella "
    "sono più è alla dei degli anche et ou où"
    # German, Dutch, Danish, Swedish, Norwegian
    " der das den dem des ein eine einen einem einer und ist sind nicht mit von zu zum zur auf für "
    "im auch sich wird wurde wurden werden het een en op zijn niet voor ook dat aan maar det "
    "och att som är inte på av ett og ikke til jeg ble"
    # Polish, Czech, Turkish, Indonesian, Romanian, Hungarian, Finnish
    " jest nie się że są je byl byla ke ale bir bu için ile olarak yang di dan untuk "
    "dengan adalah dari și este cu pe az egy és hogy nem ja oli ei että".split()
)


def remembered(
    texts: int, longest: int = 4_000
) -> Callable[[Callable[[str], Found]], Callable[[str], Found]]:
    """Decorate a function of a text: keep what it found in the last short texts.

    Each turn of a conversation has all tool results before it as sources.
    """

    def decorate(function: Callable[[str], Found]) -> Callable[[str], Found]:
        kept = lru_cache(texts)(function)
        return wraps(kept)(lambda text: (kept if len(text) <= longest else function)(text))

    return decorate


# Decorates a function of a word, or of a part of a text between spaces.
remembered_words = remembered(1 << 15, longest=40)


class Word(NamedTuple):
    """A word of a text; `norm` is the form used for comparison."""

    norm: str
    start: int
    end: int
    capital: bool

    @property
    def numeric(self) -> bool:
        """True if it has a digit."""
        return any(map(str.isdigit, self.norm))


def normalize(text: str) -> str:
    """Return one form for texts that look alike: case, ligatures, accents, invisible marks."""
    if text.isascii():
        return text.casefold()
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold().replace("’", "'")


@remembered(256, longest=1_000)
def words(text: str) -> tuple[Word, ...]:
    """Return the words of a text; "didn't" is "did" and "not", "Ann's" is "Ann" and "'s"."""
    return tuple(
        Word(norm, *match.span(), capital)
        for match in WORD.finditer(text)
        for norm, capital in forms(match[0])
    )


@remembered_words
def forms(word: str) -> tuple[tuple[str, bool], ...]:
    """Return the parts of a word of a text: the norm of each, and True if it has a capital."""
    norm = normalize(word).strip("-")
    if word in _SIGNS or word in "-−+":
        return (("-" if norm in ("", "−") else norm, False),)
    if norm in ("", "cannot"):
        return (("can", False), ("not", False)) if norm else ()
    capital = word[0].isupper() or word[0].istitle()
    ending = _ENDING.fullmatch(norm)
    if ending is None:
        return ((norm, capital),)
    stem, tail = ending.groups()
    if tail == "n't":
        stem, tail = _IRREGULAR_NOT.get(stem, stem), "not"
    return (stem, capital), (_EXPANDED.get(tail, tail), False)


def count_words(text: str) -> int:
    """Return the number of words; two letters are one where no spaces are."""
    return len(_COUNTED.findall(text))


def is_finite_verb(norm: str) -> bool:
    """Return True for a word that is certainly a finite verb."""
    return (
        norm in AUXILIARIES
        or norm in _FINITE
        or (norm.endswith("ed") and len(norm) > 4 and norm not in _NOT_PAST)
    )


def may_be_verb(norm: str) -> bool:
    """Return True for a possible verb; missing a verb is the worse mistake."""
    return (
        is_finite_verb(norm)
        or norm in _IRREGULAR
        or norm in _LOOSE_VERBS
        or (norm.endswith("es") and norm[:-2] in _LOOSE_VERBS)
        or (norm.endswith("s") and norm[:-1] in _LOOSE_VERBS)
        or (norm.endswith("ies") and norm[:-3] + "y" in _LOOSE_VERBS)
    )


def is_past_verb(norm: str) -> bool:
    """Return True for a finite verb that reports a past event, not a habit or a rule."""
    past = is_finite_verb(norm) and norm not in _PRESENT | MODALS
    return past and (norm == "was" or not norm.endswith("s"))


def may_be_past(norm: str) -> bool:
    """Return True for a possible past tense, with or without "-ed"."""
    return norm in _IRREGULAR or is_past_verb(norm)


def scope(norm: str) -> bool:
    """Return True for a word that changes the meaning of others: "only", "allegedly", "denied"."""
    if norm in NEGATIONS or norm in MODALS or norm.endswith("n't"):
        return True
    if norm.endswith("est") and len(norm) > 5:
        return True
    return any(form in _SCOPE for form in _stems(norm))


def _stems(norm: str) -> set[str]:
    found = {norm, re.sub(r"ie[sd]$|ying$", "y", norm), re.sub(r"ing$", "e", norm)}
    return found | {norm[: -len(end)] for end in _ENDINGS if norm.endswith(end)}


def is_foreign(*texts: str) -> bool:
    """Return True if the script or function words of texts are certainly not English.

    Names, code and mixed texts are English.
    """
    if is_foreign_script("".join(texts)):
        return True
    foreign, english, total = map(sum, zip((0, 0, 0), *map(_function_words, texts), strict=True))
    return foreign >= 2 and foreign > 3 * english and foreign * 8 >= total


def looks_english(text: str) -> bool | None:
    """Return True if the function words of a text are English, None if they may be."""
    foreign, english, total = _function_words(text)
    if is_foreign_script(text) or english <= foreign:
        return False
    return True if english >= 2 and english * 8 >= total else None


def is_foreign_script(text: str) -> bool:
    """Return True if most letters of a text are not Latin."""
    if text.isascii():
        return False
    letters = {char: count for char, count in Counter(text).items() if char.isalpha()}
    total = sum(letters.values())
    foreign = sum(count for char, count in letters.items() if not _is_latin(char))
    return total >= 4 and foreign * 2 > total


@remembered(1024)
def _function_words(text: str) -> tuple[int, int, int]:
    """Return the number of foreign and of English function words, and of all words."""
    kinds = Counter(map(_function_word, text.split()))
    # Capitalised words may be names ("Las Palmas"); they count only beside small ones.
    foreign = kinds["foreign"] + kinds["Foreign"] if kinds["foreign"] else 0
    return foreign, kinds["english"], sum(kinds.values())


@remembered_words
def _function_word(word: str) -> str:
    word = word.strip(".,;:!?()\"'«»“”")
    if word.casefold() in _ENGLISH:
        return "english"
    return "foreign" if word in FOREIGN else "Foreign" if word.lower() in FOREIGN else ""


@cache
def _is_latin(char: str) -> bool:
    # Mathematical letters and similar characters have no script.
    name = unicodedata.name(char, "LATIN")
    return name.startswith(("LATIN", "FULLWIDTH LATIN", "MATHEMATICAL", "MODIFIER"))
