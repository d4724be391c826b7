"""Calls a running `halldetect serve` from Python: `Client` waits, `AsyncClient` is for asyncio.

>>> with Client("http://127.0.0.1:8000") as client:
...     checked = client.check("The last boat returns at 21:40.", "It returns at 22:30.")
...     print(checked.report.verdict)

What the service refuses or fails on is a ServiceError with its code. A request that met a full
queue or a starting worker is sent again after the time the service names, `retries` times.
"""

from halldetect_serve.client.clients import AsyncClient, Client
from halldetect_serve.client.payloads import (
    Accepted,
    Checked,
    Choices,
    Claims,
    ClaimVerdict,
    Event,
    FoundClaim,
    Progress,
)

__all__ = [
    "Accepted",
    "AsyncClient",
    "Checked",
    "Choices",
    "ClaimVerdict",
    "Claims",
    "Client",
    "Event",
    "FoundClaim",
    "Progress",
]
