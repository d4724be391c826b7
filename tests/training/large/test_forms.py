"""Generated forms: every label, no claim twice with two labels, the same for a seed."""

from __future__ import annotations

import random
from collections import Counter

from training.large.forms import forms
from training.large.scenes import MAKERS


def test_forms_are_the_same_for_a_seed_and_differ_between_seeds() -> None:
    one, again, other = (forms(40, random.Random(seed)) for seed in (5, 5, 6))
    assert [(p.text, [c.text for c in p.claims]) for p in one] == [
        (p.text, [c.text for c in p.claims]) for p in again
    ]
    assert [p.text for p in one] != [p.text for p in other]


def test_every_form_has_true_and_false_claims() -> None:
    for passage in forms(120, random.Random(8)):
        labels = Counter(claim.label for claim in passage.claims)
        assert labels["E"], passage
        assert labels["C"] + labels["notE"], passage


def test_no_form_labels_one_claim_twice() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        for maker in MAKERS:
            claims = maker(rng).claims
            labels: dict[str, set[str]] = {}
            for claim in claims:
                labels.setdefault(claim.text, set()).add(claim.label)
            assert all(len(found) == 1 for found in labels.values()), claims
