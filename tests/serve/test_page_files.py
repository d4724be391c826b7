"""The files of the page: what is served, under which policy, and what they may not hold."""

from __future__ import annotations

import asyncio
import re

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

import httpx
from fastapi import FastAPI

from halldetect.render.html import SCRIPT, VIEW_STYLES
from halldetect.render.html_page import asset
from halldetect.report import demo
from halldetect_serve.middleware import CONTENT_SECURITY_POLICY
from halldetect_serve.routes import status as pages


class Client:
    def __init__(self):
        self.app = FastAPI()
        self.app.include_router(pages.page_router)

    def get(self, path, headers=None):
        async def asked():
            way = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=way, base_url="http://page") as client:
                return await client.get(path, headers=headers)

        return asyncio.run(asked())


@pytest.fixture(scope="module")
def client():
    return Client()


def test_policy_of_the_page(client):
    answer = client.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.strip().split(" ", 1) for part in CONTENT_SECURITY_POLICY.split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(client):
    html = client.get("/").text
    assert re.findall(r"<script(?![^>]*\ssrc=)", html) == []
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=|javascript:", html) == []
    for name, file in pages.static_files().items():
        if name in (*VIEW_STYLES, SCRIPT):
            continue
        text = file.decode().replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"https?:|url\(\s*[\"']?//|@import", text) == [], name


def test_no_script_turns_a_string_into_markup():
    risky = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|Function\("
    )
    for name, file in pages.static_files().items():
        assert not risky.search(file.decode()) or name == pages.EXAMPLE, name


def test_all_files_of_the_page_exist(client):
    html = client.get("/").text
    asked = re.findall(r'(?:src|href)="static/([^"]+)"', html)
    imported = set()
    for name in pages.static_files():
        if name.endswith(".js"):
            imported |= set(re.findall(r'from "\./([^"]+)"', client.get(f"/static/{name}").text))
    for name in {*asked, *imported}:
        assert client.get(f"/static/{name}").status_code == 200, name
    assert SCRIPT in asked
    for name in (SCRIPT, *VIEW_STYLES):
        assert client.get(f"/static/{name}").text == asset(name)
    used = {*asked, *imported, pages.EXAMPLE, "sheet.css", "dataset.css"}  # of other pages
    assert set(pages.static_files()) - {pages.INDEX} == used


@pytest.mark.parametrize(
    "name", ["nothing.js", "index.html", "..%2Fpages.py", "%2e%2e%2fapp.py", "app.js%00", "APP.JS"]
)
def test_only_names_of_the_table_are_served(client, name):
    assert client.get(f"/static/{name}").status_code == 404


def test_types_and_revalidation(client):
    kinds = {
        "app.js": "text/javascript; charset=utf-8",
        "app.css": "text/css; charset=utf-8",
        "icon.svg": "image/svg+xml",
        "example.json": "application/json",
    }
    for name, kind in kinds.items():
        first = client.get(f"/static/{name}")
        assert first.headers["content-type"] == kind
        assert first.headers["cache-control"] == "no-cache"
        again = client.get(f"/static/{name}", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_the_example_is_the_demo(client):
    example = client.get("/static/example.json").json()
    assert example == {
        "source": [demo.SOURCE],
        "response": demo.RESPONSE,
        "question": demo.QUESTION,
    }
