"""The layout of Markdown: structure is found, and no word is hidden."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.render.text_layout import text_layout

TEXT = """\
## Harbour *ferry* report

Intro **bold text** and `co_de` with a [link](https://example.org/a_b) end.
Second \\* line.

- one
- **two**: text
  1. nested

25) bicycles have room

> quoted words
> and more

| Name | Price |
|---|--:|
| Adult | 4 euros |
| Child \\| baby | **free** | not in a column |

```python
x = 1
```

[ref]: https://example.org "title words"
"""


def leaves(layout):
    for block in layout:
        yield from [cell for row in block.rows for cell in row] or [block]


def shown(text, block):
    """The text of a block without its syntax."""
    hidden = {
        at for mark in block.marks if mark.kind == "syntax" for at in range(mark.start, mark.end)
    }
    return "".join(text[at] for at in range(block.start, block.end) if at not in hidden)


def test_blocks_and_marks_are_exact():
    layout = text_layout(TEXT)
    found = [(block.kind, block.level, shown(TEXT, block)) for block in leaves(layout)]
    intro = "Intro bold text and co_de with a linkhttps://example.org/a_b end.\nSecond * line."
    assert found == [
        ("heading", 2, "Harbour ferry report"),
        ("paragraph", 0, intro),
        ("item", 1, "one"),
        ("item", 1, "two: text"),
        ("item", 2, "1. nested"),
        ("item", 1, "25) bicycles have room"),
        ("paragraph", 0, "quoted words\nand more"),
        ("paragraph", 0, "Name"),
        ("paragraph", 0, "Price"),
        ("paragraph", 0, "Adult"),
        ("paragraph", 0, "4 euros"),
        ("paragraph", 0, "Child | baby"),
        ("paragraph", 0, "free"),
        ("paragraph", 0, "not in a column"),
        ("paragraph", 0, "python"),
        ("code", 0, "x = 1"),
        ("paragraph", 0, '[ref]: https://example.org "title words"'),
    ]
    marks = {(mark.kind, TEXT[mark.start : mark.end]) for mark in layout[1].marks}
    assert {("strong", "bold text"), ("address", "https://example.org/a_b")} <= marks
    assert [block.quoted for block in layout].count(True) == 1


@pytest.mark.parametrize(
    "text",
    ["", "Plain words.\n\nOther words.", "2 * 3 * 4 = 24", "a_b_c", "x" * 300_000, "- a\n<p>b</p>"],
)
def test_plain_text_has_no_layout(text):
    assert text_layout(text) is None


LINE_STARTS = ("# ", "- ", "1. ", "25) ", "> ", "    ", "\t", "===", "---", "```", "```py\n")
TABLES = ("| a | b |\n|---|---|\n", "| c | d | e |", "|")
INLINE = ("**", "*", "_", "`", "~~", "\\", "[x](y)", "](", "[r]: http://e.org\n", "<b>")
TEXTS = ("word", "7", " ", "\n", "\n\n", "\r\n", "é", "😀", "\0", "\x0b", "&amp;")
PIECES = st.sampled_from((*LINE_STARTS, *TABLES, *INLINE, *TEXTS))


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_word_is_hidden_or_repeated(text):
    layout = text_layout(text)
    if layout is None:
        return
    covered = [0] * len(text)
    for block in leaves(layout):
        for at in range(block.start, block.end):
            covered[at] += 1
        for mark in block.marks:
            assert block.start <= mark.start < mark.end <= block.end
            if mark.kind == "syntax":
                assert not any(map(str.isalnum, text[mark.start : mark.end]))
    assert max(covered, default=0) <= 1
    words = [at for at, character in enumerate(text) if character.isalnum()]
    assert [at for at in words if covered[at] != 1] == []


@pytest.mark.parametrize("piece", ["**a ", "`a ", "[a](", "> ", "|a", "*_", "1. a\n"])
def test_hostile_repetition_stays_quick(piece):
    text = (piece * 20_000)[:40_000]
    start = time.process_time()  # independent of other load on the machine
    text_layout(text)
    assert time.process_time() - start < 5
