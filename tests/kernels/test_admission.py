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
    first = admission.enter(60)
    admission.enter(40)
    third = waiting(admission, 30)
    third.join(0.3)
    assert third.is_alive()
    first.leave()
    third.join(10)
    assert not third.is_alive()


def test_a_job_leaves_once() -> None:
    """Whoever says so twice gives nobody else's room away."""
    admission = Admission(lambda: 100)
    first, _ = admission.enter(50), admission.enter(50)
    first.leave()
    first.leave()
    admission.enter(50)
    fourth = waiting(admission, 50)
    fourth.join(0.3)
    assert fourth.is_alive()


def test_one_alone_may_try_whatever_it_takes() -> None:
    """The arena's error says what is missing; waiting would never end."""
    admission = Admission(lambda: 100)
    admission.enter(1000).leave()


def test_keys_take_of_the_same_room() -> None:
    admission = Admission(lambda: 100)
    key = admission.keep(30)
    assert admission.room() == 70
    admission.enter(60)
    second = waiting(admission, 40)
    second.join(0.3)
    assert second.is_alive()
    key.leave()
    second.join(10)
    assert not second.is_alive() and admission.room() == 100


def test_waiting_ends_when_the_job_does() -> None:
    admission = Admission(lambda: 100)

    def look() -> None:
        raise GivenUp

    first = admission.enter(100)
    with pytest.raises(GivenUp):
        admission.enter(1, look)
    first.leave()
    admission.enter(100)
