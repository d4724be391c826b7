"""Run mutmut over the modules of `[tool.mutmut]` in pyproject.toml and count what is killed.

    python -m tests.mutation                      every mutant, on all cores
    python -m tests.mutation 'halldetect.scoring*'  those whose name matches a pattern
    python -m tests.mutation --sample 600         600 of them, drawn by --seed, as many from
                                                  each package as from any other
    python -m tests.mutation --report             what earlier runs found, without running

Needs mutmut (`pip install mutmut 'pytest<9'`). It works in `mutants/`, a changed copy of the
repository, and goes on from there the next time; mutants of a function that has changed are run
again. A mutant that survived is run again where it is named. Those of a sample are run in turn
from each package, so that a run that is stopped early has met all packages alike.

Mutants that only change `strict=` of a `zip` are left out: it asserts that two lists are of one
length, which they are by construction, so no input shows a difference. So are those of what only
tests with a server meet.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

# A mutant that hangs, or that ends the interpreter, is noticed as surely as one that fails.
NOTICED = ("killed", "timeout", "segfault", "suspicious")
RUN = (*NOTICED, "survived", "no tests")
# The suite with a database tests these.
_WITH_SERVER = "ǁPostgresIndexǁ"
# Runs in a process of its own, since mutmut replaces modules. A sample is drawn after mutmut has
# made the mutants; those that were run before are not run again. Tests of the service meet its own
# mutants only: they would wait long for an answer that another mutant prevents.
PROGRAM = """
import sys
import mutmut.__main__ as mutmut
from mutmut.state import state
from tests.mutation.__main__ import left_out, order
count, seed = map(int, sys.argv.pop(1).split(","))
collect = mutmut.collect_source_file_mutation_data
places = {}
def sampled(*, mutant_names):
    found, data = collect(mutant_names=mutant_names)
    without = {name for path in data for name in left_out(path)}
    found = [item for item in found if item[1] not in without]
    chosen = order([name for _, name, _ in found], seed)[: count or len(found)]
    places.update((name, at) for at, name in enumerate(chosen))
    for name, tests in state().tests_by_mangled_function_name.items():
        if not name.startswith("halldetect_serve"):
            tests -= {test for test in tests if test.startswith("tests/serve/")}
    return [item for item in found if item[1] in places], data
mutmut.collect_source_file_mutation_data = sampled
mutmut.estimated_worst_case_time = places.__getitem__  # it runs them in the order of this
mutmut.cli()
"""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change and what came of it.

    name    of mutmut, for `mutmut show` and as a pattern of this command
    file    the module that was changed
    status  one of mutmut: `killed`, `survived`, `no tests`, `timeout`, ...
    diff    the change; empty for those that were noticed
    """

    name: str
    file: str
    status: str
    diff: str = ""


def package(module: str) -> str:
    """Return the package of a module, or of a mutant, by its dotted name: "halldetect.faults"."""
    return ".".join(module.split(".")[:2])


def order(names: Iterable[str], seed: int) -> list[str]:
    """Return names in an order by chance that takes one from each package in turn.

    It is the same one every time, whatever the order of the names.
    """
    drawn = sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
    turns: Counter[str] = Counter()
    places = {}
    for name in drawn:
        turns[package(name)] += 1
        places[name] = turns[package(name)]
    return sorted(drawn, key=places.__getitem__)


class _WithoutStrict(ast.NodeTransformer):
    """Removes `strict=` from the calls of `zip`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "zip":
            node.keywords = [item for item in node.keywords if item.arg != "strict"]
        return node


def left_out(path: str | Path) -> set[str]:
    """Return the names of the mutants of a module that no test here could notice.

    They only change `strict=` of a `zip`, or need a server.
    """
    source = (Path("mutants") / path).read_text(encoding="utf-8")
    module = ".".join(Path(path).relative_to("src").with_suffix("").parts)
    module = module.removesuffix(".__init__")
    functions = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "__mutmut_" in node.name:
            name, node.name = node.name, ""
            functions[name] = ast.dump(_WithoutStrict().visit(node))
    return {
        f"{module}.{name}"
        for name, code in functions.items()
        if not name.endswith("__mutmut_orig")
        and (
            _WITH_SERVER in name
            or code == functions[name.rpartition("__mutmut_")[0] + "__mutmut_orig"]
        )
    }


def mutants() -> Iterator[Mutant]:
    """The mutants of the last run, in the order of the code."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.stats import status_by_exit_code
    from mutmut.utils.file_utils import walk_mutatable_files

    for path in sorted(walk_mutatable_files()):
        data = SourceFileMutationData(path=path)
        data.load()
        without = left_out(path)
        for name, code in data.exit_code_by_key.items():
            if name in without:
                continue
            status = status_by_exit_code[code]
            missed = status in ("survived", "no tests")
            diff = get_diff_for_mutant(name, path=path) if missed else ""
            yield Mutant(name, str(path), status, diff)


def room(file: str) -> str:
    """Return the package of a file as a person names it: "faults", "stream", "serve.proxy"."""
    module = ".".join(Path(file).relative_to("src").with_suffix("").parts)
    return package(module).removeprefix("halldetect").lstrip("._")


def table(found: Sequence[Mutant]) -> str:
    """Mutants, noticed and score per package, and of all."""
    counts: dict[str, Counter[str]] = {}
    for mutant in found:
        if mutant.status in RUN:
            for row in (room(mutant.file), "all"):
                counts.setdefault(row, Counter())[mutant.status] += 1
    lines = [
        "| package | mutants | noticed | survived | no tests | score |",
        "|---|---|---|---|---|---|",
    ]
    for row, of_row in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        noticed = sum(of_row[status] for status in NOTICED)
        lines.append(
            f"| {row} | {of_row.total()} | {noticed} | {of_row['survived']} | "
            f"{of_row['no tests']} | {noticed / of_row.total():.1%} |"
        )
    return "\n".join(lines)


def run(options: argparse.Namespace) -> None:
    """Run mutmut until it is done or the time is over; what it has found by then stays."""
    command = [sys.executable, "-c", PROGRAM, f"{options.sample},{options.seed}", "run"]
    command += ["--max-children", str(options.processes), *options.patterns]
    running = subprocess.Popen(command)
    try:
        code = running.wait(options.seconds)
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGINT)  # it ends its children, and keeps its results
        running.wait()
    else:
        if code:
            raise SystemExit(code)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("patterns", nargs="*", help="names of mutants")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="run only N mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--seconds", type=float, metavar="N", help="stop after this time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every mutant to a file")
    parser.add_argument("--report", action="store_true", help="only report what was run before")
    options = parser.parse_args()
    if not options.report:
        run(options)
    found = list(mutants())
    if options.sample:
        chosen = {*order([mutant.name for mutant in found], options.seed)[: options.sample]}
        found = [mutant for mutant in found if mutant.name in chosen]
    if options.json:
        lines = (json.dumps(asdict(mutant)) + "\n" for mutant in found)
        options.json.write_text("".join(lines), encoding="utf-8")
    print(table(found))


if __name__ == "__main__":
    main()
