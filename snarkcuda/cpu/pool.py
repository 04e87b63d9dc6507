"""Threads that run compiled workers: one fork and join costs some ten microseconds.

A worker is a kernel whose first argument is `tasks`; each thread of the pool runs the same worker,
and the workers share the work by counting:

    task = claim(tasks)
    while task >= 0:
        …  (long tasks leave early when `stopped(tasks)`)
        task = claim(tasks)

numba's own `parallel=True` is not used: its default threading layer aborts the process when two
Python threads enter it at once, and a proof must stop promptly on Ctrl-C. Workers release the GIL,
so the caller waits in Python, sees the interrupt, sets the stop flag, and no task is claimed after
that.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from snarkcuda.jit import intrinsic

_NEXT, _TOTAL, _STOP = 0, 1, 2
I64 = ir.IntType(64)


class Cancelled(Exception):
    """The work was given up because `Stop.set()` was called."""


class Stop:
    """A flag that ends running workers; one for each proof, so that proofs end separately."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: list[Any] = []
        self.is_set = False

    def set(self) -> None:
        """Ask every worker that runs under this flag to end; they do within milliseconds."""
        with self._lock:
            self.is_set = True
            for tasks in self._running:
                tasks[_STOP] = 1

    def _add(self, tasks: Any) -> None:
        with self._lock:
            if self.is_set:
                raise Cancelled
            self._running.append(tasks)

    def _remove(self, tasks: Any) -> None:
        with self._lock:
            self._running = [other for other in self._running if other is not tasks]


class Pool:
    """A fixed number of worker threads. Use as a context manager, or call `close`."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_threads()
        self._current: Any = None
        self._executor = ThreadPoolExecutor(self.threads, thread_name_prefix="snarkcuda")

    def run(
        self, worker: Callable[..., Any], n_tasks: int, *args: Any, stop: Stop | None = None
    ) -> None:
        """Run tasks 0 … n_tasks − 1 of `worker(tasks, *args)` and wait for all of them.

        Raises:
            Cancelled: `stop` was set; the outputs are then incomplete.
        """
        if n_tasks == 0:
            return
        stop = stop or Stop()
        tasks = np.array([0, n_tasks, 0], dtype=np.int64)
        stop._add(tasks)
        self._current = tasks
        futures: list[Future[Any]] = []
        try:
            workers = min(self.threads, n_tasks)
            futures = [self._executor.submit(worker, tasks, *args) for _ in range(workers)]
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            # On an exception here (Ctrl-C) or in a worker, the arrays must outlive every worker.
            if not all(future.done() for future in futures):
                tasks[_STOP] = 1
                wait(futures)
            stop._remove(tasks)
            self._current = None
        for future in futures:
            future.result()
        if tasks[_STOP]:
            raise Cancelled

    def fraction(self) -> float | None:
        """Share of the tasks begun in the run that started last; None if it has ended."""
        tasks = self._current
        return None if tasks is None else min(1.0, float(tasks[_NEXT]) / float(tasks[_TOTAL]))

    def map(
        self, call: Callable[[Any], Any], items: Iterable[Any], stop: Stop | None = None
    ) -> list[Any]:
        """`call(item)` for each item, on all threads; worth it where the calls release the GIL."""

        def one(item: Any) -> Any:
            if stop is not None and stop.is_set:
                raise Cancelled
            return call(item)

        return list(self._executor.map(one, items))

    def close(self) -> None:
        """End the threads; running work is waited for."""
        # Not cancel_futures: `wait` never hears of a future that shutdown has cancelled, and hangs.
        self._executor.shutdown(wait=True)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def available_threads() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _slot(context: Any, builder: Any, kind: Any, value: Any, index: int) -> Any:
    data = context.make_array(kind)(context, builder, value).data
    return builder.gep(data, [ir.Constant(I64, index)])


@intrinsic
def claim(context: Any, tasks: Any) -> Any:
    """The next task's number, or −1 when there is none left or the work was stopped."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        def slot(index: int) -> Any:
            return _slot(context, builder, sig.args[0], args[0], index)

        task = builder.atomic_rmw("add", slot(_NEXT), ir.Constant(I64, 1), "seq_cst")
        total = builder.load(slot(_TOTAL))
        stop = builder.load_atomic(slot(_STOP), "seq_cst", 8)
        is_left = builder.icmp_signed("<", task, total)
        goes_on = builder.icmp_signed("==", stop, ir.Constant(I64, 0))
        return builder.select(builder.and_(is_left, goes_on), task, ir.Constant(I64, -1))

    return types.int64(tasks), codegen


@intrinsic
def stopped(context: Any, tasks: Any) -> Any:
    """True once the work has been stopped; cheap enough for every few thousand steps."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        where = _slot(context, builder, sig.args[0], args[0], _STOP)
        stop = builder.load_atomic(where, "seq_cst", 8)
        return builder.icmp_signed("!=", stop, ir.Constant(I64, 0))

    return types.boolean(tasks), codegen
