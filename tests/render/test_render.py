"""The views of a report: what they must show, and what they must never do."""

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
from html.parser import HTMLParser
from importlib import resources

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from halldetect import render
from halldetect.reading.document import Span
from halldetect.render.html import SCRIPTS, STYLES
from halldetect.render.html_page import asset
from halldetect.render.markdown import escape
from halldetect.render.passages import Passages, segments, shorten
from halldetect.render.phrases import STATE_SYMBOL, one_line, summary, visible
from halldetect.render.schema import published
from halldetect.report import Report, Status, Verdict
from tests.support import report_samples as samples

SAMPLES = pytest.mark.parametrize("build", samples.ALL.values(), ids=samples.ALL.keys())
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
RIDERS = "The Harbour Line carried 18,400 passengers on an average weekday"
NIGHT = "She noted that shift workers at the hospital had asked for a night tram"


# JSON Schema


@SAMPLES
def test_every_report_fits_the_schema(build):
    schema = render.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(build().to_json()), schema)


def test_the_published_schema_is_the_derived_one():
    file = resources.files("halldetect") / "report.schema.json"
    assert file.read_text(encoding="utf-8") == published()


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
        lambda data: data["claims"][0]["entailing"]["probabilities"].update(neutral="0.1"),
        lambda data: data["cost"].update(pairs_judged=2.5),
    ],
)
def test_the_schema_refuses_what_is_no_report(spoil):
    data = json.loads(samples.town().to_json())
    spoil(data)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, render.json_schema())


# The proving passage


def test_the_proving_sentence_is_found_in_a_wide_window():
    report = samples.town()
    claim = report.claims[2]
    whole_document = claim.by_scale[0]
    passages = Passages(report)
    assert passages.focus(claim, whole_document).cut(report.documents[1]).startswith(RIDERS)
    assert "Harbour Line carried 18,400 passengers" in passages.quote(claim, whole_document, 60)


@given(st.text(max_size=300), st.text(max_size=60), st.integers(20, 120))
def test_shortening_keeps_to_its_limit_and_to_the_text(text, about, limit):
    short = shorten(text, about, limit)
    assert len(short) <= limit + 4
    flat = " ".join(text.split())
    assert short == flat or short.removeprefix("… ").removesuffix(" …") in flat


def test_shortening_keeps_the_words_that_matter():
    text = "far " * 100 + "the bridge opened 412 times " + "away " * 100
    assert "bridge opened 412 times" in shorten(text, "The bridge opened 400 times.", 60)


@given(
    st.integers(0, 40),
    st.lists(st.none() | st.builds(Span, st.integers(0, 50), st.integers(0, 50)), max_size=8),
)
def test_segments_tile_the_text_and_know_their_spans(length, spans):
    found = segments(length, spans)
    assert "".join("x" * (piece.end - piece.start) for piece in found) == "x" * length
    for piece in found:
        for place in range(piece.start, piece.end):
            covering = [
                index
                for index, span in enumerate(spans)
                if span is not None and span.start <= place < span.end
            ]
            assert list(piece.covers) == covering


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_visible_text_is_inert_and_as_long(text):
    shown = visible(text)
    assert len(shown) == len(text)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    shown.encode("utf-8")


# Terminal


def test_terminal_tells_verdict_score_and_evidence_with_flagged_claims_first():
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


def test_one_claim_is_called_the_only_one():
    town = samples.town()
    for status, verdict, sentence in [
        (Status.UNSUPPORTED, Verdict.HALLUCINATED, "The only claim is not backed by the source."),
        (Status.UNCHECKABLE, Verdict.UNCHECKABLE, "The only claim could not be checked, so"),
        (Status.SUPPORTED, Verdict.FAITHFUL, "The source backs the only claim."),
    ]:
        claim = dataclasses.replace(town.claims[0], status=status)
        alone = dataclasses.replace(town, claims=(claim,), verdict=verdict, reason=None)
        assert summary(alone).startswith(sentence)
    claims = tuple(
        dataclasses.replace(town.claims[0], status=status)
        for status in (Status.UNSUPPORTED, Status.SUPPORTED)
    )
    mixed = dataclasses.replace(town, claims=claims, verdict=Verdict.HALLUCINATED)
    assert summary(mixed) == "1 of 2 claims is not backed by the source."


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
    assert "\x1b" not in render.terminal(report)  # the test's standard output is no terminal
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


def test_markdown_tells_verdict_claims_and_evidence():
    text = render.markdown(samples.town())
    assert text.startswith("# ✗ Hallucinated\n")
    assert "Score 0.93, at or over the threshold 0.50" in text
    assert f"> “{RIDERS}" in text
    assert "contradicts 0.96" in text
    tokens = parsed(text)
    rows = [token for token in tokens if token.type == "tr_open"]
    assert len(rows) == 1 + 7
    assert text.index("3 | ✗ contradicted") < text.index("1 | ✓ supported")


def test_hostile_text_stays_text_in_markdown():
    text = render.markdown(samples.hostile())
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
def test_html_loads_nothing_and_runs_only_its_own_script(build):
    text = render.html(build())
    text.encode("utf-8")
    page = Page(text)
    assert set(page.tags).isdisjoint(
        {"img", "link", "iframe", "object", "base", "form", "svg/onload"}
    )
    assert page.tags.count("script") == 2
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


@SAMPLES
def test_html_carries_the_whole_report(build):
    report = build()
    data = json.loads(Page(render.html(report)).raw["data"])
    del data["view"]
    for claim in data["claims"]:
        for found in (claim["entailing"], claim["contradicting"], *claim["by_scale"]):
            if found is not None:
                found["text"] = Span(**found["span"]).cut(data["documents"][found["document"]])
    plain = json.dumps(report.to_dict(), ensure_ascii=False)
    without_surrogates = re.sub("[\ud800-\udfff]", "\ufffd", plain)
    assert Report.from_json(json.dumps(data)) == Report.from_json(without_surrogates)


def test_html_without_a_script_lists_claims_with_their_evidence():
    report = samples.town()
    without_references = re.sub("<sup>.*?</sup>", "", render.html(report))
    static = " ".join("".join(Page(without_references).text).split())
    assert "2 of 7 claims are not backed by the source." in static
    for claim in report.claims:
        assert claim.text in static
    assert RIDERS in static
    assert NIGHT in static
    for document in report.documents:
        for paragraph in document.split("\n\n"):
            assert " ".join(paragraph.split()) in static


def test_hostile_text_is_shown_as_it_is_in_html():
    text = render.html(samples.hostile())
    page = Page(text)
    shown = " ".join("".join(page.text).split())
    for part in samples.HOSTILE:
        assert one_line(part) in shown
    body = text.split("</style>", 1)[1]
    assert html_entities.escape(samples.HOSTILE[1]) in body
    assert not re.search(r"window\.pwned[^<]*</script><script", body)


def test_html_is_the_same_each_time():
    assert render.html(samples.town()) == render.html(samples.town())


def test_scripts_never_turn_data_into_markup():
    for name in SCRIPTS:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|https?://(?!www\.w3\.org)",
            asset(name),
        )
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


def test_a_claim_without_a_contradiction_class_says_so():
    report = samples.two_way()
    assert "contradiction not judged" in render.markdown(report)


def test_rendering_changes_nothing():
    report = samples.town()
    before = copy.deepcopy(report)
    for view in (render.terminal, render.markdown, render.html, render.payload):
        view(report)
    assert report == before
    assert dataclasses.asdict(report) == dataclasses.asdict(before)


@pytest.mark.parametrize("module", ["rich", "nupunkt", "jinja2", "pydantic"])
def test_importing_the_views_loads_nothing_heavy(module):
    code = f"import sys, halldetect.render; print({module!r} in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
