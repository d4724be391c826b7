"""The views of a report: contents, escaping, the same passage everywhere."""

from __future__ import annotations

import base64
import copy
import dataclasses
import hashlib
import html as html_entities
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from halldetect import render
from halldetect.errors import MissingExtra, import_extra
from halldetect.reading.document import Span
from halldetect.render.html import SCRIPT, STYLES, WEASYPRINT
from halldetect.render.html_page import asset
from halldetect.render.markdown import escape
from halldetect.render.text_pieces import ClaimMark, claim_pieces, parts
from halldetect.report import Evidence, Status, Verdict, WrongWords
from halldetect.report.passages import Passages, shorten
from halldetect.report.phrases import STATE_SYMBOL, one_line, summary, visible
from tests.support import report_samples as samples
from tests.support.report_schema import FILE, written_schema

SAMPLES = pytest.mark.parametrize("build", samples.ALL.values(), ids=samples.ALL.keys())
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
RIDERS = "The Harbour Line carried 18,400 passengers on an average weekday"
HOSTILE_NAMES = ("[a](javascript:x)<img src=x>", "# 1. - | @someone https://evil.test")
NIGHT = "She noted that shift workers at the hospital had asked for a night tram"


@SAMPLES
def test_reports_fit_the_schema(build):
    schema = render.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(build().to_json()), schema)


def test_the_published_schema_is_derived():
    assert FILE.read_text(encoding="utf-8") == written_schema(), "run tests.support.report_schema"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.pop("cost"),
        lambda data: data.update(extra=1),
        lambda data: data.update(verdict="fine"),
        lambda data: data.update(score=1.5),
        lambda data: data.update(score=None),
        lambda data: data["claims"][0].update(status="true"),
        lambda data: data["claims"][0]["span"].update(start=-1),
        lambda data: data["cost"].update(pairs_judged=2.5),
    ],
)
def test_the_schema_refuses_other_data(spoil):
    data = json.loads(samples.town().to_json())
    spoil(data)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, render.json_schema())


def proved(status, proof):
    """The town report with one claim and this passage."""
    town = samples.town()
    start = samples.OPERATOR.index(proof)
    found = Evidence(proof, 1, Span(start, start + len(proof)))
    claim = dataclasses.replace(town.claims[2], status=status, proof=found)
    return dataclasses.replace(town, claims=(claim,))


def static_text(report):
    sheet = render.html(report).split('<main id="static"')[1]
    return " ".join("".join(Page(re.sub("<sup>.*?</sup>", "", sheet)).text).split())


def view_text(report):
    """The text of the interactive view, without what only a screen reader gets."""
    bare = re.sub(r'<span class="unseen">.*?</span>|<sup.*?</sup>', "", render.view(report))
    return " ".join("".join(Page(bare).text).split())


@pytest.mark.parametrize("status", [Status.SUPPORTED, Status.CONTRADICTED])
def test_every_view_shows_the_whole_proof(status):
    proof = "Punctuality stood at 93.1 per cent. Most delays came from the lift bridge"
    report = proved(status, proof)
    (claim,) = report.claims
    assert Passages(report).span(claim) == claim.proof.span
    marked = re.findall(r'<span class="passage use[^>]*>(.*?)<span', render.view(report), re.DOTALL)
    assert html_entities.unescape("".join(marked)) == proof
    plain = render.terminal(report, width=100, color=False)
    shown = [render.markdown(report), render.sarif(report), render.github(report), str(report)]
    if status is Status.SUPPORTED:  # the last three list failing claims only
        shown = shown[:1]
    for text in (*shown, " ".join(plain.split()), static_text(report)):
        assert proof in text


def test_an_unsettled_claim_shows_the_closest_sentence():
    report = proved(Status.UNSUPPORTED, samples.OPERATOR)
    passages = Passages(report)
    span = passages.span(report.claims[0])
    assert span.cut(samples.OPERATOR).startswith(RIDERS)
    assert "Harbour Line carried 18,400 passengers" in passages.show(1, report.claims[0], 60).quote


def test_a_table_row_is_quoted_with_its_headers():
    report = samples.formatted()
    quotes = [Passages(report).show(1, claim, 200).quote for claim in report.claims]
    assert quotes[0] == "Single: Price 28 crowns; Note valid for one hour."
    assert quotes[1] == "Bicycles need a *separate* ticket."


@SAMPLES
def test_default_views_mention_nothing_of_the_paper(build):
    if build is samples.hostile:
        return
    report = build()
    views = [render.terminal(report, color=False), render.markdown(report), str(report)]
    for text in (*views, static_text(report), view_text(report)):
        assert not re.search(r"\bFED\b|m = \d|P\(E\)|[Ss]kipped|[Ss]coring|[Gg]ranularit", text)


def test_a_paper_report_has_its_score():
    report = dataclasses.replace(samples.town(), fed_score=1.0)
    for text in (render.terminal(report), render.markdown(report), static_text(report)):
        assert "FED score of the paper: 1.00" in text


@settings(max_examples=40)
@given(st.text(max_size=150), st.text(max_size=40), st.integers(20, 60))
def test_shortening_keeps_to_its_limit(text, about, limit):
    short = shorten(text, about, limit)
    assert len(short) <= limit + 4
    flat = " ".join(text.split())
    assert short == flat or short.removeprefix("… ").removesuffix(" …") in flat


def test_shortening_keeps_the_words_that_matter():
    text = "far " * 100 + "the bridge opened 412 times " + "away " * 100
    assert "bridge opened 412 times" in shorten(text, "The bridge opened 400 times.", 60)


@settings(max_examples=60)
@given(
    st.integers(0, 40),
    st.lists(st.builds(Span, st.integers(0, 50), st.integers(0, 50)), max_size=8),
)
def test_pieces_tile_the_text(length, spans):
    marks = [ClaimMark(span, at, Status.SUPPORTED) for at, span in enumerate(spans)]
    end, ended = 0, []
    for piece in (piece for part in parts("x" * length, marks) for piece in part):
        start, end = end, end + len(piece.text)
        ended += [number for number, _, _ in piece.ending]
        covered = any(span.start <= start and end <= span.end for span in spans)
        assert covered == (piece.status is not None) or not piece.text
    assert end == length
    marked = [at for at, span in enumerate(spans) if span.start < min(span.end, length)]
    assert sorted(ended) == marked


@pytest.mark.parametrize(
    ("text", "words", "before"),
    [
        ("Sixteen boats cost six euros.", "six", "Sixteen boats cost "),
        ("It has 120 seats\nand 20 tables.", "20", "It has 120 seats\nand "),
        ("船は16時に出発します。", "16時", "船は"),
    ],
)
def test_whole_words_of_a_claim_are_marked_first(text, words, before):
    wrong = (WrongWords("number", words),)
    claim = dataclasses.replace(samples.town().claims[0], text=text, wrong=wrong)
    pieces = claim_pieces(claim)
    assert [piece.text for piece in pieces if piece.note] == [words]
    assert pieces[0].text == before


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_visible_text_is_inert_and_as_long(text):
    shown = visible(text)
    assert len(shown) == len(text)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    shown.encode("utf-8")


# Terminal


def test_terminal_lists_the_worst_claims_first():
    text = render.terminal(samples.town(), width=100, color=False)
    flat = " ".join(text.split())
    assert text.startswith("✗ HALLUCINATED")
    assert "score 0.93, threshold 0.50" in flat
    assert "2 of 7 claims are not backed by the source." in flat
    assert RIDERS in flat
    assert NIGHT in flat
    assert "the verifier stopped before this claim was judged" in flat
    order = [
        text.index(f"{STATE_SYMBOL[state]} {state}")
        for state in (Status.CONTRADICTED, Status.UNSUPPORTED, Status.UNCHECKABLE, Status.SUPPORTED)
    ]
    assert order == sorted(order)


@SAMPLES
@pytest.mark.parametrize("width", [20, 60, 100])
def test_terminal_stays_plain_and_within_its_width(build, width):
    text = render.terminal(build(), width=width, color=False)
    assert not CONTROLS.search(text)
    assert max(map(cell_len, text.splitlines())) <= max(width, 40)


@pytest.mark.parametrize(
    ("status", "verdict", "sentence"),
    [
        (Status.UNSUPPORTED, Verdict.HALLUCINATED, "The only claim is not backed by the source."),
        (Status.UNCHECKABLE, Verdict.UNCHECKABLE, "The only claim could not be checked, so"),
        (Status.SUPPORTED, Verdict.FAITHFUL, "The source backs the only claim."),
    ],
)
def test_one_claim_is_called_the_only_one(status, verdict, sentence):
    town = samples.town()
    claim = dataclasses.replace(town.claims[0], status=status)
    alone = dataclasses.replace(town, claims=(claim,), verdict=verdict, reason=None)
    assert summary(alone).startswith(sentence)


@pytest.mark.parametrize("text", ["one word after another " * 5000, "x" * 100_000])
def test_terminal_shortens_a_very_long_claim(text):
    town = samples.town()
    long = dataclasses.replace(town.claims[0], text=text)
    shown = render.terminal(dataclasses.replace(town, claims=(long,)), width=100, color=False)
    flat = "".join(shown.split())
    assert "".join(text[:200].split()) in flat
    assert "…" in flat
    assert len(shown) < 1500


def test_terminal_names_the_reason_of_an_uncheckable_report():
    text = render.terminal(samples.uncheckable(), width=80, color=False)
    assert text.startswith("– UNCHECKABLE")
    assert "the response holds no text" in text
    assert "score" not in text


class Screen:
    """Standard output that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


def test_terminal_colours_only_where_it_may(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    report = samples.town()
    assert "\x1b" not in render.terminal(report)  # the test's standard output is not a terminal
    monkeypatch.setattr(sys, "stdout", Screen())
    assert "\x1b[1;31m" in render.terminal(report)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in render.terminal(report)
    assert "\x1b" in render.terminal(report, color=True)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in render.terminal(report)


def test_colour_adds_nothing_but_colour():
    plain = render.terminal(samples.hostile(), width=90, color=False)
    coloured = render.terminal(samples.hostile(), width=90, color=True)
    bare = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


# Markdown


def parsed(text):
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def inline_types(tokens):
    return {child.type for token in tokens for child in token.children or ()}


def test_markdown_has_verdict_claims_and_passages():
    text = render.markdown(samples.town())
    assert text.startswith("# ✗ Hallucinated\n")
    assert "Score 0.93, at or over the threshold 0.50" in text
    assert f"> “{RIDERS}" in text
    tokens = parsed(text)
    rows = [token for token in tokens if token.type == "tr_open"]
    assert len(rows) == 1 + 7
    assert text.index("3 | ✗ contradicted") < text.index("1 | ✓ supported")


def test_hostile_text_stays_text_in_markdown():
    report = dataclasses.replace(samples.hostile(), document_names=HOSTILE_NAMES)
    text = render.markdown(report)
    tokens = parsed(text)
    assert inline_types(tokens) <= {
        "text",
        "text_special",
        "softbreak",
        "strong_open",
        "strong_close",
    }
    html_blocks = "".join(token.content for token in tokens if token.type == "html_block")
    allowed = {"details", "/details", "summary", "/summary"}
    assert set(re.findall(r"<([^>\s]*)", html_blocks)) <= allowed
    rows = [token for token in tokens if token.type == "tr_open"]
    assert len(rows) == 1 + len(samples.HOSTILE)
    outside = text.split("<details>")[0]
    assert not CONTROLS.search(outside)
    assert "://" not in outside.replace("\\://", "")
    assert not re.search(r"www\.|@\w|\bmailto:", outside)


@given(st.text(max_size=60))
def test_escaped_markdown_shows_the_text_itself(text):
    flat = one_line(text)
    tokens = parsed(f"“{escape(text)}”")
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    shown = "".join(child.content for child in tokens[1].children)
    assert shown.replace("\u200b", "") == f"“{flat}”".replace("\u200b", "")


# HTML


class Page(HTMLParser):
    """Elements, attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.raw = [], [], {}
        self.inside = None
        self.text = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag in ("script", "style"):
            kind = dict(attrs).get("type")
            self.inside = "data" if kind == "application/json" else tag

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside = None

    def handle_data(self, data):
        if self.inside:
            assert self.inside not in self.raw
            self.raw[self.inside] = data
        else:
            self.text.append(data)


@SAMPLES
def test_html_loads_nothing_runs_only_own_script(build):
    text = render.html(build())
    text.encode("utf-8")
    page = Page(text)
    assert set(page.tags).isdisjoint(
        {"img", "link", "iframe", "object", "base", "form", "svg/onload"}
    )
    assert page.tags.count("script") == 1
    assert page.tags.count("style") == 1
    metas = [value for tag, name, value in page.attributes if (tag, name) == ("meta", "content")]
    policy = next(value for value in metas if "default-src" in value)
    assert policy.startswith("default-src 'none'; ")
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    for _, name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "style", "srcset", "action", "background")
        assert name != "href" or value.startswith("#claim-")


def test_html_without_javascript_lists_everything():
    report = samples.town()
    static = static_text(report)
    assert "2 of 7 claims are not backed by the source." in static
    for claim in report.claims:
        assert claim.text in static
    assert RIDERS in static
    assert NIGHT in static
    for document in report.documents:
        for paragraph in document.split("\n\n"):
            assert " ".join(paragraph.split()) in static


def test_hostile_text_is_shown_unchanged_in_html():
    text = render.html(samples.hostile())
    page = Page(text)
    shown = " ".join("".join(page.text).split())
    for part in samples.HOSTILE:
        assert one_line(part) in shown
    body = text.split("</style>", 1)[1]
    assert html_entities.escape(samples.HOSTILE[1]) in body
    assert not re.search(r"window\.pwned[^<]*</script><script", body)


def test_scripts_never_turn_data_into_markup():
    risky = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|https?://"
    assert not re.search(risky, asset(SCRIPT))
    assert not re.search(r"url\(|@import|@font-face", "".join(map(asset, STYLES)))


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_contrast_meets_wcag_aa(theme):
    found = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", "".join(map(asset, STYLES)))
    color = {name: (light, dark)[theme] for name, light, dark in found}
    grounds = ["paper", "surface", "raised"]
    pairs = [(text, ground) for text in ("ink", "muted", "accent") for ground in grounds]
    pairs.append(("ink", "window"))
    for state in Status:
        pairs += [(str(state), ground) for ground in grounds]
        pairs += [("ink", f"{state}-wash"), ("ink", f"{state}-strong"), ("surface", str(state))]
    failing = {pair: contrast(*(color[name] for name in pair)) for pair in pairs}
    assert {pair: value for pair, value in failing.items() if value < 4.5} == {}
    # Lines that carry meaning by themselves need 3 to 1.
    for name in ("edge", *map(str, Status)):
        assert contrast(color[name], color["surface"]) >= 3


def test_rendering_changes_nothing():
    report = samples.town()
    before = copy.deepcopy(report)
    for view in (render.terminal, render.markdown, render.html, render.view):
        view(report)
    assert report == before
    assert dataclasses.asdict(report) == dataclasses.asdict(before)


@pytest.mark.parametrize("module", ["rich", "nupunkt", "jinja2", "pydantic"])
def test_importing_the_views_loads_nothing_heavy(module):
    code = f"import sys, halldetect.render; print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def record_of(**review):
    return render.CheckRecord(datetime(2026, 3, 4, 5, 6, tzinfo=UTC), "answer.md", **review)


def test_the_sheet_identifies_texts_and_date():
    report = dataclasses.replace(samples.town(), document_names=("a.txt", "b.txt", "c.txt"))
    text = render.html(report, record_of())
    for document in (*report.documents, report.response):
        assert hashlib.sha256(document.encode()).hexdigest() in text
    for part in ("4 March 2026, 05:06 UTC", "answer.md", "a.txt", "c.txt"):
        assert part in text
    assert report.provenance.verifier["digest"] in text


def test_the_sheet_has_the_decisions_of_a_reviewer():
    decisions = {3: "agree", 4: "disagree"}
    record = record_of(decisions=decisions, note="Ask <b>Ms Okafor</b>.", reviewer="ann")
    text = render.html(samples.town(), record)
    rows = dict(re.findall(r'<tr id="claim-(\d)".*?class="boxes">(.*?)</td>', text, re.DOTALL))
    ticked = {number: row.split("✓")[1] for number, row in rows.items() if "✓" in row}
    assert set(ticked) == {"3", "4"}
    assert ticked["3"].startswith("</span> agree")
    assert ticked["4"].startswith("</span> disagree")
    assert "Ask &lt;b&gt;Ms Okafor&lt;/b&gt;." in text
    assert "Name: ann" in text


def test_a_long_source_is_not_printed():
    report = samples.large(60_000, claims=5)
    assert "Too long to print" in static_text(report)
    assert report.documents[0][-200:] not in static_text(report)


@pytest.mark.parametrize("name", ["town", "formatted", "hostile", "uncheckable"])
@pytest.mark.slow  # needs the extra pdf
def test_a_pdf_has_at_most_four_pages(name):
    pdfium = pytest.importorskip("pypdfium2")
    try:
        import_extra(*WEASYPRINT)
    except MissingExtra:
        pytest.skip("the extra pdf is not installed")
    data = render.pdf(samples.ALL[name](), record_of())
    document = pdfium.PdfDocument(data)
    pages = [" ".join(page.get_textpage().get_text_range().split()) for page in document]
    assert 1 <= len(pages) <= 4
    assert "Page 1 of" in pages[0]
    assert "judgement" in pages[-1]
    if name == "town":
        assert "Contradicted" in pages[0]
        assert RIDERS in " ".join(pages)


def test_a_pdf_without_its_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(MissingExtra, match="pdf"):
        render.pdf(samples.town())
