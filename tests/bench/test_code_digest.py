"""The digest of the code behind a score."""

from __future__ import annotations

from pathlib import Path

from halldetect_bench.code_digest import code_digest, digest_of_modules


def test_words_about_the_code_do_not_change_the_digest_and_code_does(tmp_path: Path) -> None:
    module = tmp_path / "room" / "one.py"
    module.parent.mkdir()

    def digest(text: str) -> str:
        module.write_text(text)
        return digest_of_modules([module.parent])

    first = digest('"""Old words."""\ndef one():\n    """More."""\n    return 1  # a number\n')
    assert digest('"""New words."""\ndef one():\n\n    return 1\n') == first
    assert digest("def one():\n    return 2\n") != first


def test_the_digest_covers_planner_claims_windows_and_texts() -> None:
    import halldetect_bench.code_digest as module

    assert {"claims", "text", "windows", "verification", "scoring"} <= set(module._DETECTOR)
    assert len(code_digest()) == 16
