"""Folders that are made once: leftovers, several processes, a full or read-only disk."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from halldetect.errors import ModelError
from halldetect.large.made_once import make_once

FILES = ("model", "weights")


def write_both(draft: Path) -> None:
    for name in FILES:
        (draft / name).write_text(name)


def unwanted(draft: Path) -> None:
    raise AssertionError("it is there already")


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there" / "made"
    make_once(folder, FILES, 10, write_both)
    make_once(folder, FILES, 10, unwanted)
    assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    for name in ("made.11.partial", "made.12.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_bytes(bytes(1000))
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "weights").write_text("its model is gone")
    make_once(tmp_path / "made", FILES, 10, write_both)
    assert not list(tmp_path.glob("*.partial"))
    assert (tmp_path / "made" / "weights").read_text() == "weights"


def test_a_failure_leaves_nothing_and_the_next_one_makes_it(tmp_path: Path) -> None:
    def fail(draft: Path) -> None:
        write_both(draft)
        raise MemoryError

    with pytest.raises(MemoryError):
        make_once(tmp_path / "made", FILES, 10, fail)
    assert not list(tmp_path.glob("made*/"))
    make_once(tmp_path / "made", FILES, 10, write_both)
    assert (tmp_path / "made" / "model").is_file()


def test_a_second_one_waits_for_the_first(tmp_path: Path) -> None:
    folder, begun, waited = tmp_path / "made", Event(), Event()
    told: list[str] = []

    def make_slowly(draft: Path) -> None:
        begun.set()
        assert waited.wait(20)
        write_both(draft)

    def tell(done: int, total: int | None, what: str) -> None:
        told.append(what)
        waited.set()

    first = Thread(target=make_once, args=(folder, FILES, 10, make_slowly))
    first.start()
    assert begun.wait(20)
    make_once(folder, FILES, 10, unwanted, tell)
    first.join()
    assert told == [f"waiting for another process that makes {folder}"]


def test_a_disk_without_room_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(9e9, 8e9, 1e9))
    with pytest.raises(ModelError, match=r"disk is full: .* needs 1,500 MB .*HALLDETECT_HOME"):
        make_once(tmp_path / "made", FILES, 1_300_000_000, unwanted)
    assert not list(tmp_path.glob("made*/"))


def test_a_disk_that_fills_up_leaves_nothing(tmp_path: Path) -> None:
    def fill(draft: Path) -> None:
        write_both(draft)
        raise OSError(28, "No space left on device")

    with pytest.raises(ModelError, match="disk is full"):
        make_once(tmp_path / "made", FILES, 10, fill)
    assert not list(tmp_path.glob("made*/"))


def test_a_folder_that_cannot_be_written_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ModelError, match=r"Read-only file system; set HALLDETECT_HOME"):
        make_once(tmp_path / "made", FILES, 10, unwanted)
