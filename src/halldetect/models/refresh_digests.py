"""python -m halldetect.models.refresh_digests: pin the weights in the package as they are now."""

from __future__ import annotations

from pathlib import Path

from halldetect.models import integrity

_HEADER = '"""The digests of the weights in the package, written by `refresh_digests`."""\n\n'


def write_shipped_digests(weights: Path, target: Path) -> dict[str, str]:
    """Write the digests of folders of weights into a module, and return them.

    Args:
        weights: the folder that holds the folders of weights.
        target: the module to write.
    """
    digests = {
        folder.name: integrity.joint_digest(integrity.file_digests(folder))
        for folder in sorted(weights.iterdir())
        if folder.is_dir()
    }
    lines = [f'    "{name}": "{digest}",\n' for name, digest in digests.items()]
    text = f"{_HEADER}SHIPPED_DIGESTS = {{\n{''.join(lines)}}}\n"
    target.write_text(text, encoding="utf-8")
    return digests


if __name__ == "__main__":
    pins = Path(__file__).with_name("shipped_digests.py")
    for name, digest in write_shipped_digests(integrity.WEIGHTS, pins).items():
        print(f"{name}: {digest}")
