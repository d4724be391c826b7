"""The page when something is wrong: token, input, a busy server, one that dies or restarts."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from halldetect.report import demo
from halldetect_serve.access import create_token
from tests.support.fake_service import AWAKE
from tests.support.page_in_browser import Page
from tests.support.running import eventually, serving

pytestmark = pytest.mark.browser

LONG = " ".join(f"The shed in row {n} holds {n * 7} crates of pears." for n in range(1, 9))


@contextmanager
def visiting(browser, running):
    visit = Page(browser, running.url)
    visit.begin()
    yield visit
    assert visit.complaints() == []


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """The real service with tokens; yields it and the file with its tokens."""
    folder = tmp_path_factory.mktemp("guarded")
    file = folder / "tokens"
    options = ("--auth", "--tokens", str(file), "--store", "--database", f"sqlite:///{folder}/x.db")
    with serving(*options, real=True) as running:
        yield running, file


def token(running, file, name, *scopes):
    """A token that the service has noticed."""
    made = create_token(file, name, scopes or ["read", "check"])
    eventually(lambda: not refused(running, made))
    return made


def test_wrong_and_right_token(browser, guarded):
    running, file = guarded
    good = token(running, file, "alice", "admin")
    with visiting(browser, running) as page:
        page.open()
        page.wait("#token-dialog[open]")
        page.paste("#token", "hd_" + "x" * 43)
        page.press("#token-dialog [type=submit]")
        error = page.wait("#token-error")
        assert error.text == "The server does not know this token."
        assert page.one("#token").get_attribute("aria-invalid") == "true"
        page.paste("#token", "two words")
        page.press("#token-dialog [type=submit]")
        page.until(lambda: "no spaces" in error.text, "the refusal of a space")
        page.paste("#token", good)
        page.press("#token-dialog [type=submit]")
        page.until(lambda: not page.every("#token-dialog"), "the end of the dialog")
        assert page.wait("#token-button").text == "Token: alice"
        page.ask(keep=True)
        assert page.reported() == "Hallucinated"
        # Kept for this tab alone, and nowhere in the page or its address.
        assert page.run("return Object.values(sessionStorage)") == [good]
        assert good not in str(page.run("return Object.values(localStorage)"))
        assert good not in page.browser.page_source + page.browser.current_url
        page.browser.refresh()
        assert page.reported() == "Hallucinated"
        page.press("#token-button")
        page.press("#token-forget")
        page.until(lambda: page.one("#token-button").text == "Enter token", "the token to go")
        assert page.run("return sessionStorage.length") == 0


def test_revoked_token_is_asked_for_again(browser, guarded):
    running, file = guarded
    with visiting(browser, running) as page:
        first, second = token(running, file, "first"), token(running, file, "second")
        page.open()
        page.paste("#token", first)
        page.press("#token-dialog [type=submit]")
        page.until(lambda: not page.every("#token-dialog"), "the end of the dialog")
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if not line.startswith("first ")))
        page.until(lambda: refused(running, first), "the token to be gone")
        page.ask()
        page.wait("#token-dialog[open]")
        assert page.wait(".notice").get_attribute("data-code") == "unauthorized"
        page.paste("#token", second)
        page.press("#token-dialog [type=submit]")
        assert page.reported() == "Hallucinated"


def refused(running, known):
    with running.client(known) as client:
        return client.get("/v1/models").status_code == 401


def test_check_token_sees_no_history(browser, guarded):
    running, file = guarded
    with visiting(browser, running) as page:
        page.open("/?view=history")
        page.paste("#token", token(running, file, "robot", "check"))
        page.press("#token-dialog [type=submit]")
        assert page.wait(".notice").get_attribute("data-code") == "forbidden"
        assert not page.every("[data-view=history]")
        page.press("[data-view=check]")
        page.ask()
        assert page.reported() == "Hallucinated"


def test_the_server_is_restarted_half_way(browser, tmp_path):
    """Killed while it judges: the page says so, keeps the texts, and uses the new one."""
    options = ("--database", f"sqlite:///{tmp_path}/a.db")
    with serving(*options) as running, visiting(browser, running) as page:
        page.open()
        page.paste("#documents textarea", LONG)
        page.paste("#response", f"{LONG} Somebody sleeps 90000 ms.")
        page.press("#submit")
        page.wait("#watch .card")
        running.process.kill()
        running.process.wait()
        notice = page.wait(".notice")
        assert notice.get_attribute("data-code") == "cut"
        assert "connection to the server was lost" in notice.text
        assert "of 9 claims had been settled" in page.one("#watch .phase").text
        page.press(".notice .primary")
        page.until(
            lambda: page.one(".notice").get_attribute("data-code") == "unreachable",
            "word that nobody answers",
        )
        port = str(urlsplit(running.url).port)
        with serving(*options, "--port", port, real=True):
            page.press(".notice .primary")
            page.wait("#watch .card, .report-view .card")
            assert not page.every(".notice")
            # A slow browser may find the check done, and the report in its place.
            leave = (
                "(document.querySelector('#watch .watch-head .quiet') ??"
                " [...document.querySelectorAll('button')].find((node) =>"
                " node.textContent === 'Edit the texts'))?.click();"
                "return document.querySelector('#check-form')?.checkVisibility()"
            )
            page.until(lambda: page.run(leave), "form")
            assert page.one("#documents textarea").get_attribute("value") == LONG
            page.paste("#documents textarea", demo.SOURCE)
            page.paste("#response", next(iter(demo.EXPECTED)))
            page.press("#submit")
            assert page.reported() == "Faithful"


def test_server_gone_before_the_check(browser):
    with serving() as running, visiting(browser, running) as page:
        page.open()
        assert not page.every("[data-view=history], #store-label")  # this one keeps nothing
        running.process.kill()
        running.process.wait()
        page.ask()
        assert page.wait(".notice").get_attribute("data-code") == "unreachable"
        page.press(".notice .quiet")
        assert page.wait("#response").get_attribute("value") == demo.RESPONSE


def test_a_busy_server_says_when_to_come_back(browser, tmp_path):
    options = ("--queue", "1", "--max-items", "1", "--max-batch", "1")
    awake = tmp_path / "awake"
    with (
        serving(*options, environment={AWAKE: str(awake)}) as running,
        visiting(browser, running) as page,
    ):
        page.open()
        page.paste("#documents textarea", demo.SOURCE)
        page.paste("#response", demo.RESPONSE)
        slow = {"response": "This one sleeps 90000 ms."}

        def occupy(source):  # equal requests would be checked once
            with running.client() as client:
                client.post("/v1/check", json={**slow, "source": source})

        others = [threading.Thread(target=occupy, args=(text,)) for text in ("It is.", "It was.")]
        for number, other in enumerate(others):
            other.start()
            gauge = ("running 1.0", "queued 1.0")[number]
            page.until(lambda gauge=gauge: gauge in metrics(running), gauge)
        page.press("#submit")
        notice = page.wait(".notice")
        assert notice.get_attribute("data-code") == "queue_full"
        again = page.one(".notice .primary")
        assert not again.is_enabled()
        assert again.text.startswith("Try again in ")
        awake.touch()
        for other in others:
            other.join()
        page.until(again.is_enabled, "the pause to end")
        again.click()
        page.reported()


def metrics(running):
    with running.client() as client:
        return client.get("/metrics").text


def test_dead_worker_is_reported(browser):
    with serving() as running, visiting(browser, running) as page:
        page.open()
        page.ask("It is so.", "The verifier dies of this.")
        notice = page.wait(".notice")
        assert notice.get_attribute("data-code") == "worker_failed"
        assert "Request " in notice.text
        page.press(".notice .quiet:not(.primary)")
        page.ask("It is so.", "It is so.")
        page.until(
            lambda: page.every(".report-view .verdict") or page.every(".notice"), "an outcome"
        )
        while page.every(".notice"):  # the worker is on its way back
            page.until(lambda: page.one(".notice .primary").is_enabled(), "the pause to end")
            page.press(".notice .primary")
            page.until(
                lambda: page.every(".report-view .verdict") or page.every(".notice"), "an outcome"
            )
        page.reported()


@pytest.mark.parametrize(
    ("field", "source", "response", "message"),
    [
        ("source", "", "It is so.", "Paste a source"),
        ("source", " \n ", "It is so.", "Paste a source"),
        ("response", "It is so.", "", "Paste the response"),
    ],
)
def test_missing_texts_are_named_where_they_are_missing(page, field, source, response, message):
    page.open()
    page.ask(source, response)
    error = page.wait(f"#{field}-error")
    assert error.text.startswith(message)
    focused = page.browser.switch_to.active_element
    assert focused.get_attribute("aria-invalid") == "true"
    assert f"{field}-error" in focused.get_attribute("aria-describedby")
    page.paste("#documents textarea", demo.SOURCE)
    page.paste("#response", demo.RESPONSE)
    assert not page.every(".field-error")


def test_limits_are_checked_in_the_page(page, real_service):
    page.open()
    with real_service.client() as client:
        limit = client.get("/v1/session").json()["limits"]["max_response"]
    page.paste("#documents textarea", "It is so.")
    page.run("document.getElementById('response').value = arguments[0]", "é" * (limit + 1))
    page.press("#submit")
    assert f"{limit + 1:,} characters" in page.wait("#response-error").text
    page.paste("#response", "It is so.")
    page.run("document.getElementById('threshold').value = '1.5'")
    page.press("#submit")
    assert page.wait("#threshold-error").text == "The threshold is a number between 0 and 1."


def test_a_report_that_cannot_be_checked_says_why(page):
    page.open()
    page.ask("It is so.", "?")
    assert page.reported() == "Uncheckable"
    assert "Could not be checked" in page.one(".summary").text
