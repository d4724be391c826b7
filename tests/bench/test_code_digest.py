"""The digest of the code behind a score."""

from __future__ import annotations

from pathlib import Path

import halldetect
import halldetect_bench.code_digest as code_digest_module
from halldetect_bench.code_digest import code_digest, digest_of_modules


def test_only_code_changes_the_digest(tmp_path: Path) -> None:
    module = tmp_path / "room" / "one.py"
    module.parent.mkdir()

    def digest(text: str) -> str:
        module.write_text(text, encoding="utf-8")
        return digest_of_modules([module.parent])

    first = digest('"""Old words."""\ndef one():\n    """More."""\n    return "é#"  # a number\n')
    assert digest('"""New\nwords."""\ndef one():\n\n    return "é#"\n') == first
    assert digest('def one():\n    return "#"\n') != first


def test_digest_does_not_depend_on_python(tmp_path: Path) -> None:
    module = tmp_path / "one.py"
    module.write_text('def one(a):\n    """Words."""\n    return f"{a!r:>{a}} {a}"  # why\n')
    assert digest_of_modules([module]) == "11f3e2409ce9110c"


def test_digest_leaves_out_what_only_shows() -> None:
    detector = Path(halldetect.__file__).parent
    assert {path.stem for path in detector.iterdir()} > code_digest_module._NO_SCORE
    assert not {"verification", "reading", "scoring", "pipeline"} & code_digest_module._NO_SCORE
    assert len(code_digest()) == 16
