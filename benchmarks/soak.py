"""A mixed load on the service for a long time: does anything grow that should not?

    python -m benchmarks.soak [--minutes 6] [--out benchmarks/results/soak.json]

The service runs with the packaged models and a history. In parallel run small, equal and long
checks, streams that the client leaves, comparisons and repairs, a history that is filled, searched,
reviewed and emptied, refused requests, and connections that stop in the middle of a body. Half-way
the worker is killed. Memory, open files, threads and the queue are recorded all along and again
when idle. Afterwards come the faults of `benchmarks.faults`. The command fails, with a line for
each exceeded limit (`problems`).
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import fmean, median
from typing import Any
from urllib.parse import urlsplit

import httpx

from benchmarks.batch import made_rows
from benchmarks.faults import run_faults, works
from benchmarks.serve import megabytes
from benchmarks.store import base_weights, command, processor, store
from halldetect_serve.settings import Limits
from tests.support.running import Running, serving

SAMPLE_SECONDS = 5.0
QUIET_SECONDS = 20.0
# The limits of the processes, and of their growth in the second half. A worker holds the weights
# twice once it judges short pairs.
MOST = {
    "http_mb": 200,
    "worker_mb": 700,
    "http_files": 60,
    "worker_files": 40,
    "http_threads": 40,
    "worker_threads": 20,
    "queued": Limits().queue,
}
MOST_GROWTH = {"http_mb": 15, "http_files": 5, "worker_files": 5}
SIZES = ("http_mb", "worker_mb", "http_files", "worker_files", "http_threads", "worker_threads")


class Traffic:
    """Clients that send requests until they are stopped, and the outcome."""

    def __init__(self, service: Running) -> None:
        self._url = service.url
        self._rows = made_rows(5000, 10)
        self._stop = threading.Event()
        self.statuses: dict[str, Counter[str]] = {}
        self.seconds: dict[str, list[float]] = {}
        self.mixed_up = 0
        self._threads = [
            threading.Thread(target=self._run, args=(name, client, seed), daemon=True)
            for seed, (name, client) in enumerate(
                {
                    "small check": self._small,
                    "another small check": self._small,
                    "equal check": self._equal,
                    "long check": self._long,
                    "stream left half-way": self._leave,
                    "comparison or repair": self._compare,
                    "history": self._history,
                    "refused": self._refused,
                    "unfinished body": self._unfinished,
                }.items()
            )
        ]

    def start(self) -> None:
        """Start all clients."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop all clients, and wait for their last answers."""
        self._stop.set()
        for thread in self._threads:
            thread.join(120)

    def _run(self, name: str, act: Callable[[httpx.Client, random.Random], str], seed: int) -> None:
        rng = random.Random(seed)
        statuses = self.statuses[name] = Counter()
        seconds = self.seconds[name] = []
        with httpx.Client(base_url=self._url, timeout=90) as client:
            while not self._stop.is_set():
                began = time.perf_counter()
                try:
                    statuses[act(client, rng)] += 1
                except (httpx.HTTPError, OSError) as error:
                    statuses[type(error).__name__] += 1
                seconds.append(time.perf_counter() - began)
                time.sleep(rng.uniform(0.05, 0.4))

    def _row(self, rng: random.Random) -> dict[str, str]:
        row = rng.choice(self._rows)
        return {"source": row["source"], "response": row["response"]}

    def _small(self, client: httpx.Client, rng: random.Random) -> str:
        row = self._row(rng)
        answer = client.post("/v1/check", json=row)
        if answer.status_code == 200 and answer.json()["report"]["response"] != row["response"]:
            self.mixed_up += 1
        return str(answer.status_code)

    def _equal(self, client: httpx.Client, rng: random.Random) -> str:
        return self._small(client, random.Random(rng.randrange(3)))

    def _long(self, client: httpx.Client, rng: random.Random) -> str:
        rows = [self._row(rng) for _ in range(12)]
        body = {
            "source": " ".join(row["source"] for row in rows[:8]),
            "response": " ".join(row["response"] for row in rows),
        }
        return str(client.post("/v1/check", json=body).status_code)

    def _leave(self, client: httpx.Client, rng: random.Random) -> str:
        rows = [self._row(rng) for _ in range(6)]
        body = {"source": rows[0]["source"], "response": " ".join(r["response"] for r in rows)}
        with client.stream("POST", "/v1/check/stream", json=body) as answer:
            for _, _ in zip(range(rng.randrange(4)), answer.iter_lines(), strict=False):
                pass
            return f"left after {answer.status_code}"

    def _compare(self, client: httpx.Client, rng: random.Random) -> str:
        row, other = self._row(rng), self._row(rng)
        if rng.random() < 0.5:
            return str(client.post("/v1/repair", json=row).status_code)
        body = {"source": row["source"], "a": row["response"], "b": other["response"]}
        return str(client.post("/v1/compare", json=body).status_code)

    def _history(self, client: httpx.Client, rng: random.Random) -> str:
        stored = client.post("/v1/check", json={**self._row(rng), "store": True})
        if stored.status_code != 200:
            return str(stored.status_code)
        name = (stored.json().get("stored") or {}).get("id")
        client.get("/v1/reports", params={"search": "ferry"})
        client.get(f"/v1/reports/{name}.html")
        review = {"note": "seen", "decisions": [{"claim": 1, "decision": "agree"}]}
        reviewed = client.post(f"/v1/reports/{name}/review", json=review).status_code
        if rng.random() < 0.5:
            return f"deleted {client.delete(f'/v1/reports/{name}').status_code}"
        return f"reviewed {reviewed}"

    def _refused(self, client: httpx.Client, rng: random.Random) -> str:
        misspelt = b'{"source": "A.", "respons": "A."}'
        body = rng.choice([b'{"source": ', misspelt, b"", b"x" * 40_000_000])
        if not body:
            return str(client.get("/v1/reports/none-of-that-name").status_code)
        return str(client.post("/v1/check", content=body).status_code)

    def _unfinished(self, client: httpx.Client, rng: random.Random) -> str:
        address = urlsplit(self._url)
        with socket.create_connection((address.hostname or "", address.port or 0), 10) as line:
            head = "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            line.sendall(f'{head}Content-Length: 500\r\n\r\n{{"source": "'.encode())
            self._stop.wait(rng.uniform(0, 5))
        return "left"


def process_sizes(pid: int) -> tuple[float, int, int]:
    """Return the memory in MB, the open files and the threads of a process."""
    folder = Path(f"/proc/{pid}")
    found = re.search(r"^Threads:\s*(\d+)", (folder / "status").read_text(), re.MULTILINE)
    return megabytes(pid), len(list((folder / "fd").iterdir())), int(found[1]) if found else 0


def sample(service: Running, began: float) -> dict[str, Any]:
    """Return the current sizes of the processes and of the queue."""
    noted: dict[str, Any] = {"seconds": round(time.monotonic() - began)}
    for name, pid in (("http", service.process.pid), ("worker", service.worker())):
        sizes = process_sizes(pid)
        noted |= {f"{name}_mb": sizes[0], f"{name}_files": sizes[1], f"{name}_threads": sizes[2]}
    numbers = service.worker_numbers()
    return noted | {name: numbers[name] for name in ("queued", "running")}


def watch(service: Running, minutes: float) -> list[dict[str, Any]]:
    """Record sizes until the time is over; kill the worker once."""
    began, samples, killed = time.monotonic(), [], False
    while (spent := time.monotonic() - began) < 60 * minutes:
        if not killed and spent > 30 * minutes:
            os.kill(service.worker(), signal.SIGKILL)
            killed = True
        with suppress(AssertionError, OSError, httpx.HTTPError):  # while another worker starts
            samples.append(sample(service, began))
            if len(samples) % 6 == 0:
                print(samples[-1], file=sys.stderr, flush=True)
        time.sleep(SAMPLE_SECONDS)
    return samples


def growth(samples: list[dict[str, Any]]) -> dict[str, float]:
    """Return the mean of the last fifth of the samples minus that of the second fifth."""
    if not samples:
        return {}
    fifth = max(len(samples) // 5, 1)
    return {
        name: round(
            fmean(item[name] for item in samples[-fifth:])
            - fmean(item[name] for item in samples[fifth : 2 * fifth] or samples[:1]),
            1,
        )
        for name in SIZES
    }


def problems(result: dict[str, Any]) -> list[str]:
    """Return a line for each exceeded limit."""
    found = [
        f"{name}: {largest:g}, more than {most}"
        for name, most in MOST.items()
        if (largest := max((item.get(name, 0) for item in result["samples"]), default=0)) > most
    ]
    found += [
        f"{name}: {grown:g} more at the end of the second half"
        for name, most in MOST_GROWTH.items()
        if (grown := result["growth_second_half"].get(name, 0)) > most
    ]
    after = result["after"]
    found += [
        f"{name} in the end: {after[name]:g}" for name in ("queued", "running") if after[name]
    ]
    found += [
        f"{name}: {count} times status 500"
        for name, statuses in result["statuses"].items()
        if (count := statuses.get("500", 0))
    ]
    if result["answers_mixed_up"]:
        found.append(f"{result['answers_mixed_up']} answers went to another request")
    for name, fault in result.get("faults", {}).items():
        found += [f"{name}: {problem}" for problem in fault["problems"]]
    if not result["works_after"]:
        found.append("no check works in the end")
    return found


def main() -> None:
    """Run the command."""
    parser = command(__doc__, "soak.json")
    parser.add_argument("--minutes", type=float, default=6.0)
    arguments = parser.parse_args()
    load = round(os.getloadavg()[0], 1)
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{folder}/soak.db"
        options = ("--store", "--database", database, "--rate", "0")
        with serving(*options, real=True) as service:
            before = sample(service, time.monotonic())
            traffic = Traffic(service)
            traffic.start()
            samples = watch(service, arguments.minutes)
            traffic.stop()
            time.sleep(QUIET_SECONDS)
            after = sample(service, time.monotonic())
            works_after = works(service)
    half = 60 * arguments.minutes / 2
    result: dict[str, Any] = {
        "command": f"python -m benchmarks.soak --minutes {arguments.minutes:g}",
        "weights": base_weights(),
        "machine": {"processor": processor(), "cores": os.cpu_count(), "load_before": load},
        "before": before,
        "after": after,
        "works_after": works_after,
        "growth_second_half": growth([item for item in samples if item["seconds"] > half + 30]),
        "answers_mixed_up": traffic.mixed_up,
        "statuses": {name: dict(found) for name, found in traffic.statuses.items()},
        "seconds_median": {
            name: round(median(found), 3) for name, found in traffic.seconds.items() if found
        },
        "faults": run_faults(),
        "samples": samples,
    }
    result["problems"] = problems(result)
    result["samples"] = samples[:: max(1, len(samples) // 40)]
    store(arguments.out, result)
    print(json.dumps({key: value for key, value in result.items() if key != "samples"}, indent=1))
    sys.exit(1 if result["problems"] else 0)


if __name__ == "__main__":
    main()
