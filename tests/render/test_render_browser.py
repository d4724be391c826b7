"""The HTML report in a real browser: clicks, keys, hostile text, print, size."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from halldetect import render
from halldetect.report import Status
from tests.support import report_samples as samples
from tests.support.chromium import PATIENCE, chromium, keys, look, soon, text_of

pytestmark = pytest.mark.browser

SELECTED = ".response .selected"
RIDERS = (
    "The Harbour Line carried 18,400 passengers on an average weekday, a little above the "
    "forecast of 17,000. Saturdays were stronger than expected, at 21,900."
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def show(browser, tmp_path):
    """Opens a report at a screen size and colour scheme; checks the console afterwards."""

    def opened(report, fragment="", *, width=1440, height=900, scheme="light", script=True):
        file = tmp_path / "report.html"
        file.write_text(render.html(report), encoding="utf-8")
        browser.get("about:blank")
        off = {"value": not script}
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", off)
        look(browser, width=width, height=height, scheme=scheme)
        for kind in ("browser", "performance"):
            browser.get_log(kind)
        browser.get(file.as_uri() + fragment)
        if script:
            soon(lambda: every(browser, "#live .head"))
        return browser

    yield opened
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert browser.get_log("browser") == []


def one(browser, selector):
    return browser.find_element("css selector", selector)


def every(browser, selector):
    return browser.find_elements("css selector", selector)


def in_sight(browser, selector):
    """Whether the node comes to lie inside what its scrolling pane shows, and stays there."""
    end, seen = time.monotonic() + PATIENCE, 0
    while seen < 5 and time.monotonic() < end:
        time.sleep(0.08)
        inside = browser.execute_script(
            "const node = document.querySelector(arguments[0]).getBoundingClientRect();"
            "const pane = document.querySelector('.scroller').getBoundingClientRect();"
            "return node.top >= pane.top && node.bottom <= pane.bottom",
            selector,
        )
        seen = seen + 1 if inside else 0
    return seen == 5


def chosen(browser):
    """The number of the open claim, or None."""
    cards = every(browser, ".card.open")
    return int(cards[0].get_attribute("id").removeprefix("card-")) if cards else None


def test_worst_claim_is_open_with_its_passage(show):
    browser = show(samples.town())
    assert chosen(browser) == 3
    assert "#" not in browser.current_url
    assert text_of(browser, ".scroller .focus") == RIDERS
    one(browser, ".response .claim.supported").click()
    one(browser, ".response .claim.contradicted").click()
    assert text_of(browser, ".scroller .focus") == RIDERS
    assert in_sight(browser, ".scroller .focus")
    detail = one(browser, "#detail-3").text
    for part in ("The source says otherwise", "Source says instead", "18,400 passengers"):
        assert part in detail
    assert browser.current_url.endswith("#claim-3")


def test_spans_after_emoji_and_in_overlap_are_exact(show):
    browser = show(samples.town())
    report = samples.town()
    for place, claim in enumerate(report.claims):
        browser.execute_script(f"location.hash = '#claim-{place + 1}'")
        text = claim.span.cut(report.response)
        assert soon(lambda text=text: text_of(browser, SELECTED) == text), text
    shared = next(
        node
        for node in every(browser, ".response .claim")
        if node.get_attribute("data-claims") == "1 2"
    )
    shared.click()
    first = chosen(browser)
    shared.click()
    assert {first, chosen(browser)} == {1, 2}


def test_passage_in_source_leads_to_its_claim(show):
    browser = show(samples.town(), "#claim-1")
    soon(lambda: every(browser, ".scroller .use.contradicted"))[0].click()
    assert chosen(browser) == 3


def test_the_keyboard_alone_is_enough(show):
    from selenium.webdriver.common.keys import Keys

    browser = show(samples.town())
    browser.execute_script("document.querySelector('#card-3 button').focus()")
    keys(browser, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert chosen(browser) == 7
    keys(browser, Keys.ARROW_UP)
    assert chosen(browser) == 4
    assert browser.switch_to.active_element.get_attribute("aria-expanded") == "true"
    keys(browser, Keys.ENTER)
    assert chosen(browser) is None
    # Tab reaches a claim in the response, Enter opens it.
    browser.execute_script("document.querySelector('.theme').focus()")
    while browser.switch_to.active_element.get_attribute("data-claims") != "3":
        keys(browser, Keys.TAB)
    keys(browser, Keys.ENTER)
    assert chosen(browser) == 3
    assert text_of(browser, ".scroller .focus") == RIDERS
    keys(browser, Keys.ESCAPE)
    assert chosen(browser) is None
    browser.execute_script("document.querySelector('.scroller .use.contradicted').focus()")
    keys(browser, Keys.ENTER)
    assert chosen(browser) == 3


def test_filter_deep_link_and_theme(show):
    browser = show(samples.town(), "#claim-4", scheme="dark")
    assert chosen(browser) == 4
    ground = "return getComputedStyle(document.body).backgroundColor"
    dark = browser.execute_script(ground)
    one(browser, ".theme").click()
    assert browser.execute_script(ground) != dark
    one(browser, ".chip.supported").click()
    shown = [card for card in every(browser, ".card") if card.is_displayed()]
    assert [card.get_attribute("id") for card in shown] == ["card-1", "card-2", "card-5", "card-6"]
    assert chosen(browser) is None
    one(browser, ".chip.all").click()
    assert len([card for card in every(browser, ".card") if card.is_displayed()]) == 7
    browser.execute_script("localStorage.clear()")


def test_markdown_is_shown_as_written_with_exact_marks(show):
    browser = show(samples.formatted(), "#claim-1")
    quote = one(browser, "#detail-1 blockquote").text
    assert quote == "Single: Price 28 crowns; Note valid for one hour."
    assert len(every(browser, ".response [tabindex='0']")) == 2
    assert (
        browser.execute_script(
            "const copy = document.querySelector('.response .text').cloneNode(true);"
            "copy.querySelectorAll('.unseen, sup').forEach((node) => node.remove());"
            "return copy.textContent"
        )
        == samples.FARES_ANSWER
    )
    assert text_of(browser, ".source .focus") == "| Single | 28 crowns | valid for one hour |"


@pytest.mark.parametrize("height", [600, 757, 1100])
def test_opened_claims_and_sources_get_enough_height(show, height):
    browser = show(samples.town(), "#claim-3", width=1280, height=height)
    assert in_sight(browser, ".scroller .focus")
    boxes = browser.execute_script(
        "return ['#card-3', '.source', '.scroller .focus'].map((name) => {"
        " const box = document.querySelector(name).getBoundingClientRect();"
        " return [box.top, box.bottom]; })"
    )
    (card_top, card_bottom), (source_top, source_bottom), (focus_top, focus_bottom) = boxes
    assert "support\n0.02" in one(browser, "#card-3").text
    assert card_top >= 0
    assert card_bottom <= height or card_top < height / 4
    assert source_bottom - source_top >= height - 60
    assert 0 <= focus_top < focus_bottom <= height
    scrolls = browser.execute_script(
        "return [...document.querySelectorAll('.hd *')].filter((node) =>"
        " node.scrollHeight > node.clientHeight + 2 &&"
        " getComputedStyle(node).overflowY === 'auto').map((node) => node.className)"
    )
    assert scrolls == ["scroller"]


def test_hostile_text_is_read_and_not_run(show):
    report = samples.hostile()
    browser = show(report)
    for place in range(1, len(report.claims) + 1):
        browser.execute_script(f"location.hash = '#claim-{place}'")
        assert soon(lambda place=place: chosen(browser) == place)
    assert browser.execute_script("return window.pwned === undefined")
    assert "<script>window.pwned=1</script>" in one(browser, ".response").text
    assert every(browser, ".response img, .scroller img, .detail img, .response a") == []
    assert "\u202e" not in browser.execute_script("return document.body.innerText")


def test_nothing_is_requested(show):
    browser = show(samples.hostile(), "#claim-2")
    assert in_sight(browser, ".scroller .focus")
    messages = [json.loads(row["message"])["message"] for row in browser.get_log("performance")]
    asked = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert [url.split("#")[0] for url in asked] == [browser.current_url.split("#")[0]]


def test_without_javascript_and_on_paper_everything_is_listed(show):
    browser = show(samples.town(), script=False)
    listed = one(browser, "#static")
    assert listed.is_displayed()
    assert len(every(browser, ".claim-table tbody > tr")) == 7
    assert RIDERS in listed.text
    browser = show(samples.town(), "#claim-3")
    assert not one(browser, "#static").is_displayed()
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert one(browser, "#static").is_displayed()
    assert not one(browser, "#live").is_displayed()


@pytest.mark.parametrize("name", samples.ALL)
@pytest.mark.parametrize(("width", "height"), [(320, 640), (390, 844), (820, 1180), (1440, 900)])
def test_nothing_runs_off_the_side(show, name, width, height):
    browser = show(samples.ALL[name](), "#claim-1", width=width, height=height)
    widest = browser.execute_script("return document.documentElement.scrollWidth")
    assert widest <= width


def test_phone_readers_reach_the_source_and_return(show):
    browser = show(samples.town(), "#claim-3", width=390, height=844)
    browser.execute_script("document.querySelector('#detail-3 .show').click()")
    visible = "const box = document.querySelector(arguments[0])?.getBoundingClientRect();"
    visible += "return Boolean(box) && box.top >= 0 && box.bottom <= innerHeight"
    assert soon(lambda: browser.execute_script(visible, ".scroller .focus"))
    browser.execute_script("document.querySelector('.scroller .focus').click()")
    assert soon(lambda: browser.execute_script(visible, "#card-3 h3"))


def test_every_control_has_a_name(show):
    browser = show(samples.town(), "#claim-3")
    controls = every(browser, "button, [role=button], input, summary, [tabindex='0']")
    assert len(controls) > 20
    nameless = [
        node.get_attribute("outerHTML")
        for node in controls
        if node.is_displayed() and node.tag_name != "summary" and not node.accessible_name
    ]
    assert nameless == []
    mark = one(browser, ".response .claim.contradicted")
    assert mark.accessible_name.endswith("(claim 3, contradicted)")


def test_a_megabyte_of_source_stays_quick(show):
    report = samples.large()
    start = time.perf_counter()
    browser = show(report)
    assert time.perf_counter() - start < PATIENCE
    took = [
        browser.execute_script(
            "const start = performance.now();"
            "document.querySelector(`#card-${arguments[0]} button`).click();"
            "document.body.offsetHeight; return performance.now() - start",
            number,
        )
        for number in (12, 25, 38)
    ]
    assert min(took) < 1000
    assert text_of(browser, ".scroller .focus") == report.claims[37].proof.text
    assert in_sight(browser, ".scroller .focus")
    # Far jumps cross blocks whose height was only guessed.
    for number in (20, 2, 30, 5):
        browser.execute_script(f"document.querySelector('#card-{number} button').click()")
        expected = report.claims[number - 1].proof.text
        assert text_of(browser, ".scroller .focus") == expected
        assert in_sight(browser, ".scroller .focus")


def test_thousands_of_claims_stay_quick(show):
    """Few cards are shown at first, and the view is there before the table for paper."""
    report = samples.large(200_000, 3_000)
    claims = tuple(
        replace(claim, status=Status.SUPPORTED if place % 3 == 0 else claim.status)
        for place, claim in enumerate(report.claims)
    )
    start = time.perf_counter()
    browser = show(replace(report, claims=claims))
    assert time.perf_counter() - start < PATIENCE
    cards = "return [...document.querySelectorAll('.card:not([hidden])')].map((card) => card.id)"
    assert len(browser.execute_script(cards)) == 200
    took = browser.execute_script(
        "const start = performance.now(); document.querySelector('.chip.supported').click();"
        "document.body.offsetHeight; return performance.now() - start"
    )
    assert took < 5000
    shown = browser.execute_script(cards)
    assert (len(shown), shown[:2]) == (200, ["card-1", "card-4"])
    browser.execute_script("document.querySelector('.more').click()")
    assert browser.execute_script(cards)[-1] == "card-1198"
    # A claim of another state comes to the reader from everywhere.
    mark = ".response .claim[data-claims='2001']"
    browser.execute_script("document.querySelector(arguments[0]).click()", mark)
    assert chosen(browser) == 2001
    assert text_of(browser, SELECTED) == report.claims[2000].text
    browser.execute_script("location.hash = '#claim-1'")
    assert soon(lambda: chosen(browser) == 1)
