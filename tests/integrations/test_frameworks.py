"""Every adapter in its real framework: the same four cases, and no pass for what is unchecked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integrations.cases import CASES, Case
from tests.integrations.frameworks import FRAMEWORKS

pytestmark = [
    pytest.mark.integrations,
    # What frameworks warn of in their own code is theirs.
    pytest.mark.filterwarnings("default"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
# With `--dist loadgroup` one process imports a framework, for all of its tests.
@pytest.mark.parametrize(
    "framework",
    [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in FRAMEWORKS],
)
def test_an_adapter_says_what_the_report_says(framework: str, case: Case, tmp_path: Path) -> None:
    found = FRAMEWORKS[framework](case, tmp_path)
    assert found.passed is case.passed
    for text in case.reason:
        assert text in (found.reason or "")
