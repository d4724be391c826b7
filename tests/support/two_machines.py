"""Two machines on one: a Ray cluster whose worker has a network of its own, which can be cut.

    python -m tests.support.two_machines FOLDER RAY

Checks the rows of FOLDER/in.jsonl on the cluster and cuts the worker off while it checks. Ray's
head and the run itself stay connected. FOLDER/there.jsonl gets the results. RAY is a
folder with a short name for Ray's files. To be run in namespaces of its own (`ALONE`), with which
all processes end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from halldetect import Detector
from halldetect.batch.job import Job
from halldetect.batch.ray import Cluster, run_on_ray
from tests.support.batch_files import detector

HEAD, WORKER, PORT = "10.9.0.1", "10.9.0.2", 6399
PATIENCE = 180.0
ALONE = "unshare --user --map-root-user --net --pid --fork --kill-child --mount-proc".split()
# A lost machine is noticed after a few seconds, not after half a minute.
QUICK_HEALTH_CHECKS = (
    '{"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500,'
    ' "health_check_timeout_ms": 4000, "health_check_failure_threshold": 3}'
)


def _start(*command: str) -> int:
    null = subprocess.DEVNULL
    return subprocess.Popen(command, stdout=null, stderr=null).pid


def _ip(*arguments: str, inside: int | None = None) -> None:
    enter = [] if inside is None else ["nsenter", "--target", str(inside), "--net"]
    subprocess.run([*enter, "ip", *arguments], check=True)


class Machines:
    """A head and a worker of Ray that a virtual cable connects."""

    def __init__(self, folder: Path) -> None:
        other = _start("unshare", "--net", "sleep", "600")
        own = Path("/proc/self/ns/net").readlink()
        while Path(f"/proc/{other}/ns/net").readlink() == own:
            time.sleep(0.01)
        _ip("link", "add", "here", "type", "veth", "peer", "name", "there")
        _ip("link", "set", "there", "netns", str(other))
        for name, address, inside in (("here", HEAD, None), ("there", WORKER, other)):
            _ip("addr", "add", f"{address}/24", "dev", name, inside=inside)
            _ip("link", "set", name, "up", inside=inside)
            _ip("link", "set", "lo", "up", inside=inside)
        ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
        ray += ["--object-store-memory=100000000"]
        head = ["--head", f"--port={PORT}", f"--node-ip-address={HEAD}", f"--temp-dir={folder}"]
        head += ["--include-dashboard=false", f"--system-config={QUICK_HEALTH_CHECKS}"]
        _start(*ray, *head)
        enter = ["nsenter", "--target", str(other), "--net"]
        _start(*enter, *ray, f"--address={HEAD}:{PORT}", f"--node-ip-address={WORKER}")

    def cut(self) -> None:
        """Cut the cable."""
        _ip("link", "set", "here", "down")


def slow_detector(folder: Path) -> Detector:
    """One that takes a while and tells on which machine it works."""
    import ray

    made = detector()
    real = made.check_many
    address = ray.util.get_node_ip_address()

    def check_many(*arguments: Any) -> Any:
        (folder / f"works-on-{address}").touch()
        wait_for(lambda: both_work(folder))  # neither does all rows before the other begins
        time.sleep(0.5)
        return real(*arguments)

    made.check_many = check_many  # type: ignore[method-assign, assignment]
    return made


def both_work(folder: Path) -> bool:
    """Whether both machines have begun to check."""
    return len(list(folder.glob("works-on-*"))) == 2


def wait_for(condition: Any) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def main(folder: Path, ray_folder: Path) -> None:
    """Check the rows, cut the worker off meanwhile, and tell rows and lost machines."""
    import ray

    machines = Machines(ray_folder)
    ray.init(address=f"{HEAD}:{PORT}", log_to_driver=False)
    wait_for(lambda: ray.cluster_resources().get("CPU") == 2)

    def cut_when_both_work() -> None:
        wait_for(lambda: both_work(folder))
        machines.cut()

    threading.Thread(target=cut_when_both_work, daemon=True).start()
    job = Job(str(folder / "in.jsonl"), str(folder / "there.jsonl"), in_parts=True)
    cluster = Cluster(workers=2, part_rows=4)
    outcome = run_on_ray(detector(), job, cluster, make_detector=lambda: slow_detector(folder))
    lost = [node["NodeManagerAddress"] for node in ray.nodes() if not node["Alive"]]
    print(outcome.counts.rows, *lost, flush=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
    os._exit(0)  # Ray would wait half a minute for the machine that is gone
