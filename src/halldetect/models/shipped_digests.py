"""The digests of the weights in the package, written by `refresh_digests`."""

SHIPPED_DIGESTS = {
    "base": "9ce51e341bfa900340a76910ff2d972042cd8a19c1ea21e8291425216ac7d2da",
    "large": "1954ae109325556b680834c8c5d2d6e323511b6125214dc92c9bc6d46ca406c9",
}
