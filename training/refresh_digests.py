"""python -m training.refresh_digests: pin the weights in the package as they are now."""

import json

from halldetect.machine.integrity import DIGESTS, WEIGHTS, file_digests, joint_digest

if __name__ == "__main__":
    folders = sorted(path for path in WEIGHTS.iterdir() if path.is_dir())
    digests = {folder.name: joint_digest(file_digests(folder)) for folder in folders}
    DIGESTS.write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")
    print(digests)
