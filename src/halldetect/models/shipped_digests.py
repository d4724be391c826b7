"""The digests of the weights in the package, written by `refresh_digests`."""

SHIPPED_DIGESTS = {
    "base": "f8fb11469f32d4e02e7bfafd2fd768ceda38350ac9d2012067b16b94ec39477e",
    "large": "c974b4b7d803241c0a0282502b384d2fd24956c9f4d671c4d4f954930d44f5df",
}
