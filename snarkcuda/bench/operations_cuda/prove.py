"""A whole proof on a device from a key that is resident and a witness in memory."""

from __future__ import annotations

from snarkcuda.bench.case import Case, Subject
from snarkcuda.bench.operations.prove import proofs_on
from snarkcuda.cpu.pool import Pool


def subject(case: Case, pool: Pool) -> Subject:
    """See `operations/prove.py`; timed by the host's clock, from witness to checked proof."""
    assert case.device is not None
    return proofs_on(case, pool, case.device)
