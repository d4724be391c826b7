"""The digests of the weights in the package, written by `refresh_digests`."""

SHIPPED_DIGESTS = {
    "base": "3f536943e625884dad67fe1442d62d7c1e650f4ad81a298d0e8140e0759d6ceb",
    "large": "1954ae109325556b680834c8c5d2d6e323511b6125214dc92c9bc6d46ca406c9",
}
