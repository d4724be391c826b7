"""Calls a running `halldetect serve` from Python, waiting (`Client`) or not (`AsyncClient`).

>>> with Client("http://127.0.0.1:8000") as client:
...     checked = client.check("The last boat returns at 21:40.", "It returns at 22:30.")
...     print(checked.report.verdict)

What the service refuses or fails on is a ServiceError with its code. A request that found the
queue full or the worker starting is sent again after the time the service names, `retries`
times.
"""

from halldetect.client.answers import (
    Accepted,
    Checked,
    Choices,
    Claims,
    ClaimVerdict,
    Event,
    FoundClaim,
    Progress,
)
from halldetect.client.asynchronous import AsyncClient
from halldetect.client.waiting import Client

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
