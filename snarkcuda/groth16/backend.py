"""What a backend is: where a key is held ready, and the operations of a proof run.

`cpu/backend.py` and `kernels/backend.py` are the two. Each has its own form of a resident key and
of what operations hand to each other; `groth16/prove.py` asks for the operations, and only sums
come back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from snarkcuda.cpu.pool import Pool
    from snarkcuda.field.arrays import U64Array
    from snarkcuda.formats.opening import FilePath
    from snarkcuda.groth16.keys import ProvingKey
    from snarkcuda.groth16.timeline import Timeline


class Handle(Protocol):
    """An operation that was asked for."""

    def result(self) -> Any:
        """Wait for it; raises what it raised."""


class LoadedKey(Protocol):
    """A proving key held ready; its queries are as the backend's `msm` takes them."""

    @property
    def key(self) -> ProvingKey:
        """What it was made of."""

    @property
    def block(self) -> int:
        """Points of a query that are in memory at a time; 0 where all of the key is."""

    @property
    def a_query(self) -> Any:
        """A's points."""

    @property
    def b_g1_query(self) -> Any:
        """B's points, in G1."""

    @property
    def b_g2_query(self) -> Any:
        """B's points."""

    @property
    def l_query(self) -> Any:
        """Those of private wires."""

    @property
    def h_query(self) -> Any:
        """Those of h."""


class Job(Protocol):
    """The operations of one proof, in the order that they are asked for.

    A context manager: a block that raises, on Ctrl-C too, ends them.
    """

    def scalars(self, key: Any, values: U64Array) -> Handle:
        """The witness as scalars of sums: uint64 (n_wires, 4), canonical."""

    def evaluate(self, key: Any, witness: U64Array) -> Handle:
        """a = A·w, b = B·w, c = a·b on the domain."""

    def quotient(self, key: Any, abc: Any) -> Handle:
        """h, as scalars of the H query."""

    def msm(self, stage: str, query: Any, scalars: Any, first: int = 0) -> Handle:
        """Σ kᵢ·Pᵢ over a query and the scalars from index `first` on: one affine point."""

    def close(self) -> None:
        """Wait for the operations and end the job."""

    def __enter__(self) -> Job: ...
    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None: ...


class Backend(Protocol):
    """Where proofs are made.

    Attributes:
        name: "cpu" or "cuda".
        pool: threads of the CPU.
    """

    name: str
    pool: Pool

    @property
    def label(self) -> str:
        """In words: "cpu (2 threads)", "cuda:0 (NVIDIA H200)"."""

    def load(
        self,
        key: ProvingKey,
        timeline: Timeline,
        two_adicity: int | None = None,
        memory: int | None = None,
        cache: FilePath | None = None,
    ) -> LoadedKey:
        """Hold a key ready."""

    def job(self, timeline: Timeline) -> Job:
        """A new sequence of operations."""

    def close(self) -> None:
        """Cancel what still runs and give back what is held."""
