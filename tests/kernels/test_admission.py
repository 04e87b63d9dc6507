"""Jobs wait for room: those that fit go together, one alone always may, and waiting can end."""

from __future__ import annotations

import threading

import pytest

from snarkcuda.kernels.admission import Admission


class GivenUp(Exception):
    pass


def waiting(admission: Admission, n_bytes: int) -> threading.Thread:
    thread = threading.Thread(target=admission.enter, args=(n_bytes,), daemon=True)
    thread.start()
    return thread


def test_jobs_that_fit_go_together_and_the_next_waits() -> None:
    admission = Admission(lambda: 100)
    admission.enter(60)
    admission.enter(40)
    third = waiting(admission, 30)
    third.join(0.3)
    assert third.is_alive()
    admission.leave(60)
    third.join(10)
    assert not third.is_alive()


def test_one_alone_may_try_whatever_it_takes() -> None:
    """The arena's error says what is missing; waiting would never end."""
    admission = Admission(lambda: 100)
    admission.enter(1000)
    admission.leave(1000)


def test_room_is_asked_each_time() -> None:
    room = [100]
    admission = Admission(lambda: room[0])
    admission.enter(60)
    second = waiting(admission, 60)
    second.join(0.3)
    assert second.is_alive()
    room[0] = 120  # a key was freed
    second.join(10)
    assert not second.is_alive()


def test_waiting_ends_when_the_job_does() -> None:
    admission = Admission(lambda: 100)

    def look() -> None:
        raise GivenUp

    with admission.entered(100), pytest.raises(GivenUp):
        admission.enter(1, look)
    admission.enter(100)
    admission.leave(100)
