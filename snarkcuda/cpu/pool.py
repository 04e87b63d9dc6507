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

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba import types

from snarkcuda.errors import DeviceError
from snarkcuda.jit import intrinsic
from snarkcuda.machine import processor_quota, usable_processors

T = TypeVar("T")
_NEXT, _TOTAL, _STOP = 0, 1, 2
I64 = ir.IntType(64)


class Cancelled(Exception):
    """The work was given up because `Stop.set()` was called."""


class Stop:
    """A flag that ends running workers; one for each proof, so that proofs end separately."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: list[_Run] = []
        self.is_set = False

    def set(self) -> None:
        """Ask every worker that runs under this flag to end; they do within milliseconds."""
        with self._lock:
            self.is_set = True
            for run in self._runs:
                run.stop()

    def _add(self, run: _Run) -> None:
        with self._lock:
            if self.is_set:
                raise Cancelled
            self._runs.append(run)

    def _remove(self, run: _Run) -> None:
        with self._lock:
            self._runs.remove(run)


class _Run:
    """The workers of one `Pool.run`, and the task counter that they share."""

    def __init__(self, n_tasks: int) -> None:
        self.tasks = np.array([0, n_tasks, 0], dtype=np.int64)
        self._futures: list[Future[Any]] = []
        self._ended: list[threading.Event] = []

    def begin(self, future: Future[Any]) -> None:
        """Take in a worker that has been submitted."""
        # Not concurrent.futures.wait: it never hears of a future that was cancelled.
        ended = threading.Event()
        self._futures.append(future)
        self._ended.append(ended)
        future.add_done_callback(lambda _: self._end(future, ended))

    def _end(self, future: Future[Any], ended: threading.Event) -> None:
        if not future.cancelled() and future.exception() is not None:
            self.tasks[_STOP] = 1
        ended.set()

    def stop(self) -> None:
        """No task is claimed from now on; workers that wait behind others' never begin."""
        self.tasks[_STOP] = 1
        for future in list(self._futures):
            future.cancel()

    def wait(self) -> None:
        """Until no worker touches memory any more."""
        for ended in self._ended:
            ended.wait()

    def result(self) -> None:
        """Raise what a worker raised, or Cancelled if tasks were left out."""
        for future in self._futures:
            if not future.cancelled():
                future.result()
        if self.tasks[_STOP]:
            raise Cancelled


class Pool:
    """A fixed number of worker threads. Use as a context manager, or call `close`."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_threads()
        self._process = os.getpid()
        self._current: _Run | None = None
        self._step: float | None = None
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
        self._check_process()
        stop = stop or Stop()
        run = _Run(n_tasks)
        stop._add(run)
        self._current = run
        try:
            for _ in range(min(self.threads, n_tasks)):
                run.begin(submit(self._executor, worker, run.tasks, *args))
            if stop.is_set:  # it may have come while workers were being submitted
                run.stop()
            run.wait()
        except BaseException:  # Ctrl-C, or no thread to be had
            run.stop()
            run.wait()
            raise
        finally:
            self._current = None
            stop._remove(run)
        run.result()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                "this pool of threads (a Prover's, say) was made before a fork, and threads do not "
                "survive one: make it in the process that uses it"
            )

    def fraction(self) -> float | None:
        """Share of the tasks begun in the last run, or of `steps`; None between runs."""
        if (step := self._step) is not None:
            return step
        run = self._current
        if run is None:
            return None
        return min(1.0, float(run.tasks[_NEXT]) / float(run.tasks[_TOTAL]))

    def steps(self, n: int) -> Generator[int, None, None]:
        """0 … n − 1, each several runs of one operation: `fraction` counts the steps instead."""
        try:
            for i in range(n):
                self._step = i / n
                yield i
        finally:
            self._step = None

    def start(self, call: Callable[..., T], *args: Any) -> Future[T]:
        """Begin `call(*args)` on a thread of the pool; runs share the other threads meanwhile."""
        self._check_process()
        return submit(self._executor, call, *args)

    def map(self, call: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
        """`call(item)` for each item, on all threads; worth it where the calls release the GIL.

        Results come in order, few of them waiting at a time; leaving the iterator ends the rest.
        """
        self._check_process()
        waiting: deque[Future[T]] = deque()
        try:
            for item in items:
                if len(waiting) >= 4 * self.threads:
                    yield waiting.popleft().result()
                waiting.append(submit(self._executor, call, item))
            while waiting:
                yield waiting.popleft().result()
        finally:
            wait([future for future in waiting if not future.cancel()])

    def call(self, call: Callable[..., T], *args: Any) -> T:
        """`call(*args)` on a thread of the pool, so that the caller's Python hears Ctrl-C."""
        (result,) = self.map(lambda _: call(*args), [None])
        return result

    def close(self) -> None:
        """End the threads; running work is waited for."""
        # Not cancel_futures: `wait` never hears of a future that shutdown has cancelled, and hangs.
        self._executor.shutdown(wait=True)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def submit(executor: ThreadPoolExecutor, call: Callable[..., T], *args: Any) -> Future[T]:
    """`executor.submit`, with the system's refusal of a thread as a DeviceError."""
    try:
        return executor.submit(call, *args)
    except RuntimeError as error:
        if "new thread" not in str(error):
            raise
        raise DeviceError(
            f"the system refuses another thread ({error}): ask for fewer with --threads"
        ) from error


def available_threads() -> int:
    """Processors that this process may use; a container's share of their time, rounded up."""
    quota = processor_quota()
    usable = usable_processors()
    return usable if quota is None else max(1, min(usable, math.ceil(quota)))


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
