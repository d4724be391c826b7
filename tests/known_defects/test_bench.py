"""What the evaluation prints."""

from __future__ import annotations

from halldetect_bench.report import readme_text
from halldetect_bench.stats.evidence import Evidence
from halldetect_bench.stats.tables import Tables
from tests.support.bench_fakes import make_results
from tests.support.known_defects import defect


@defect("Evidence")
def test_a_rival_on_our_weights_is_not_left_out_in_silence() -> None:
    """D3: one that scored fewer datasets is shown on those, or named as missing."""
    gold: list[bool | None] = [True, False] * 20
    scores: list[float | None] = [0.9, 0.1] * 20
    base = {"name": "base", "digest": "0123456789abcdef"}
    results = [
        make_results("qags-cnndm", "halldetect", scores, gold, verifier=base),
        make_results("qags-cnndm", "minicheck", [0.4, 0.6] * 20, gold, verifier=base),
        make_results("wice", "halldetect", scores, gold, verifier=base),
    ]
    assert "MiniCheck" in readme_text(Tables(Evidence(results, samples=20)))
