"""halldetect doctor: what is installed, whether a check works, and how fast it runs here."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from halldetect.cli.output import print_result

if TYPE_CHECKING:
    from halldetect.cli.installation import Diagnosis

DESCRIPTION = """\
Check the built-in example with the defaults, and show what is installed, which models are on this
machine, what the verifiers base and large would compute with, how many tokens per second base
reads here (measured for four seconds), and what to install for more. Nothing is downloaded.
"""
EPILOG = "exit status: 0 if the default check works, else 1, with the reason on standard error"
NOT_WORKING = 1


def add(commands: Any) -> None:
    """Add the command `doctor` to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="examine this installation",
        description=DESCRIPTION,
        epilog=EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="what was found as JSON")
    parser.set_defaults(run=run_doctor)


def run_doctor(arguments: argparse.Namespace) -> int:
    """Examine this installation; status 0 if the default check works, else 1."""
    from halldetect.cli.installation import diagnose

    diagnosis = diagnose()
    if arguments.json:
        print_result(f"{json.dumps(diagnosis.to_dict(), ensure_ascii=False, indent=2)}\n")
    else:
        print_result(diagnosis_text(diagnosis))
    if diagnosis.ok:
        return 0
    print(f"halldetect: the default check does not work: {diagnosis.problem}", file=sys.stderr)
    return NOT_WORKING


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """What was found, for a person.

    Args:
        diagnosis: what was found.
    """
    works = "works" if diagnosis.ok else "does not work"
    lines = [
        f"halldetect {diagnosis.version}, Python {diagnosis.python}",
        f"default check: {works}",
        "",
        "verifiers",
    ]
    for plan in diagnosis.plans:
        if plan.problem is not None:
            lines.append(f"  {plan.verifier}: not usable: {plan.problem}")
            continue
        line = f"  {plan.verifier}: {plan.runtime} on {plan.device}"
        if diagnosis.speed is not None and diagnosis.speed.verifier == plan.verifier:
            line += f", {diagnosis.speed.tokens_per_second:,.0f} tokens per second"
        lines.append(line)
    lines += ["", f"models (cache: {diagnosis.store})"]
    for model in diagnosis.models:
        place = "in the package, " if model.in_package else ""
        lines.append(f"  {model.name}: {place}{model.state}")
    lines += ["", f"extras installed: {_installed_extras(diagnosis)}"]
    if diagnosis.advice:
        lines += ["", "for more", *(f"  {line}" for line in diagnosis.advice)]
    return "\n".join(lines) + "\n"


def _installed_extras(diagnosis: Diagnosis) -> str:
    if not diagnosis.extras:
        return "unknown, since halldetect was not installed with pip"
    return ", ".join(extra.name for extra in diagnosis.extras if not extra.missing) or "none"
