"""Tells when the service is asked to stop: from then on it takes no new requests."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess

HEALTH_CHECK_SECONDS = 60
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class ShutdownNotice:
    """Whether this process was asked to stop; uvicorn itself notices a little later."""

    def __init__(self) -> None:
        self.is_stopping = False

    def watch_signals(self) -> None:
        """Notice the signals to stop from now on, and pass them on to uvicorn's handlers.

        Outside the main thread, where no signals arrive, this does nothing.
        """
        if threading.current_thread() is not threading.main_thread():
            return
        for number in _SIGNALS:
            signal.signal(number, self._noticing(signal.getsignal(number)))

    def _noticing(self, handler: Any) -> Callable[[int, Any], None]:
        def handle(number: int, frame: Any) -> None:
            self.is_stopping = True
            if callable(handler):
                handler(number, frame)

        return handle


class PromptMultiprocess(Multiprocess):
    """Several HTTP processes, which are told to stop as soon as this process is.

    Args:
        config: how uvicorn runs the application.
        sockets: those to serve on.
    """

    def __init__(self, config: uvicorn.Config, sockets: list[Any]) -> None:
        # A process answers once it has imported all it needs, for which a busy machine may take
        # more than the five seconds after which uvicorn kills it. Older versions ignore this.
        config.timeout_worker_healthcheck = HEALTH_CHECK_SECONDS
        super().__init__(config, sockets=sockets)
        self._checking = False
        self._is_stopping = False
        for number in _SIGNALS:
            signal.signal(number, self._stop)

    def keep_subprocess_alive(self) -> None:
        """Replace processes that do not answer a health check.

        Telling a process to stop closes the pipe of its health check. If that happens during the
        check, uvicorn takes the process for hung and kills it together with its running requests.
        So a signal that arrives during the check is passed on afterwards.
        """
        self._checking = True
        try:
            if not self._is_stopping:
                super().keep_subprocess_alive()
        finally:
            self._checking = False
        if self._is_stopping:
            self.terminate_all()

    def _stop(self, number: int, _: object) -> None:
        self.signal_queue.append(number)
        self._is_stopping = True
        if not self._checking:
            self.terminate_all()
