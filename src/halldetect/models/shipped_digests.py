"""The digests of the weights in the package, written by `refresh_digests`."""

SHIPPED_DIGESTS = {
    "base": "d6db3f4a9d58efa0eb63a2a4588963d14ab5556316f5108d16d3fab1fb3546db",
    "large": "c974b4b7d803241c0a0282502b384d2fd24956c9f4d671c4d4f954930d44f5df",
}
