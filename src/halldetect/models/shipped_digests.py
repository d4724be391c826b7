"""The digests of the weights in the package, written by `refresh_digests`."""

SHIPPED_DIGESTS = {
    "base": "c1413fb66991478d9f9837862ecb9767fd0d5fe87232c3e3b12a5c88e63a31c9",
    "large": "1954ae109325556b680834c8c5d2d6e323511b6125214dc92c9bc6d46ca406c9",
}
