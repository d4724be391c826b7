"""The digests of the weights in the package, written by `refresh_digests`."""

SHIPPED_DIGESTS = {
    "base": "3f536943e625884dad67fe1442d62d7c1e650f4ad81a298d0e8140e0759d6ceb",
    "large": "d4ac2347a9c00d7c59eba875031b0e90f0d38514bfe57a105aa42a5b213c157a",
}
