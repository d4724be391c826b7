"""The page for everyone and against everyone: keyboard, names, narrow screens, hostile text."""

from __future__ import annotations

import json
import time

import pytest

from halldetect.report import demo
from tests.support.chromium import keys, text_of, violations

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script>"
CONVERSATION = [
    {"role": "user", "content": "Please cancel my order 77120."},
    {"role": "assistant", "content": "Let me do that.", "tool_calls": [
        {"id": "c1", "function": {"name": "cancel", "arguments": '{"order_id": "77102"}'}}
    ]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"error": "order not found"}'},
    {"role": "assistant", "content": "I have cancelled your order."},
]  # fmt: skip
FARE = "A single ticket costs four euros, and children under twelve travel free of charge."


def stored(service, *responses, source=demo.SOURCE, question=None):
    found = []
    with service.client() as client:
        for response in responses:
            body = {"source": source, "response": response, "question": question, "store": True}
            answer = client.post("/v1/check", json=body)
            found.append(answer.raise_for_status().json()["stored"]["id"])
    return found


def stored_conversation(service, *more):
    body = {"source": [], "response": json.dumps([*CONVERSATION, *more]), "conversation": True}
    with service.client() as client:
        answer = client.post("/v1/check", json={**body, "store": True})
    return answer.raise_for_status().json()["stored"]["id"]


def test_keyboard_alone_is_enough(page):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def focused():
        return page.browser.switch_to.active_element

    def tab_to(condition, most=40):
        for _ in range(most):
            if condition(focused()):
                return
            keys(page.browser, Keys.TAB)
        raise AssertionError(f"not reached: {focused().get_attribute('outerHTML')[:200]}")

    page.open()
    keys(page.browser, Keys.TAB)
    assert focused().text == "Skip to the content"
    keys(page.browser, Keys.ENTER)
    tab_to(lambda node: node.tag_name == "textarea")
    page.browser.execute_cdp_cmd("Input.insertText", {"text": demo.SOURCE})
    tab_to(lambda node: node.get_attribute("id") == "response")
    page.browser.execute_cdp_cmd("Input.insertText", {"text": demo.RESPONSE})
    tab_to(lambda node: node.get_attribute("id") == "store")
    keys(page.browser, Keys.SPACE)
    ActionChains(page.browser).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(
        Keys.CONTROL
    ).perform()
    page.reported()
    # The reader is at the verdict; the worst claim is open, and its passage is shown.
    assert focused().tag_name == "h1"
    assert text_of(page.browser, ".scroller .focus").endswith(FARE)
    tab_to(lambda node: node.get_attribute("aria-expanded") == "true")
    keys(page.browser, Keys.ARROW_DOWN)
    assert focused().get_attribute("aria-controls") == "detail-3"
    keys(page.browser, Keys.ESCAPE)
    assert not page.every(".card.open")
    # Around to the bar, into the history, and back to the report.
    page.run("document.querySelector('[data-view=check]').focus()")
    tab_to(lambda node: node.get_attribute("data-view") == "history")
    keys(page.browser, Keys.ENTER)
    page.wait(".past tbody tr")
    assert focused().text == "History"
    tab_to(lambda node: node.text.startswith("Children under twelve"))
    keys(page.browser, Keys.ENTER)
    page.reported()
    tab_to(lambda node: node.text == "Delete")
    keys(page.browser, Keys.ENTER)
    assert page.wait("#ask-dialog").is_displayed()
    keys(page.browser, Keys.ESCAPE)
    page.until(lambda: not page.every("#ask-dialog"), "the end of the question")
    assert page.reported() == "Hallucinated"


def test_controls_and_views_have_names(page, real_service):
    (identity,) = stored(real_service, demo.RESPONSE, question="How much?")
    for address, ready in (
        ("/", "#check-form"),
        ("/?view=history", ".past tbody tr"),
        (f"/?report={identity}#claim-2", ".report-view .card.open"),
        (f"/?report={stored_conversation(real_service)}", ".message .card.open"),
    ):
        page.open(address)
        page.wait(ready)
        controls = page.every("button, a, input, select, textarea, summary, [tabindex='0']")
        nameless = [
            node.get_attribute("outerHTML")
            for node in controls
            if node.tag_name != "summary" and not node.accessible_name
        ]
        assert nameless == [], address
        assert len(page.every("h1")) == 1, address
        assert len(page.every("main")) == 1, address
        assert page.browser.title.endswith(": HallDetect")
        identities = page.run("return [...document.querySelectorAll('[id]')].map((n) => n.id)")
        assert len(identities) == len(set(identities)), address


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing(page, real_service, width, scheme):
    (identity,) = stored(real_service, demo.RESPONSE, question="How much?")
    talk = stored_conversation(real_service)
    page.begin(width=width, scheme=scheme)
    for address, ready in (
        ("/", "#check-form"),
        ("/?view=history", ".past tbody tr"),
        (f"/?report={identity}", ".report-view .card.open"),
        (f"/?report={talk}", ".message .card.open"),
    ):
        page.open(address)
        page.wait(ready)
        assert violations(page.browser) == [], address
    page.open()
    page.paste("#documents textarea", demo.SOURCE)
    page.paste("#response", demo.RESPONSE)
    page.press("#compare")
    page.paste("#response-b", FARE)
    page.press("#submit")
    page.wait("#comparison h1")
    assert violations(page.browser) == [], "comparison"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_conversation_is_shown_by_message(page, scheme):
    page.begin(scheme=scheme)
    page.open()
    page.ask(response=json.dumps(CONVERSATION), source="")
    assert page.reported() == "Hallucinated"
    titles = [node.text.split("\n")[0] for node in page.every(".messages > .message")]
    assert titles == ["User", "Assistant", "Tool cancel #1", "Assistant"]
    verdicts = [node.text.split("\n")[-1] for node in page.every(".message > header .state")]
    assert verdicts == ["Hallucinated"] * 2
    called, cancelled = page.every(".message.assistant")
    assert called.find_element("css selector", ".call .claim").text.startswith("order_id: 77102")
    (card,) = cancelled.find_elements("css selector", ".card")
    assert "I have cancelled your order" in card.text
    result = page.one(".message.tool details")
    assert not page.every(".message.tool .text")
    result.find_element("css selector", "summary").click()
    assert "order not found" in page.wait(".message.tool .text").text
    # A mark in the text opens the card of its turn and its passage among the sources.
    cancelled.find_element("css selector", ".claim").click()
    assert "tool cancel" in page.wait("#detail-2").text
    assert "order not found" in text_of(page.browser, ".scroller .focus")
    assert [node.text for node in page.every(".tools .group:first-child button")] == [
        "New check", "Edit the texts",
    ]  # fmt: skip
    [edit] = [node for node in page.every(".tools button") if node.text == "Edit the texts"]
    edit.click()
    assert json.loads(page.wait("#response").get_property("value")) == CONVERSATION


def test_progress_is_spoken(page):
    page.open()
    page.run(
        "window.heard = [];"
        "new MutationObserver(() => {"
        " for (const node of document.querySelectorAll('[role=status], [role=alert]'))"
        "  if (node.getClientRects().length) window.heard.push(node.textContent)"
        "}).observe(document.body, { childList: true, subtree: true, characterData: true })"
    )
    page.ask()
    page.reported()
    [copy] = [node for node in page.every(".tools button") if node.text == "Copy"]
    copy.click()
    page.told("JSON copied")
    heard = page.run("return [...new Set(window.heard)]")
    assert "JSON copied" in heard
    assert any(text.startswith(("Sending", "Started", "Judging", "Finding")) for text in heard)


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (390, "dark"), (820, "light")])
def test_nothing_runs_off_the_side(page, real_service, width, scheme):
    long = "Unbrechbar" * 40
    (identity, _) = stored(real_service, demo.RESPONSE, f"The word is {long}.", question=long)
    talk = stored_conversation(real_service, {"role": "user", "content": long}, CONVERSATION[-1])
    page.begin(width=width, height=844, scheme=scheme)
    page.open()
    page.wait("#check-form")
    for _ in range(2):
        page.press("#add-document")
    assert page.width() <= width, "the form"
    page.ask(response="", source="")
    page.wait(".field-error")
    assert page.width() <= width, "the complaints"
    for address, ready in (
        ("/?view=history", ".past tbody tr"),
        (f"/?report={identity}#claim-2", ".report-view .card.open"),
        (f"/?report={talk}", ".message .card.open"),
        ("/?report=nothing", ".notice"),
    ):
        page.open(address)
        page.wait(ready)
        assert page.width() <= width, address


def test_phone_shows_the_passage(page):
    page.begin(width=390, height=844)
    page.open()
    page.ask()
    page.wait("#watch .card, .report-view .card")
    assert page.width() <= 390
    page.reported()
    page.press(".response .claim.contradicted")
    page.press("#detail-2 .show")
    visible = "const box = document.querySelector('.scroller .focus')?.getBoundingClientRect();"
    visible += "return Boolean(box) && box.top >= 0 && box.bottom <= innerHeight"
    page.until(lambda: page.run(visible), "passage in sight")
    assert page.width() <= 390


def test_hostile_text_is_read_and_not_run(page, real_service, tmp_path):
    """Markup in every text a stranger may send, through every view that shows it."""
    source = f"Tickets cost four euros {EVIL}. \u202e</textarea></script><!-- The boat is red."
    response = f"Tickets cost six euros {EVIL}. <a href='javascript:window.pwned=1'>Boats</a> fly."
    file = tmp_path / "<img src=x onerror=pwned=1>.txt"
    file.write_text(source, encoding="utf-8")
    page.open()
    page.one("#source-files").send_keys(str(file))
    page.until(lambda: page.one("#documents textarea").get_attribute("value"), "the source")
    assert "<img src=x" in page.one("#documents .title").text
    page.paste("#response", response)
    page.paste("#question", EVIL)
    page.press("#store")
    page.press("#submit")
    page.reported()
    for number in range(1, len(page.every(".card")) + 1):
        page.run("location.hash = `#claim-${arguments[0]}`", number)
        time.sleep(0.1)
    assert EVIL in text_of(page.browser, ".response .text")
    assert EVIL in page.one(".report-view .question").text
    page.press("[data-view=history]")
    assert "<img src=x" in page.wait(".past tbody tr").text
    page.open("/?report=" + "%3Cimg%20src%3Dx%20onerror%3Dwindow.pwned%3D1%3E")
    page.wait(".notice")
    assert page.run("return window.pwned === undefined")
    assert (
        page.run("return document.querySelectorAll('img, script:not([src]), iframe').length") == 0
    )
    assert "\u202e" not in page.run("return document.body.innerText")
    # The files of the report run nothing either, wherever they are opened.
    with real_service.client() as client:
        (row,) = client.get("/v1/reports").json()["reports"]
        text = client.get(f"/v1/reports/{row['id']}.html").text
    saved = tmp_path / "report.html"
    saved.write_text(text, encoding="utf-8")
    page.browser.get(saved.as_uri())
    page.wait(".verdict")
    assert page.run("return window.pwned === undefined")


def test_the_policy_holds_and_nothing_comes_from_elsewhere(page, real_service):
    """A script that got in could not run, and every request goes to the service itself."""
    page.browser.get_log("performance")
    page.open()
    page.ask(keep=True)
    page.reported()
    page.press("[data-view=history]")
    page.wait(".past tbody tr")
    messages = [
        json.loads(row["message"])["message"] for row in page.browser.get_log("performance")
    ]
    asked = {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
    assert len(asked) > 10
    own = (f"{real_service.url}/", "data:")  # browsers draw their own controls from data
    assert {url for url in asked if not url.startswith(own)} == set()
    assert page.complaints() == []
    outcome = page.run(
        "const node = document.createElement('script'); let refused = '';"
        "try { node.text = 'window.pwned = 1'; document.body.append(node) }"
        "catch (error) { refused = error.name }"
        "try { document.body.innerHTML = '<b>x</b>' } catch (error) { refused += error.name }"
        "return [refused, window.pwned === undefined]"
    )
    assert outcome == ["TypeErrorTypeError", True]
    assert page.complaints() != []  # the console tells of it, so silence elsewhere means something
