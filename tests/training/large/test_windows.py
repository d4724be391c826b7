"""Short windows of sources, and a handbook's pages in two languages."""

from __future__ import annotations

import random
from pathlib import Path

from training.large import handbook, windows

SENTENCES = [
    "The harbour opened in 1902.",
    "A storm broke its northern wall in 1931.",
    "The wall was built again by the city within two years.",
    "Today ferries leave for three islands.",
    "Tickets are sold at the gate.",
]


def test_a_window_grows_around_the_sentence_of_the_claim() -> None:
    claim = "The storm broke the wall."
    assert windows.window(SENTENCES, claim, 1) == SENTENCES[1]
    assert windows.window(SENTENCES, claim, 20) == " ".join(SENTENCES[1:3])
    assert windows.window(SENTENCES, claim, 400) == " ".join(SENTENCES)


def test_windows_hold_claims_of_their_source_without_labels() -> None:
    claims = [{"text": text, "label": "E"} for text in SENTENCES]
    group = {"premise": " ".join(SENTENCES), "claims": claims}
    (made,) = windows.windows([group], 3, random.Random(1))
    assert made["premise"] in group["premise"]
    assert set(made["claims"]) <= set(SENTENCES)


def page(folder: Path, name: str, texts: list[str]) -> None:
    (folder / name).mkdir(exist_ok=True)
    body = "".join(f'<div class="para">\n {text} </div>' for text in texts)
    (folder / name / "one.html").write_text(f"<html>{body}</html>", encoding="utf-8")


def test_pages_are_aligned_sentence_by_sentence(tmp_path: Path) -> None:
    english = [" ".join(SENTENCES[:3]), "Not <em>translated</em>. At all."]
    german = [
        "Der Hafen wurde im Jahr 1902 eröffnet. Ein Sturm zerstörte 1931 seine nördliche Mauer. "
        "Die Stadt baute die Mauer binnen zwei Jahren wieder auf.",
        "Not <em>translated</em>. At all.",
    ]
    page(tmp_path, "en-US", english)
    page(tmp_path, "de-DE", german)
    texts = [handbook.paragraphs(tmp_path / name / "one.html") for name in ("en-US", "de-DE")]
    mine, theirs = handbook.translated(*texts)
    assert list(mine.values()) == SENTENCES[:3]
    assert len(theirs) == 3
    assert theirs[0, 1].startswith("Ein Sturm")
    assert handbook.translated(texts[0], texts[1][:1]) == ({}, {})
