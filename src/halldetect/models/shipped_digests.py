"""The digests of the weights in the package, written by `refresh_digests`."""

SHIPPED_DIGESTS = {
    "base": "3f536943e625884dad67fe1442d62d7c1e650f4ad81a298d0e8140e0759d6ceb",
    "large": "b2d33ca6b9f33b1d6793aecdc1c0f24f1b2085eed67c8e95363e50a89b300cf1",
}
