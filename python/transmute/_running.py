# SPDX-License-Identifier: Apache-2.0
"""Calls that can be interrupted, streamed and awaited."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import threading
import time
from typing import Any, Callable, Iterator, List, Optional, Set, TypeVar

from ._library import LIBRARY, ON_PROGRESS, ON_TEXT, CallOptions, Handle, text_of

T = TypeVar("T")


class Call:
    """A call of the library in progress: its callbacks, and what stops it."""

    def __init__(
        self,
        on_text: Optional[Callable[[int, str], None]] = None,
        on_progress: Optional[Callable[[int, int], None]] = None,
    ) -> None:
        self._stop = ctypes.c_int(0)
        self._raised: List[BaseException] = []
        self._on_text = ON_TEXT()
        self._on_progress = ON_PROGRESS()
        if on_text is not None:
            self._on_text = ON_TEXT(self._caught(lambda _, text, so_far: on_text(text, text_of(so_far))))
        if on_progress is not None:
            self._on_progress = ON_PROGRESS(self._caught(lambda _, done, total: on_progress(done, total)))

    def _caught(self, callback: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: Any) -> None:
            try:
                if not self._raised:
                    callback(*arguments)
            except BaseException as error:  # an exception ends the call
                self._raised.append(error)
                self.stop()

        return run

    def attach(self, options: CallOptions) -> None:
        if not sys.is_finalizing():  # the library's threads can enter the interpreter no more
            options.on_text, options.on_progress = self._on_text, self._on_progress
        options.should_stop = LIBRARY.is_set.value
        options.user = ctypes.addressof(self._stop)

    def stop(self) -> None:
        """Ends the call within one decoding step."""
        self._stop.value = 1

    def run(self, body: Callable[[], T]) -> T:
        """Runs the body, which calls the library. The main thread remains able to receive signals such as Ctrl-C."""
        if threading.current_thread() is threading.main_thread() and not sys.is_finalizing():
            return self._run_beside(body)
        return self._checked(body)

    def _checked(self, body: Callable[[], T]) -> T:
        _in_progress.add(self)
        try:
            found = body()
        except RuntimeError:
            if not self._raised:
                raise
        finally:
            _in_progress.discard(self)
            self._on_text, self._on_progress = ON_TEXT(), ON_PROGRESS()  # which refer to this call
        if self._raised:
            raise self._raised.pop()  # kept here, it would keep its frames, and with them this call and the model
        return found

    def _run_beside(self, body: Callable[[], T]) -> T:
        results: List[T] = []
        errors: List[BaseException] = []
        finished = threading.Lock()
        finished.acquire()

        def work(errors: List[BaseException]) -> None:
            try:
                results.append(self._checked(body))
            except BaseException as error:
                errors.append(error)
            finally:
                del errors  # as above: this frame is one of theirs
                finished.release()

        thread = threading.Thread(target=work, args=(errors,), name="transmute", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # Python 3.12 and newer start none once the program has ended
            return self._checked(body)
        try:
            finished.acquire()
        except BaseException:
            self.stop()
            finished.acquire(timeout=1)  # some calls cannot be stopped
            raise
        if errors:
            raise errors.pop()
        return results[0]

    async def run_async(self, body: Callable[[], T]) -> T:
        """The same without blocking the event loop. Cancelling the task stops the call."""
        import asyncio  # half of the time that importing this package would take

        try:
            return await asyncio.get_running_loop().run_in_executor(None, self._checked, body)
        except asyncio.CancelledError:
            self.stop()
            raise


_in_progress: Set[Call] = set()
os.register_at_fork(after_in_child=_in_progress.clear)  # a forked process has none of their threads


@atexit.register
def _stop_all() -> None:
    """A callback into an interpreter that has ended would abort the process."""
    deadline = time.monotonic() + 2  # some calls cannot be stopped
    while _in_progress and time.monotonic() < deadline:
        for call in list(_in_progress):
            call._raised.append(SystemExit())  # which ends a daemon thread without a traceback
            call.stop()
        time.sleep(0.01)


def stream(handle: Handle, run: Callable[[Call], str]) -> Iterator[str]:
    """The parts of the text that `run` computes with a model, as soon as each can no longer change."""
    if sys.is_finalizing():
        raise RuntimeError("the interpreter is ending, and its threads with it; a stream needs one")
    from queue import SimpleQueue  # only streams need it

    news: SimpleQueue[Any] = SimpleQueue()
    sent = 0

    def on_text(_: int, so_far: str) -> None:
        nonlocal sent  # so that a slow reader's queue holds each word once
        news.put((so_far[sent:], False))
        sent = max(sent, len(so_far))

    call = Call(on_text=on_text)

    def work() -> None:
        try:
            news.put((call._checked(lambda: run(call))[sent:], True))
        except BaseException as error:
            news.put((error, True))

    thread = threading.Thread(target=work, name="transmute", daemon=True)
    thread.start()
    more: Any = None
    try:
        is_last = False
        while not is_last:
            handle.address  # a forked process is told, for which nothing would come
            more, is_last = news.get()
            if isinstance(more, BaseException):
                raise more
            if more:
                yield more
    finally:
        call.stop()
        thread.join()
        del news, more  # an exception in them would keep its frames, and with them both and the model
