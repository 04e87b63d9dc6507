"""`Prover`: a key held ready, proving many times, from any number of threads."""

from __future__ import annotations

import hashlib
import secrets
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace

from snarkcuda.arguments import (
    checked_device,
    checked_key_cache,
    checked_memory,
    checked_threads,
)
from snarkcuda.cpu.backend import CpuBackend
from snarkcuda.cpu.memory_plan import available_memory
from snarkcuda.cpu.resident_key import ResidentKey
from snarkcuda.errors import (
    DeviceError,
    ForgeableKeyWarning,
    NotOnCurveError,
    NotZeroKnowledgeWarning,
    UnsatisfiedError,
)
from snarkcuda.field import arrays
from snarkcuda.field.arrays import U64Array
from snarkcuda.formats.opening import FilePath
from snarkcuda.formats.wtns import read_witness
from snarkcuda.formats.zkey import read_zkey
from snarkcuda.groth16.backend import Backend
from snarkcuda.groth16.checks import (
    check_match,
    check_point,
    check_proof_points,
    check_proving_key,
    check_verifying_key,
    check_witness,
)
from snarkcuda.groth16.keys import Proof, ProvingKey, Witness
from snarkcuda.groth16.prove import prove_start
from snarkcuda.groth16.timeline import Stage, Timeline
from snarkcuda.groth16.trust import key_warnings
from snarkcuda.groth16.verify import equation_holds

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Proved:
    """A proof with its statement and the stages that made it.

    Attributes:
        proof: the proof; `proof_to_json` gives snarkjs's text of it.
        public: the public signals, canonical, in the order of public.json.
        stages: what was done, in order, with times.
        checked: whether the pairing equation was verified.
        zero_knowledge: False for a proof made with a seed.
    """

    proof: Proof
    public: list[int]
    stages: list[Stage]
    checked: bool
    zero_knowledge: bool


def _backend_on(device: str, threads: int | None, gpu_memory: int | None) -> Backend:
    """The backend of a device. That of CUDA is a module that a machine without it cannot load."""
    if device == "cpu":
        return CpuBackend(threads)
    from snarkcuda.kernels.backend import CudaBackend

    return CudaBackend(device, threads, gpu_memory)


class Prover:
    """Holds a proving key ready on a backend.

    Safe to use from several threads at once: a proof owns its buffers, and the key is only read.
    Close it, or use it as a context manager; nothing outlives it. A key under which proofs mean
    nothing (`trust.key_warnings`) is taken with a `ForgeableKeyWarning`.

    Args:
        key: a zkey file, or a `ProvingKey` already read.
        threads: worker threads, 1 to 4096; by default all processors that this process may use.
        device: "cpu", "cuda" (the first GPU) or "cuda:N", which does all of a proof. Nothing else
            is used instead of what was asked for.
        progress: called with each stage's name as it begins.
        memory: bytes to keep to; a key that does not fit is converted block by block during each
            proof, which then checks its points. By default what the machine has.
        gpu_memory: bytes of the GPU to keep to; proofs for which there is no room at a time take
            turns. By default nearly all that is free when it is opened.
        key_cache: a directory, this user's alone, that keeps the key as it is held ready: later
            provers map it (`cpu/key_cache`). What prevents that is a `UserWarning`.

    Raises:
        ValueError: threads, device, memory, gpu_memory or key_cache is none that
        `snarkcuda.arguments` allows.
        FormatError, NotInFieldError: the key file is broken.
        NotOnCurveError: a point of the key is not on its curve, or a header point not in its
        subgroup.
        DeviceError: there is no such device, or the key does not fit on it.
    """

    def __init__(
        self,
        key: FilePath | ProvingKey,
        *,
        threads: int | None = None,
        device: str = "cpu",
        progress: Progress | None = None,
        memory: int | None = None,
        gpu_memory: int | None = None,
        key_cache: FilePath | None = None,
    ) -> None:
        threads, memory = checked_threads(threads), checked_memory(memory)
        gpu_memory = checked_memory(gpu_memory, "gpu_memory")
        key_cache, device = checked_key_cache(key_cache), checked_device(device)
        timeline = Timeline(progress)
        if not isinstance(key, ProvingKey):
            with timeline.stage("read key"):
                key = read_zkey(key)
        else:
            check_proving_key(key)
        self.key = key
        with timeline.stage("check verifying key"):
            check_verifying_key(key.verifying_key)
            for name in ("beta_g1", "delta_g1"):
                check_point(key.curve, key.curve.g1, getattr(key, name), f"{key.source}: {name}")
        if found := key_warnings(key.verifying_key, key):
            warnings.warn(f"{key.source}: {'; '.join(found)}", ForgeableKeyWarning, stacklevel=2)
        self._state = threading.Condition()
        self._proving: set[int] = set()  # threads
        self._closed = False
        self._backend = _backend_on(device, threads, gpu_memory)
        try:
            self._resident = self._backend.load(
                key,
                timeline,
                memory=available_memory() if memory is None else memory,
                cache=key_cache,
            )
        except BaseException:
            self._backend.close()
            raise
        self.load_stages = timeline.stages
        self._progress = progress
        self._callback = threading.local()

    @property
    def device(self) -> str:
        """Where proofs are made: "cpu (2 threads)", "cuda:0 (NVIDIA H200)"."""
        return self._backend.label

    @property
    def block(self) -> int:
        """Points of a query that are in memory at a time; 0 where all of the key is."""
        return self._resident.block

    def fraction(self) -> float | None:
        """How far the operation that runs now is, 0 to 1; None between operations."""
        return self._backend.pool.fraction()

    def prove(
        self, witness: FilePath | Witness, *, check: bool = True, seed: bytes | None = None
    ) -> Proved:
        """Prove one witness.

        Args:
            witness: a wtns file, or a `Witness` already read.
            check: verify the proof's equation before returning it (milliseconds).
            seed: fixes the proof's randomness, for tests. Such a proof is NOT zero-knowledge, and a
                `NotZeroKnowledgeWarning` says so. By default the randomness is the system's.

        Raises:
            FormatError, NotInFieldError: the witness is malformed.
            MismatchError: the witness belongs to another curve or circuit.
            RuntimeError: the prover has been closed.
            NotOnCurveError: the key makes proofs outside the subgroup.
            UnsatisfiedError: the proof does not verify.
        """
        timeline = Timeline(self._report)
        with timeline.stage("check witness"):
            if not isinstance(witness, Witness):
                witness = read_witness(witness)
            # A copy, checked: a mapped file, or the caller's array, may change while we prove.
            witness = replace(witness, values=copy(witness.values))
            check_witness(witness)
        check_match(self.key, witness)
        r, s = self._randomness(seed, witness)
        public = arrays.to_ints(witness.values[1 : self.key.n_public + 1])
        with self._open():
            pending = prove_start(self._backend, self._resident, witness.values, r, s, timeline)
            proof = pending.finish()
            self._check(proof, public, witness, (r, s), check, timeline)
        return Proved(proof, public, timeline.stages, check, seed is None)

    def _check(
        self,
        proof: Proof,
        public: list[int],
        witness: Witness,
        randomness: tuple[int, int],
        equation: bool,
        timeline: Timeline,
    ) -> None:
        try:
            with timeline.stage("check proof points"):
                self._check_points(proof)
            if equation:
                with timeline.stage("self-check"):
                    self._check_equation(proof, public, witness)
        except (NotOnCurveError, UnsatisfiedError):
            if self._backend.name != "cpu":
                self._check_device(public, witness, randomness)
            raise

    def _check_points(self, proof: Proof) -> None:
        try:
            # A query point of small order would put a private wire's residue into the proof, where
            # no blinding reaches it, and the pairing would not see it.
            check_proof_points(proof)
        except NotOnCurveError as error:
            raise NotOnCurveError(
                f"{self.key.source} makes a proof that is no proof ({error}); it was thrown away: "
                "the key is damaged, or was made to leak the witness, or a kernel was edited"
            ) from error

    def _check_equation(self, proof: Proof, public: list[int], witness: Witness) -> None:
        if equation_holds(self.key.verifying_key, public, proof):
            return
        raise UnsatisfiedError(
            f"{witness.source} does not satisfy the circuit of {self.key.source}, as its proof "
            "does not verify; the proof was thrown away. `snarkcuda check circuit.r1cs "
            f"{witness.source}` names the constraint; if it finds none, the key is "
            "damaged, or a kernel was edited and is wrong"
        )

    def _check_device(
        self, public: list[int], witness: Witness, randomness: tuple[int, int]
    ) -> None:
        """Whether the CPU proves what the device did not: then the device is to blame."""
        z, label = witness.values, self._backend.label
        with CpuBackend(self._backend.pool.threads) as cpu:
            resident = cpu.load(self.key, Timeline(), memory=available_memory())
            proof = prove_start(cpu, resident, z, *randomness, Timeline()).finish()
            try:
                self._check_points(proof)
                self._check_equation(proof, public, witness)
            except (NotOnCurveError, UnsatisfiedError):
                return
            found = self._first_wrong_stage(cpu, resident, z)
        raise DeviceError(
            f"{label} made a false proof of {witness.source}, which was thrown away: the CPU "
            f"proves it; {found}. A kernel was edited, or the device is faulty; --device cpu works"
        )

    def _first_wrong_stage(self, cpu: CpuBackend, resident: ResidentKey, z: U64Array) -> str:
        from snarkcuda.kernels.backend import CudaBackend
        from snarkcuda.kernels.device_key import DeviceKey

        assert isinstance(self._backend, CudaBackend)
        assert isinstance(self._resident, DeviceKey)
        return self._backend.first_wrong_stage(self._resident, cpu, resident, z)

    def _randomness(self, seed: bytes | None, witness: Witness) -> tuple[int, int]:
        order = self.key.curve.fr.modulus
        if seed is None:
            return secrets.randbelow(order), secrets.randbelow(order)
        warnings.warn(
            "the proof's randomness is fixed by a seed: it is NOT zero-knowledge, for tests only",
            NotZeroKnowledgeWarning,
            stacklevel=3,
        )
        # Witness and key go in too: with the same r and s for two witnesses the difference of the
        # proofs would show theirs. 64 bytes a scalar leave a bias of 2^-256.
        stream_of = hashlib.shake_256(b"snarkcuda r, s")
        vk = self.key.verifying_key
        arrays_of = (vk.alpha_g1, vk.delta_g2, vk.ic, witness.values)
        for part in (seed, *(array.tobytes() for array in arrays_of)):
            stream_of.update(hashlib.sha256(part).digest())
        stream = stream_of.digest(128)
        r, s = (int.from_bytes(half, "little") % order for half in (stream[:64], stream[64:]))
        return r, s

    def _report(self, stage: str) -> None:
        if self._progress is not None:
            self._callback.running = True
            try:
                self._progress(stage)
            finally:
                self._callback.running = False

    @contextmanager
    def _open(self) -> Iterator[None]:
        """A proof under way, which `close` waits for."""
        with self._state:
            if self._closed:
                raise RuntimeError("this Prover has been closed: make a new one")
            self._proving.add(threading.get_ident())
        try:
            yield
        finally:
            with self._state:
                self._proving.discard(threading.get_ident())
                self._state.notify_all()

    def close(self) -> None:
        """End the threads; proofs under way are finished first, new ones are refused."""
        if getattr(self._callback, "running", False):
            raise RuntimeError(
                "a progress callback cannot close its Prover: the proof waits for it"
            )
        with self._state:
            self._closed = True
            # Not a count: Ctrl-C can fall between a proof's end and its entry's removal, and the
            # thread that closes has no proof under way, whatever its entry says.
            self._state.wait_for(lambda: not self._proving - {threading.get_ident()})
        self._backend.close()

    def __enter__(self) -> Prover:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def prove(
    key: FilePath | ProvingKey,
    witness: FilePath | Witness,
    *,
    threads: int | None = None,
    device: str = "cpu",
    check: bool = True,
    seed: bytes | None = None,
) -> Proved:
    """Prove once. For several proofs of one circuit keep a `Prover`, which loads the key once.

    Arguments and errors are those of `Prover` and `Prover.prove`.
    """
    with Prover(key, threads=threads, device=device) as prover:
        return prover.prove(witness, check=check, seed=seed)
