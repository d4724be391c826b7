"""The page in a real browser against the real service: check, watch, understand, keep."""

from __future__ import annotations

import json
import time

import pytest

from halldetect import Report
from halldetect.report import demo
from tests.support.chromium import text_of
from tests.support.page_in_browser import RECORD
from tests.support.running import PATIENCE

pytestmark = pytest.mark.browser

SLEEPER = "Somebody sleeps 90000 ms in a far away town."
FARE = "A single ticket costs four euros, and children under twelve travel free of charge."


def downloaded(downloads, suffix):
    """The text of the one finished file of that kind; it is removed."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = [file for file in downloads.iterdir() if file.suffix == suffix]
        if found and not list(downloads.glob("*.crdownload")):
            (file,) = found
            text = file.read_text(encoding="utf-8")
            file.unlink()
            return file.name, text
        time.sleep(0.05)
    raise AssertionError(f"no {suffix} file came")


def test_paste_watch_and_see_the_sentence_that_contradicts(page):
    page.open()
    page.run(RECORD)
    page.ask(question=demo.QUESTION)
    assert page.reported() == "Hallucinated"
    # The claims were there before their states, and the states before the report.
    before = [states for states, reported in page.run("return window.seen") if not reported]
    assert ["Judging"] * 3 in before
    assert any("Judging" in states and len(set(states)) > 1 for states in before)
    assert ["✓Supported", "✗Contradicted", "?Unsupported"] in before
    # The worst claim is open, and its passage is marked.
    assert text_of(page.browser, ".scroller .focus").endswith(FARE)
    detail = page.wait("#detail-2").text
    assert "Source says instead" in detail
    for gone in ("FED", "m = ", "P(E)", "scale"):
        assert gone not in page.one("#report").text
    assert demo.QUESTION in page.one(".report-view").text
    # Nothing was kept, but this tab still has it after a reload.
    page.browser.refresh()
    assert page.reported() == "Hallucinated"
    assert page.run("return localStorage.length") == 0


def test_report_is_downloaded_and_copied(page, downloads):
    page.open()
    page.ask()
    page.reported()

    def choose(name):
        page.run(
            "const select = document.querySelector('.tools select');"
            "select.value = arguments[0]; select.dispatchEvent(new Event('change'))",
            name,
        )

    buttons = {node.text: node for node in page.every(".tools button")}
    taken = {}
    for name, suffix in (("json", ".json"), ("html", ".html"), ("markdown", ".md")):
        choose(name)
        buttons["Download"].click()
        file, taken[name] = downloaded(downloads, suffix)
        assert file == f"halldetect-hallucinated{suffix}"
    report = Report.from_json(taken["json"])
    assert report.response == demo.RESPONSE
    assert demo.deviations(report) == []
    assert taken["html"].startswith("<!doctype html>")
    assert FARE in taken["html"]
    assert FARE in taken["markdown"]
    for name in taken:
        choose(name)
        buttons["Copy"].click()
        page.told("copied")
        copied = page.browser.execute_async_script(
            "navigator.clipboard.readText().then(arguments[0], (error) => arguments[0](`${error}`))"
        )
        assert copied.replace("\r\n", "\n") == taken[name]


def test_wrong_words_and_missing_statements_are_shown(page):
    page.open()
    page.run("document.getElementById('missing').click()")
    source = "A single ticket costs four euros. Dogs pay half the fare of a ticket."
    answer = "A single ticket costs nine euros. Call <b>book_seat()</b> for a ticket."
    page.ask(source, answer, question="What is the fare of a ticket for dogs?")
    assert page.reported() == "Hallucinated"
    marked = "\n".join(node.text for node in page.every(".report-view mark.wrong"))
    assert "nine" in marked
    assert "book_seat()" in marked
    assert "Not in the response: “Dogs pay half" in text_of(page.browser, ".report-view")


def test_kept_report_survives_a_reload(page, downloads, real_service):
    page.open()
    page.ask(keep=True, question="How much?")
    page.reported()
    page.press(".response .claim.unsupported")
    page.press(".response .claim.contradicted")
    address = page.browser.current_url
    assert "?report=" in address
    assert address.endswith("#claim-2")
    page.browser.refresh()
    assert page.reported() == "Hallucinated"
    assert text_of(page.browser, ".scroller .focus").endswith(FARE)
    identity = report_id(page)
    page.press("[data-view=history]")
    row = page.wait(".past tbody tr")
    assert row.get_attribute("data-id") == identity
    for part in ("Hallucinated", "Children under twelve", "How much?"):
        assert part in row.text
    row.find_element("css selector", "a").click()
    assert page.reported() == "Hallucinated"
    page.run("document.querySelector('.tools select').value = 'pdf'")
    [button] = [node for node in page.every(".tools button") if node.text == "Download"]
    button.click()
    page.until(lambda: list(downloads.glob("*.pdf")), "PDF file")
    (file,) = downloads.glob("*.pdf")
    assert file.read_bytes().startswith(b"%PDF-")
    for name, suffix in (("html", ".html"), ("markdown", ".md"), ("json", ".json")):
        page.run("document.querySelector('.tools select').value = arguments[0]", name)
        [button] = [node for node in page.every(".tools button") if node.text == "Download"]
        button.click()
        file, text = downloaded(downloads, suffix)
        assert file == f"halldetect-hallucinated-{identity}{suffix}"
        assert FARE in text
    with real_service.client() as client:
        assert json.loads(text) == client.get(f"/v1/reports/{identity}").json()
    # Back leads to the history, and there it can be deleted for good.
    page.browser.back()
    page.press(".past td input")
    assert page.wait("#history .danger").text == "Delete 1 report"
    page.press("#history .danger")
    page.press("#ask-no")
    assert page.every(".past tbody tr")
    page.press("#history .danger")
    page.press("#ask-yes")
    page.wait("#history .plain")
    with real_service.client() as client:
        assert client.get(f"/v1/reports/{identity}").status_code == 404
    page.open(f"/?report={identity}")
    assert page.wait(".notice").get_attribute("data-code") == "not_found"


def report_id(page):
    return page.browser.current_url.split("report=")[1].split("#")[0]


def keep(service, *responses):
    """Has responses to the source of the demo checked, and their reports stored."""
    with service.client() as client:
        for response in responses:
            body = {"source": demo.SOURCE, "response": response, "store": True}
            client.post("/v1/check", json=body).raise_for_status()


def choose(page, selector, value):
    page.run(
        "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
        "for (const kind of ['input', 'change'])"
        " field.dispatchEvent(new Event(kind, { bubbles: true }))",
        selector,
        value,
    )


def test_the_history_can_be_searched_filtered_and_emptied(page, real_service):
    keep(real_service, demo.RESPONSE, next(iter(demo.EXPECTED)))
    page.open("/?view=history")
    rows = ".past tbody tr"
    count = "return document.querySelectorAll(arguments[0]).length"
    page.until(lambda: page.run(count, rows) == 2, "two rows")
    for kind, words in (("verdict=faithful", "Faithful"), ("state=contradicted", "Hallucinated")):
        choose(page, ".filters select", kind)
        page.until(lambda: page.run(count, rows) == 1, "one row")
        assert words in page.wait(rows).text
    choose(page, ".filters select", "")
    choose(page, ".filters [type=search]", "HOT MEALS")
    page.until(lambda: page.run(count, rows) == 1, "one row")
    assert page.wait("#history .danger").text == "Delete 1 matching report"
    choose(page, ".filters [type=search]", "")
    choose(page, ".filters [type=date]", "2999-01-01")
    page.until(lambda: page.wait("#history .plain").text == "No report fits.", "no report")
    page.open("/?view=history")
    page.wait(rows)
    page.press("#history .view-head .danger")
    page.press("#ask-yes")
    page.wait("#history .plain")
    with real_service.client() as client:
        assert client.get("/v1/reports").json()["reports"] == []


def test_nothing_is_deleted_before_it_is_shown(page, real_service):
    keep(real_service, demo.RESPONSE, next(iter(demo.EXPECTED)))
    page.open("/?view=history")
    page.press(".past tbody input[type=checkbox]")
    assert page.wait("#history .danger").text == "Delete 1 report"
    page.run(
        "window.fetch = ((send) => (...asked) =>"
        " new Promise((go) => { window.go = () => go(send(...asked)); }))(window.fetch)"
    )
    choose(page, ".filters [type=search]", "")
    page.until(lambda: page.run("return Boolean(window.go)"), "request")
    assert not page.every("#history .danger, #history [aria-label=Export]")
    page.run("window.go()")
    assert page.wait("#history .danger").text == "Delete all 2 reports"
    page.press("#history .danger")
    assert page.wait("#ask-text").text == "Delete all 2 reports for good?"
    page.press("#ask-no")


def test_decisions_and_a_note_are_stored_and_exported(page, downloads, real_service):
    page.open()
    page.ask(keep=True)
    page.reported()
    page.press("#card-1 .decide.agree:enabled")
    page.press("#card-2 .decide.agree")
    page.press("#card-3 .decide.agree")
    page.press("#card-3 .decide.disagree")
    page.paste("#review-note", "Meals <b>are</b> served.")
    page.until(lambda: review_status(page) == "Saved", "saved note")
    assert page.one(".by-review").text == "By review: hallucinated"
    page.browser.refresh()
    page.reported()
    page.until(lambda: page.one("#review-note").get_attribute("value"), "the note")
    pressed = [node.text for node in page.every(".decide[aria-pressed=true]")]
    assert sorted(pressed) == ["Agree", "Agree", "Disagree"]
    page.press("[data-view=history]")
    assert "2 agreed, 1 disagreed\nMeals <b>are</b> served." in page.wait(".past tbody tr").text
    choose(page, "#history [aria-label=Export]", "labelled")
    _, text = downloaded(downloads, ".jsonl")
    row = json.loads(text)
    assert row["hallucinated"] is True
    assert [wrong for _, wrong in row["sentences"]] == [False, True, False]


def test_a_review_changes_what_is_shown_and_goes_on(page, real_service):
    keep(real_service, demo.RESPONSE, next(iter(demo.EXPECTED)))
    page.open("/?view=history")
    page.wait(".past tbody tr")
    page.run("document.querySelectorAll('.past tbody a')[1].click()")
    assert page.reported() == "Hallucinated"
    page.press("#card-2 .decide.disagree:enabled")
    page.until(lambda: "2 claims not reviewed" in page.one(".by-review").text, "what is left")
    page.press("#next-unreviewed")
    page.wait("#card-3.open")
    page.press("#card-3 .decide.disagree")
    page.press("#card-1 .decide.agree")
    page.until(lambda: page.one(".by-review").text == "By review: faithful", "verdict")
    page.press("#next-unreviewed")
    page.until(lambda: page.reported() == "Faithful", "the other report")
    page.press("[data-view=history]")
    page.until(lambda: "0 % by review" in page.one("#history-totals").text, "corrected rate")
    assert "by review; was hallucinated" in page.one(".past tbody").text


# Requests about the review wait until the test lets them go.
HOLD = """
const send = window.fetch;
window.held = [];
window.fetch = (path, init) =>
  path.endsWith("/review")
    ? new Promise((go) => window.held.push(() => go(send(path, init))))
    : send(path, init);
"""


def let_one_go(page):
    page.until(lambda: page.run("return window.held.length"), "request")
    page.run("window.held.shift()()")


def review_status(page):
    return page.one(".review [role=status]").text


def test_only_what_is_stored_is_called_saved(page, real_service):
    def held():
        return page.run("return window.held.length")

    page.open()
    page.run(HOLD)
    page.ask(keep=True)
    page.reported()
    assert page.one("#card-1 .decide.agree").get_attribute("disabled")
    assert page.one("#review-note").get_attribute("readonly")
    let_one_go(page)
    page.press("#card-1 .decide.agree:enabled")
    page.until(held, "first edit on its way")
    page.paste("#review-note", "Written meanwhile.")
    let_one_go(page)
    page.until(held, "second edit on its way")
    assert review_status(page) == ""
    let_one_go(page)
    page.until(lambda: review_status(page) == "Saved", "saved note")
    review = real_service.get(f"/v1/reports/{report_id(page)}/review").json()
    assert review["note"] == "Written meanwhile."
    assert review["decisions"] == [{"claim": 1, "decision": "agree"}]


@pytest.mark.parametrize("way", ["another view", "another page"])
def test_a_note_is_stored_when_its_writer_leaves(page, real_service, way):
    page.open()
    page.ask(keep=True)
    page.reported()
    path = f"/v1/reports/{report_id(page)}/review"
    page.wait("#review-note:read-write")
    page.run("window.setTimeout = () => 0")  # the pause after a key never ends
    page.paste("#review-note", "In a hurry.")
    if way == "another view":
        page.press("[data-view=history]")
    else:
        page.browser.get("about:blank")
    page.until(lambda: real_service.get(path).json()["note"] == "In a hurry.", "stored note")


def test_unsaved_note_is_reported_after_leaving(page):
    page.open()
    page.ask(keep=True)
    page.reported()
    page.wait("#review-note:read-write")
    page.run("window.fetch = () => Promise.reject(new TypeError('cut'))")
    page.paste("#review-note", "Lost?")
    page.press("[data-view=history]")
    page.told("Your note is not saved")


def test_unreadable_review_is_not_replaced(page, real_service):
    page.open()
    page.ask(keep=True)
    page.reported()
    page.paste("#review-note:read-write", "Of value.")
    page.until(lambda: review_status(page) == "Saved", "saved note")
    page.press("[data-view=history]")
    page.wait(".past tbody tr")
    page.run(
        "const send = window.fetch; window.fetch = (path, init) => path.endsWith('/review')"
        " && !window.mended ? Promise.reject(new TypeError('cut')) : send(path, init)"
    )
    page.browser.back()
    page.wait(".notice[role=alert]")
    assert page.one("#review-note").get_attribute("readonly")
    page.run("window.mended = true")
    page.press(".notice button")
    page.wait("#review-note:read-write")
    assert page.one("#review-note").get_attribute("value") == "Of value."
    assert not page.every(".notice[role=alert]")


def test_check_continues_in_the_background(held):
    page, awake = held
    page.open()
    page.ask(response=SLEEPER)
    page.wait("#watch .card")
    page.press("[data-view=history]")
    page.wait("#history")
    awake.touch()
    page.told("The check is done")
    assert page.every("#history")
    page.press("[data-view=check]")
    assert page.reported() == "Hallucinated"


def test_texts_are_edited_and_checked_again(page):
    page.open()
    page.ask()
    page.reported()
    [edit] = [node for node in page.every(".tools button") if node.text == "Edit the texts"]
    edit.click()
    page.wait("#check-form")
    assert page.one("#documents textarea").get_attribute("value") == demo.SOURCE
    page.paste("#response", next(iter(demo.EXPECTED)))
    page.press("#submit")
    assert page.reported() == "Faithful"
    # Back and forth through both: the form, then the report again.
    page.browser.back()
    page.wait("#check-form")
    page.browser.forward()
    assert page.reported() == "Faithful"


def test_files_become_documents(page, tmp_path):
    first = tmp_path / "timetable.txt"
    first.write_text(demo.SOURCE, encoding="utf-8")
    second = tmp_path / "menu <b>.txt"
    second.write_text("Hot meals are served on board from noon. ☕", encoding="utf-16")
    answer = tmp_path / "answer.txt"
    answer.write_text(demo.RESPONSE, encoding="utf-8")
    page.open()
    page.one("#source-files").send_keys(f"{first}\n{second}")
    page.until(lambda: len(page.every("#documents textarea")) == 2, "two documents")
    titles = [node.text for node in page.every("#documents .title")]
    assert titles == ["Document 1: timetable.txt", "Document 2: menu <b>.txt"]
    page.one("#response-file").send_keys(str(answer))
    page.until(lambda: page.one("#response").get_attribute("value"), "the response")
    page.press("#submit")
    page.reported()
    assert len(page.every(".report-view .document")) == 2
    assert len(page.every(".report-view .card.supported")) == 2


def test_the_server_reads_files_that_are_no_text(page, tmp_path):
    file = tmp_path / "fares.html"
    row = "<tr><th>Ticket</th><th>Price</th></tr><tr><td>Single</td><td>4 euros</td></tr>"
    file.write_text(f"<html><body><table>{row}</table></body></html>", encoding="utf-8")
    page.open()
    page.one("#source-files").send_keys(str(file))
    area = page.one("#documents textarea")
    page.until(lambda: "| Single | 4 euros |" in area.get_attribute("value"), "the table")
    assert "<td>" not in area.get_attribute("value")


def test_dropped_file_and_picture(page):
    page.open()
    drop = (
        "const transfer = new DataTransfer();"
        "transfer.items.add(new File([arguments[1]], arguments[2]));"
        "document.querySelector(`[data-drop=${arguments[0]}]`).dispatchEvent("
        " new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }))"
    )
    page.run(drop, "source", demo.SOURCE, "source.txt")
    area = page.one("#documents textarea")
    page.until(lambda: area.get_attribute("value") == demo.SOURCE, "the dropped text")
    page.run(drop, "response", "PNG\0\0", "photo.png")
    page.until(lambda: page.every("#response-error"), "the refusal")
    assert (
        page.one("#response-error").text == "'photo.png' is a binary file; extract its text first."
    )


def test_a_check_can_be_cancelled(held):
    page, _ = held
    page.open()
    page.ask(response=SLEEPER)
    page.wait("#watch .card")
    page.press("#watch button.quiet")
    page.wait("#check-form")
    assert page.one("#response").get_attribute("value") == SLEEPER
    page.ask()
    assert page.reported() == "Hallucinated"


def test_theme_follows_system_until_chosen(page):
    ground = "return getComputedStyle(document.body).backgroundColor"
    colours = {}
    for scheme in ("light", "dark"):
        page.begin(scheme=scheme)
        page.open()
        colours[scheme] = page.run(ground)
    assert colours["light"] != colours["dark"]
    assert page.one(".theme").text == "Light theme"
    page.press(".app-tools .theme")
    assert page.run(ground) == colours["light"]
    page.open("/?view=history")
    assert page.run(ground) == colours["light"]


@pytest.mark.parametrize(("width", "height"), [(1280, 757), (390, 844)])
@pytest.mark.parametrize("filled", [False, True])
def test_first_screen_has_the_whole_form(page, width, height, filled):
    page.begin(width=width, height=height)
    page.open()
    page.wait("#submit")
    if filled:
        page.press("#example")
        page.until(lambda: page.one("#response").get_attribute("value"), "the example")
        page.run("scrollTo(0, 0)")
    for selector in ("#documents textarea", "#response", "#example", "#submit"):
        box = page.run(
            "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
            "return [box.top, box.bottom]",
            selector,
        )
        assert 0 <= box[0] < box[1] <= height, selector
    if width > 1000:  # side by side, so of the same height
        heights = page.run(
            "return [...document.querySelectorAll('.texts > .panel')].map((it) => it.offsetHeight)"
        )
        assert max(heights) - min(heights) <= 1


def test_two_responses_are_compared_side_by_side(page):
    page.open()
    page.paste("#documents textarea", demo.SOURCE)
    page.paste("#response", demo.RESPONSE)
    page.press("#compare")
    page.press("#submit")
    assert page.wait("#response-error").text == "Paste the second response as well."
    page.paste("#response-b", "A single ticket costs four euros. <b>Dogs</b> travel free.")
    page.press("#submit")
    title = page.wait("#comparison h1").text
    assert title == "The source backs both equally well; 4 claims differ." or "better" in title
    assert [node.text for node in page.every("#comparison .letter")] == ["Response A", "Response B"]
    different = page.wait(".relation").text
    assert "A single ticket costs six euros." in different
    assert "A single ticket costs four euros." in different
    assert "<b>Dogs</b> travel free." in page.one("#comparison").text
    assert page.width() <= 1440
    [button] = [node for node in page.every("#comparison button") if node.text == "Edit the texts"]
    button.click()
    assert "Dogs" in page.wait("#response-b").get_attribute("value")
    assert page.one("#submit").text == "Compare"


def test_a_response_is_repaired(page):
    response = "The bridge opened in 1923. Anna Holm designed it. Dogs <b>like</b> it."
    page.open()
    page.ask("The bridge over the Elbe opened in 1932. Anna Holm designed it.", response)
    page.reported()
    [button] = [node for node in page.every("#report button") if node.text == "Repair"]
    button.click()
    assert page.wait("#repair h1").text == "✓ Repaired"
    inline, before, after = (node.text for node in page.every("#repair .repair-text"))
    assert page.run("return document.activeElement.tagName") == "H1"
    assert response in before.replace("\n", " ")
    assert "1932" in after
    assert "1923" not in after
    assert [node.text for node in page.every("#repair .repair-text:first-of-type ins")] == ["1932"]
    assert "Dogs <b>like</b> it." in inline
    assert "Dogs" not in after
    assert "nothing in the source says so" in page.one("#repair .changes").text
    assert page.width() <= 1440
    [use] = [node for node in page.every("#repair button") if node.text == "Use the new text"]
    use.click()
    assert "1932" in page.wait("#response").get_attribute("value")


def test_a_repair_ends_the_check_that_runs(held):
    page, _ = held
    page.open()
    page.ask(keep=True)
    page.reported()
    page.press("#report .tools button")
    page.ask(response=SLEEPER)
    page.wait("#watch .card")
    page.browser.back()
    page.reported()
    [button] = [node for node in page.every("#report button") if node.text == "Repair"]
    button.click()
    page.wait("#repair h1")
    assert not page.every("#watch, .notice")


def test_a_repair_that_fails_says_why(page):
    page.open()
    page.ask("The bridge over the Elbe opened in 1932.", "Wild horses graze beside volcanoes.")
    page.reported()
    [button] = [node for node in page.every("#report button") if node.text == "Repair"]
    button.click()
    assert page.wait("#repair h1").text == "✗ Not Repaired"
    assert "no sentence of the response is left" in page.one("#repair").text
    assert not [node for node in page.every("#repair button") if "new text" in node.text]


def test_example_does_not_replace_texts_unasked(page):
    page.open()
    page.paste("#response", "My own words.")
    page.press("#example")
    page.press("#ask-no")
    assert page.one("#response").get_attribute("value") == "My own words."
    page.press("#example")
    page.press("#ask-yes")
    page.until(lambda: page.one("#response").get_attribute("value") == demo.RESPONSE, "example")


def test_texts_are_not_lost_unasked(page):
    page.open()
    page.paste("#response", "My own words.")
    page.press("#clear")
    page.press("#ask-no")
    assert page.one("#response").get_attribute("value") == "My own words."
    page.press("#add-document")
    page.paste(".box:nth-of-type(2) textarea", "A second source.")
    page.press(".box:nth-of-type(2) .remove")
    assert page.wait("#ask-text").text == "Remove Document 2?"
    page.press("#ask-no")
    page.press("#clear")
    page.press("#ask-yes")
    page.until(lambda: not page.one("#response").get_attribute("value"), "an empty form")
    page.press("#clear")
    assert not page.every("#ask-dialog")


def test_options_reach_the_server(page, downloads):
    page.open()
    page.press("#options summary")
    assert page.wait("#verifier").text == "Default (base)"
    page.run("document.getElementById('threshold').value = '1'")
    page.ask(response=next(iter(demo.EXPECTED)))
    page.reported()
    [button] = [node for node in page.every(".tools button") if node.text == "Download"]
    button.click()
    assert Report.from_json(downloaded(downloads, ".json")[1]).threshold == 1.0
