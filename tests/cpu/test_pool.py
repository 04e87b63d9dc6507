"""The pool: every task once, errors and stops reach the caller, and no run outlives its call."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest

from snarkcuda.cpu import pool as pool_module
from snarkcuda.cpu.pool import Cancelled, Pool, Stop, available_threads, claim, stopped
from snarkcuda.errors import DeviceError


@numba.njit(nogil=True)
def count(tasks: Any, done: Any) -> None:
    task = claim(tasks)
    while task >= 0:
        done[task] += 1
        task = claim(tasks)


@numba.njit(nogil=True)
def spin(tasks: Any, done: Any) -> None:
    """Tasks that end only when they are stopped."""
    task = claim(tasks)
    while task >= 0:
        done[task] = 1
        while not stopped(tasks):
            pass
        task = claim(tasks)


def python_claim(tasks: Any, lock: threading.Lock) -> int:
    """`claim` for workers in plain Python."""
    with lock:
        task = int(tasks[0])
        tasks[0] += 1
    return -1 if task >= tasks[1] or tasks[2] else task


@pytest.fixture
def pool() -> Iterator[Pool]:
    with Pool(3) as pool:
        yield pool


@pytest.mark.parametrize("threads", [1, 2, 3, 17])
@pytest.mark.parametrize("n_tasks", [1, 2, 3, 4, 255, 256, 257, 20_000])
def test_every_task_is_run_once(threads: int, n_tasks: int) -> None:
    """More threads than tasks, and the other way round."""
    done = np.zeros(n_tasks + 1, dtype=np.int64)
    with Pool(threads) as pool:
        pool.run(count, n_tasks, done)
    assert done.tolist() == [1] * n_tasks + [0]


def test_no_tasks(pool: Pool) -> None:
    """The worker is not called."""
    pool.run(lambda tasks: 1 / 0, 0)


def test_number_of_threads() -> None:
    """As asked; by default the processors of this process."""
    assert Pool(5).threads == 5
    with Pool() as pool:
        assert pool.threads == available_threads() >= 1


def test_threads_run_at_the_same_time(pool: Pool) -> None:
    """Three workers meet at a barrier; with fewer it would break."""
    barrier, lock = threading.Barrier(3), threading.Lock()

    def worker(tasks: Any) -> None:
        while python_claim(tasks, lock) >= 0:
            barrier.wait(timeout=30)

    pool.run(worker, 3)


def test_exception_in_a_worker(pool: Pool) -> None:
    """It reaches the caller; the others are stopped and waited for; the pool goes on."""
    lock, inside = threading.Lock(), []

    def worker(tasks: Any) -> None:
        while (task := python_claim(tasks, lock)) >= 0:
            inside.append(task)
            try:
                if task == 5:
                    raise ZeroDivisionError("task 5")
                time.sleep(0.001)
            finally:
                inside.pop()

    with pytest.raises(ZeroDivisionError, match="task 5"):
        pool.run(worker, 10**9)
    assert not inside
    done = np.zeros(100, dtype=np.int64)
    pool.run(count, 100, done)
    assert done.all()


def test_exception_stops_compiled_workers(pool: Pool) -> None:
    """Workers that end only when they are stopped do end."""
    calls, lock, done = [], threading.Lock(), np.zeros(3, dtype=np.int64)

    def worker(tasks: Any, done: Any) -> None:
        with lock:
            calls.append(1)
            first = len(calls) == 1
        if first:
            raise MemoryError
        spin(tasks, done)

    with pytest.raises(MemoryError):
        pool.run(worker, 3, done)


def test_stop_before_the_run(pool: Pool) -> None:
    """Nothing runs."""
    stop, done = Stop(), np.zeros(10, dtype=np.int64)
    stop.set()
    assert stop.is_set
    with pytest.raises(Cancelled):
        pool.run(count, 10, done, stop=stop)
    assert not done.any()


def test_stop_during_the_run(pool: Pool) -> None:
    """Running tasks end early, the rest is not begun, the caller is told."""
    for _ in range(20):
        stop, done = Stop(), np.zeros(1000, dtype=np.int64)
        with ThreadPoolExecutor(1) as caller:
            future = caller.submit(pool.run, spin, 1000, done, stop=stop)
            while done.sum() < 3:
                time.sleep(0)
            stop.set()
            with pytest.raises(Cancelled):
                future.result(timeout=60)
        assert done.sum() == 3


def test_a_stop_ends_only_its_own_runs() -> None:
    """Two runs side by side: one is stopped, the other finishes."""
    with Pool(4) as pool, ThreadPoolExecutor(2) as callers:
        stop, spinning = Stop(), np.zeros(2, dtype=np.int64)
        stopped_run = callers.submit(pool.run, spin, 2, spinning, stop=stop)
        while spinning.sum() < 2:
            time.sleep(0)
        done = np.zeros(10_000, dtype=np.int64)
        other = Stop()
        callers.submit(pool.run, count, 10_000, done, stop=other).result(timeout=60)
        assert (done == 1).all()
        assert not stopped_run.done()
        stop.set()
        with pytest.raises(Cancelled):
            stopped_run.result(timeout=60)
        assert not other.is_set


def test_one_stop_for_several_runs() -> None:
    """All of them end, and none can begin afterwards."""
    with Pool(4) as pool, ThreadPoolExecutor(2) as callers:
        stop = Stop()
        arrays = [np.zeros(2, dtype=np.int64) for _ in range(2)]
        runs = [callers.submit(pool.run, spin, 2, array, stop=stop) for array in arrays]
        while sum(array.sum() for array in arrays) < 4:
            time.sleep(0)
        stop.set()
        for run in runs:
            with pytest.raises(Cancelled):
                run.result(timeout=60)
        with pytest.raises(Cancelled):
            pool.run(count, 2, arrays[0], stop=stop)


def test_many_runs_from_several_threads(pool: Pool) -> None:
    """More callers than threads; each run is complete when it returns."""

    def caller(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            n = int(rng.integers(1, 50))
            done = np.zeros(n, dtype=np.int64)
            pool.run(count, n, done)
            if not (done == 1).all():
                return False
        return True

    with ThreadPoolExecutor(8) as callers:
        assert list(callers.map(caller, range(8))) == [True] * 8


def test_interrupt_while_waiting(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in the waiting caller (Ctrl-C) stops and awaits the workers first."""
    from snarkcuda.cpu import pool as module

    done, real_wait, calls = np.zeros(3, dtype=np.int64), module._Run.wait, []

    def wait(run: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            while done.sum() < 3:
                time.sleep(0)
            raise KeyboardInterrupt
        real_wait(run)

    with monkeypatch.context() as patch:
        patch.setattr(module._Run, "wait", wait)
        with pytest.raises(KeyboardInterrupt):
            pool.run(spin, 3, done)  # returns only because the workers were stopped
    assert len(calls) == 2
    again = np.zeros(3, dtype=np.int64)
    pool.run(count, 3, again)
    assert again.all()


def test_map(pool: Pool) -> None:
    """Results in order; an exception reaches the caller."""
    assert list(pool.map(lambda x: x * x, range(100))) == [x * x for x in range(100)]
    assert list(pool.map(str, [])) == []
    with pytest.raises(ZeroDivisionError):
        list(pool.map(lambda x: 1 / x, [1, 0, 2]))
    assert pool.call(divmod, 7, 2) == (3, 1)


def test_map_keeps_few_calls_waiting(pool: Pool) -> None:
    """Calls are made as results are taken; leaving early ends the rest."""
    called: list[int] = []
    results = pool.map(lambda x: called.append(x) or x, range(10_000))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    results.close()
    assert len(called) <= 3 + 5 * pool.threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_pool_does_not_survive_a_fork(pool: Pool) -> None:
    """Threads do not: the child is told, rather than waiting for ever."""
    pool.run(count, 3, np.zeros(3, dtype=np.int64))
    child = os.fork()
    if child == 0:
        try:
            pool.run(count, 3, np.zeros(3, dtype=np.int64))
        except RuntimeError as error:
            os._exit(7 if "fork" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_no_thread_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's refusal is a DeviceError, and the workers begun before it end."""
    with Pool(3) as pool:
        submit, done = pool._executor.submit, np.zeros(1000, dtype=np.int64)
        calls = iter([True, True, False])

        def refuse(*arguments: object) -> object:
            if next(calls):
                return submit(*arguments)
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(pool._executor, "submit", refuse)
        with pytest.raises(DeviceError, match="--threads"):
            pool.run(count, 1000, done)


def test_cancelled_work_does_not_wait_behind_other_work() -> None:
    """Workers that have not begun are taken out of the queue."""
    release = threading.Event()
    with Pool(1) as pool:
        blocking = threading.Thread(target=pool.call, args=(release.wait, 60))
        blocking.start()
        stop, ended = Stop(), threading.Event()

        def queued() -> None:
            with pytest.raises(Cancelled):
                pool.run(count, 3, np.zeros(3, dtype=np.int64), stop=stop)
            ended.set()

        waiting = threading.Thread(target=queued)
        waiting.start()
        while not stop._runs:
            time.sleep(0.001)
        stop.set()
        assert ended.wait(30)
        release.set()
        blocking.join()
        waiting.join()


def test_close_ends_the_threads() -> None:
    """Nothing is left; closing twice is fine; a closed pool refuses work."""
    before = set(threading.enumerate())
    pool = Pool(4)
    pool.run(count, 100, np.zeros(100, dtype=np.int64))
    assert len(set(threading.enumerate()) - before) >= 1
    pool.close()
    pool.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(RuntimeError):
        pool.run(count, 1, np.zeros(1, dtype=np.int64))


def test_a_container_s_quota_limits_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "usable_processors", lambda: 8)
    for quota, threads in ((None, 8), (0.3, 1), (2.0, 2), (2.5, 3), (64.0, 8)):
        monkeypatch.setattr(pool_module, "processor_quota", lambda quota=quota: quota)
        assert available_threads() == threads
