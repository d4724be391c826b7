"""The digests of the weights in the package, written by `refresh_digests`."""

SHIPPED_DIGESTS = {
    "base": "25e3a53aee4392160c0d6e5ab4c4bc10aa647d043c64ada2b55b2167fc334f5e",
    "large": "d2ba6b270aacfe8518e6f4c77cd283269dd81ee62bba6ae90991fd2f9fac2d64",
}
