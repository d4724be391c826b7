"""The digests of the weights in the package, written by `refresh_digests`."""

SHIPPED_DIGESTS = {
    "base": "25e3a53aee4392160c0d6e5ab4c4bc10aa647d043c64ada2b55b2167fc334f5e",
    "large": "c974b4b7d803241c0a0282502b384d2fd24956c9f4d671c4d4f954930d44f5df",
}
