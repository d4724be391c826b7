"""A folder of result parts, anywhere pyarrow can write; each part is written atomically."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

from halldetect.batch.job import Job, already_exists
from halldetect.batch.locations import file_system
from halldetect.batch.resume import require_same_settings
from halldetect.errors import InputError

RUN_FILE, DONE_FILE, STOP_FILE = "_run.json", "_done.json", "_stop"
# In these stores, writes are atomic.
_OBJECT_STORES = ("s3", "gcs", "abfs")


class PartsFolder:
    """A folder of parts; it holds no open files, so that it can be sent to workers.

    Args:
        location: The path or URL of the folder.
    """

    def __init__(self, location: str) -> None:
        from pyarrow.fs import SubTreeFileSystem

        system, folder = file_system(location)
        self.location = location.rstrip("/")
        self.files = SubTreeFileSystem(folder, system)

    def names(self, prefix: str = "part-") -> list[str]:
        """Return the files with a prefix, in the order of the input."""
        from pyarrow.fs import FileSelector

        found = self.files.get_file_info(FileSelector("", allow_not_found=True))
        return sorted(item.base_name for item in found if item.base_name.startswith(prefix))

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically."""
        kind = self.files.base_fs.type_name
        draft = name if kind in _OBJECT_STORES else f".{name}.{uuid.uuid4().hex}"
        with self.files.open_output_stream(draft) as stream:
            stream.write(data)
        if kind == "local":
            with Path(self.files.base_path, draft).open("rb") as file:
                os.fsync(file.fileno())
        if draft != name:
            self.files.move(draft, name)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with self.files.open_input_stream(name, compression=None) as stream:
            return bytes(stream.read())

    def begin(self, settings: dict[str, Any], job: Job) -> None:
        """Create an empty folder, or verify that it holds the run to resume."""
        try:
            found = self.names("")
            if found and not (job.resume or job.overwrite):
                raise already_exists(self.location)
            if found and job.resume:
                require_same_settings(dict(json.loads(self.read(RUN_FILE))), settings)
                for name in {STOP_FILE, DONE_FILE}.intersection(found):
                    self.files.delete_file(name)
                return
            self.files.base_fs.create_dir(self.files.base_path, recursive=True)
            self.files.delete_dir_contents("", accept_root_dir=True)
            self.write(RUN_FILE, json.dumps(settings, indent=1).encode())
        except (OSError, ValueError, TypeError) as error:
            raise InputError(f"cannot write or resume {self.location!r}: {error}") from error
