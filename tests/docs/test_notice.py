"""NOTICE and the model cards state the licence of every training set."""

from __future__ import annotations

import re
import tomllib

from tests.support.notice import notice
from tests.support.paths import ROOT


def test_notice_is_up_to_date() -> None:
    assert (ROOT / "NOTICE").read_text(encoding="utf-8") == notice()


def test_cards_name_every_set_without_a_licence() -> None:
    sets = tomllib.loads((ROOT / "training" / "sets.toml").read_text(encoding="utf-8"))
    licences = {name.rpartition(".")[0]: item[1] for name, item in sets["pairs"].items()}
    licences |= sets["licences"]
    unstated = {name for name, licence in licences.items() if licence == "none stated"}
    card = (ROOT / "docs" / "model-card-large.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"No licence is stated for: ([^.]+)\.", card)
    assert set(listed.split(", ")) == unstated
    for page in ("model-card.md", "model-card-large.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert f"{len(unstated)} sets state no licence" in text
