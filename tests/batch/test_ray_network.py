"""A machine of a Ray cluster that is cut off from the network while it checks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from halldetect.batch.job import Job
from halldetect.batch.local import run_local
from tests.support.batch_files import detector, rows_of_all_kinds, untimed, write_jsonl
from tests.support.two_machines import ALONE, WORKER

pytestmark = pytest.mark.ray
ROWS = 24
MACHINES = "tests.support.two_machines"


def test_a_machine_without_a_network_costs_no_row(tmp_path: Path) -> None:
    """Its rows are checked on the machine that is left, and every row is there once."""
    pytest.importorskip("ray")
    try:
        subprocess.run([*ALONE, "ip", "link"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no namespaces on this machine: {error}")
    source = str(write_jsonl(tmp_path / "in.jsonl", rows_of_all_kinds(ROWS)))
    run_local(detector(), Job(source, str(tmp_path / "here.jsonl")))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "disabled",
        "RAY_worker_niceness": "0",
        # Who waits for a word from the lost machine gives up after seconds, not two minutes.
        "RAY_grpc_client_keepalive_time_ms": "2000",
        "RAY_grpc_client_keepalive_timeout_ms": "2000",
    }
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as ray_folder:
        ran = subprocess.run(
            [*ALONE, sys.executable, "-m", MACHINES, str(tmp_path), ray_folder],
            capture_output=True,
            text=True,
            timeout=600,
            env=environment,
        )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1].split() == [str(ROWS), WORKER]
    assert untimed(tmp_path / "there.jsonl") == untimed(tmp_path / "here.jsonl")
