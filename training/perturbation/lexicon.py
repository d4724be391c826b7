"""Word lists and simple English morphology for the edits; the lists are our own."""

from __future__ import annotations

import re

MONTHS = (
    "January February March April May June July August September October November December"
).split()
MONTH_DAYS = dict(zip(MONTHS, (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
SEASONS = "spring summer autumn winter".split()
NUMBER_WORDS = (
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty "
    "fifty sixty seventy eighty ninety"
).split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()

COUNTRIES = (
    "France Germany Spain Italy Portugal Greece Turkey Egypt Nigeria Kenya Ethiopia Ghana Morocco "
    "India Pakistan China Japan Vietnam Thailand Indonesia Malaysia Australia Canada Mexico Brazil "
    "Argentina Chile Peru Colombia Ukraine Russia Poland Sweden Norway Denmark Finland Ireland "
    "Scotland Wales England Syria Iraq Iran Israel Lebanon Afghanistan Yemen Libya Somalia Sudan"
).split()
NATIONALITIES = (
    "French German Spanish Italian Portuguese Greek Turkish Egyptian Nigerian Kenyan Ethiopian "
    "Indian Pakistani Chinese Japanese Vietnamese Thai Indonesian Australian Canadian Mexican "
    "Brazilian Argentine Chilean Colombian Ukrainian Russian Polish Swedish Norwegian Danish "
    "Finnish Irish Scottish Welsh English British American Syrian Iraqi Iranian Israeli Lebanese "
    "Dutch Belgian Swiss Austrian European African Asian"
).split()

TITLES = (
    "Mr Mrs Ms Dr Sir Lady Lord President Minister Senator Judge Professor Captain Sergeant "
    "Detective Inspector Sheriff Coach Governor Mayor Prince Princess King Queen Pope Bishop"
).split()
OFFICES = (
    "Chief Executive Officer Director Chairman Chairwoman Secretary Prime Foreign Former Vice "
    "Deputy General Manager Spokesman Spokeswoman Strategy Financial Operating Justice Interior"
).split()
ORGANISATION_WORDS = (
    "University College School Council Court Party Police Department Ministry Agency Association "
    "Committee Commission Company Corporation Inc Ltd Group Bank Club United FC Union Institute "
    "Hospital Trust Foundation Army Navy Force Church Federation League Airlines Airways Society "
    "Service Centre Center Office Museum Board Fund Network Authority"
).split()
NOT_NAMES = frozenset(
    (
        "The A An This That These Those There Then They He She It We You I His Her Its Their "
        "Our My Your In On At By For From With Without After Before During Since Until While "
        "When Where Why How What Which Who Whose And But Or Nor So Yet If Although Though "
        "Because However Also Many Most Some Several All Every Each Both Few No Not Now Today "
        "Tomorrow Yesterday As Of To Into Over Under Between About Against Despite According "
        "Following Meanwhile Moreover Here More Less Only One Two Three Four Five Six Seven "
        "Eight Nine Ten Such Other Another Police Officials Researchers Scientists Doctors "
        "Experts Overall Results Patients Is Are Was Were Has Have Had Do Does Did Will Would "
        "Can Could Should May Might Must Yes Please Just Still Even Once Okay Ok Oh Well Yeah "
        "Yep Thanks Thank Hi Hey Hello Sure Great Good God Unfortunately Maybe Sorry Cool Nice "
        "Wow Haha Lol Last Updated Merry Happy Christmas Scroll Media Click Read Image Getty "
        "Images Video Photo"
    ).split()
)

SPEECH_VERBS = (
    "said says told added claimed announced argued insisted warned confirmed explained revealed "
    "stated admitted denied wrote noted suggested tweeted reported asked believes thinks"
).split()
SPEAKERS = (
    "police officials prosecutors doctors witnesses researchers campaigners lawyers residents "
    "neighbours investigators ministers organisers teachers scientists analysts critics"
).split()
# With one of these between two names, exchanging the names does not change the meaning.
SYMMETRIC = frozenset(
    "and or with met married divorced between versus vs meets meet resembles equals facing "
    "drew borders near alongside each wish including while face faces faced".split()
)

REGULAR_VERBS = (
    "accept accuse achieve act add admit adopt agree aim allow announce appeal appear apply "
    "appoint approve argue arrest arrive ask attack attempt attend attract avoid award ban base "
    "battle beg believe belong blame block call cancel cause celebrate change charge chase check "
    "claim clear close collapse collect commit compare complain complete concern conclude confess "
    "confirm consider contact contain continue contribute control convert convict cover crash "
    "create criticise cross damage date deal decide declare decline defend delay deliver demand "
    "demonstrate deny describe deserve design destroy develop die direct disappear discover "
    "discuss dismiss donate double drag drop earn elect employ enable encourage end endorse enjoy "
    "enter escape establish examine exceed exist expand expect explain explode express face fail "
    "favour fear feature fill finish fire fix follow force form found gain grant handle happen "
    "head help hire hope host hunt identify ignore implicate improve include increase indicate "
    "influence inform injure insist inspire introduce invest investigate invite issue join judge "
    "jump kick kill knock land last launch learn like limit link list live locate look love "
    "maintain manage mark marry match mention miss move murder name need note obtain offer open "
    "operate oppose order organise own pass perform persuade place plan play plead pledge point "
    "post practise praise predict prefer prepare present prevent produce promise promote propose "
    "protect protest prove publish pull punish purchase push qualify question quote raise rank "
    "reach realise recall receive recommend record recover recruit reduce refer reflect refuse "
    "reject relate release rely remain remove repeat replace reply report represent request "
    "require rescue research reserve resign resolve respond rest restore result resume retain "
    "retire return reveal review rob rule save score search secure seem serve settle shape share "
    "sign slam smash spark start state stay stop struggle study succeed suffer suggest supply "
    "support suppose surprise survive suspect suspend talk target test thank threaten tie touch "
    "trace train transfer travel treat trigger trust try turn urge use value view visit vote wait "
    "walk want warn wash watch welcome win wish witness wonder work worry"
).split()
IRREGULAR_PASTS = dict(
    pair.split(":")
    for pair in (
        "begin:began become:became break:broke bring:brought build:built buy:bought catch:caught "
        "choose:chose come:came do:did draw:drew drive:drove eat:ate fall:fell feel:felt "
        "fight:fought find:found fly:flew forget:forgot get:got give:gave go:went grow:grew "
        "hear:heard hide:hid hold:held keep:kept know:knew lead:led leave:left lend:lent lose:lost "
        "make:made mean:meant meet:met pay:paid ride:rode rise:rose run:ran say:said see:saw "
        "sell:sold send:sent shoot:shot show:showed sing:sang sink:sank sleep:slept speak:spoke "
        "spend:spent stand:stood steal:stole strike:struck swim:swam take:took teach:taught "
        "tell:told think:thought throw:threw understand:understood wear:wore win:won write:wrote "
        "withdraw:withdrew deal:dealt"
    ).split()
)
DOUBLING = frozenset(
    "admit ban beg commit control drag drop plan refer rob slam stop transfer".split()
)


def past(verb: str) -> str:
    """The simple past of a verb.

    verb: its base form.
    """
    if verb in IRREGULAR_PASTS:
        return IRREGULAR_PASTS[verb]
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return verb + (verb[-1] if verb in DOUBLING else "") + "ed"


def third_person(verb: str) -> str:
    """The third person singular of a verb.

    verb: its base form.
    """
    if re.search(r"(?:s|x|z|ch|sh|o)$", verb):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"


def gerund(verb: str) -> str:
    """The -ing form of a verb.

    verb: its base form.
    """
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "ye", "oe")):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if verb in DOUBLING | {"begin", "win", "run", "get"} else "") + "ing"


VERBS = tuple(dict.fromkeys([*REGULAR_VERBS, *IRREGULAR_PASTS]))
BASE_OF_PAST = {past(verb): verb for verb in VERBS}
BASE_OF_THIRD = {third_person(verb): verb for verb in VERBS}

UNITS = (
    "seconds minutes hours days weeks months years decades",
    "second minute hour day week month year decade",
    "metres kilometres miles feet inches",
    "meters kilometers miles feet inches",
    "km miles",
    "kg pounds tonnes grams",
    "kilograms pounds tons grams",
    "dollars pounds euros yen",
    "thousand million billion trillion",
    "mg g kg",
    "litres gallons",
    "mph km/h",
    "acres hectares",
)
CURRENCIES = "$£€"

# Both ways with ":", only from left to right with ">".
COMPARISONS = (
    "more than:less than|over:under|above:below|before:after|higher:lower|larger:smaller|"
    "bigger:smaller|older:younger|longer:shorter|faster:slower|earlier:later|taller:shorter|"
    "heavier:lighter|richer:poorer|stronger:weaker|better:worse|best:worst|highest:lowest|"
    "largest:smallest|biggest:smallest|oldest:youngest|longest:shortest|fastest:slowest|"
    "latest:earliest|at least:at most|maximum:minimum|fewer than>more than|greater than>less than|"
    "more likely:less likely|cheaper:more expensive|closer to:further from|up to>at least|"
    "as many as>fewer than|the most:the least|more often:less often|superior to:inferior to|"
    "better than:worse than|nearly:well over|almost:well over|exceeding>below"
)

ANTONYM_VERBS = (
    "increase:decrease accept:reject agree:refuse allow:forbid approve:reject arrive:leave "
    "attack:defend begin:end buy:sell confirm:deny create:destroy encourage:discourage "
    "enter:leave fail:succeed gain:lose improve:worsen include:exclude join:leave like:dislike "
    "love:hate open:close oppose:support praise:criticise promote:prevent raise:lower "
    "remember:forget remove:add reveal:hide rise:fall save:waste strengthen:weaken "
    "start:finish win:lose welcome:condemn borrow:lend build:demolish convict:acquit "
    "expand:shrink hire:dismiss admit:deny appear:disappear attract:repel benefit:harm "
    "arrest:release lock:unlock push:pull accelerate:delay enable:prevent"
)
ANTONYM_WORDS = (
    "good:bad high:low big:small large:small long:short old:new old:young early:late hot:cold "
    "fast:slow strong:weak rich:poor safe:dangerous true:false legal:illegal public:private "
    "male:female man:woman men:women boy:girl boys:girls husband:wife father:mother son:daughter "
    "brother:sister uncle:aunt king:queen north:south east:west northern:southern "
    "eastern:western left:right inside:outside indoors:outdoors above:below up:down "
    "positive:negative possible:impossible likely:unlikely able:unable happy:sad "
    "healthy:ill common:rare popular:unpopular famous:unknown full:empty "
    "guilty:innocent alive:dead cheap:expensive easy:difficult simple:complex "
    "heavy:light deep:shallow wide:narrow thick:thin bright:dark dry:wet clean:dirty "
    "quiet:loud calm:violent successful:unsuccessful effective:ineffective "
    "significant:insignificant significantly:slightly accurate:inaccurate "
    "similar:different equal:unequal stable:unstable normal:abnormal permanent:temporary "
    "voluntary:compulsory domestic:foreign local:national urban:rural internal:external "
    "major:minor maximum:minimum winner:loser victory:defeat success:failure profit:loss "
    "profits:losses growth:decline rise:fall increase:decrease increases:decreases "
    "advantage:disadvantage benefit:harm benefits:harms supporter:opponent supporters:opponents "
    "ally:enemy allies:enemies teacher:student teachers:students employer:employee "
    "buyer:seller victim:attacker victims:attackers beginning:end morning:evening "
    "day:night summer:winter peace:war hope:fear love:hatred strength:weakness "
    "majority:minority presence:absence entrance:exit arrival:departure "
    "always:never often:rarely frequently:seldom usually:rarely quickly:slowly easily:hardly "
    "officially:unofficially together:separately forward:backward upstairs:downstairs "
    "ancient:modern optimistic:pessimistic generous:mean brave:cowardly careful:careless "
    "polite:rude honest:dishonest responsible:irresponsible visible:invisible "
    "unanimous:divided unanimously:narrowly severe:mild severely:mildly "
    "first-class:second-class upper:lower senior:junior married:unmarried "
    "single:married armed:unarmed known:unknown expected:unexpected safer:riskier "
    "beneficial:harmful protective:harmful associated:unassociated feasible:infeasible "
    "sufficient:insufficient adequate:inadequate appropriate:inappropriate "
    "reliable:unreliable useful:useless necessary:unnecessary superior:inferior "
    "acute:chronic benign:malignant"
)


def antonyms() -> dict[str, tuple[str, ...]]:
    """Each word form with its antonyms; verbs in all their forms."""
    opposites: dict[str, list[str]] = {}

    def pair(one: str, other: str) -> None:
        for here, there in ((one, other), (other, one)):
            known = opposites.setdefault(here, [])
            if there not in known:
                known.append(there)

    for item in ANTONYM_WORDS.split():
        pair(*item.split(":"))
    for item in ANTONYM_VERBS.split():
        one, other = item.split(":")
        for form in (str, past, third_person, gerund):
            pair(form(one), form(other))
    return {word: tuple(others) for word, others in opposites.items()}


# The caller fills in the fields.
DETAILS = (
    "for the {ordinal} time this year",
    "in front of about {number} people",
    "after a dispute that had lasted {small} years",
    "despite strong opposition from local residents",
    "following a tip from an anonymous caller",
    "at a cost of about ${number},000",
    "as part of a plan first drawn up in {year}",
    "according to a report released on {day}",
    "with the support of at least {small} volunteers",
    "and received a standing ovation",
    "shortly before midnight on {day}",
    "which came as a surprise to experts",
    "although the decision may still be appealed",
    "after consulting a team of {small} lawyers",
    "while on holiday with relatives",
    "in the largest case of its kind in {small} decades",
    "and was later given an award for it",
    "because of a shortage of trained staff",
    "after an online petition gathered {number} signatures",
    "following {small} weeks of heavy rain",
    "as shown by a survey of {number} people",
    "which was broadcast live on television",
    "using money from a private donor",
    "in spite of a warning issued on {day}",
)
