"""h of a, b and c on the device, in both conventions.

    circom     a·b − c at the odd powers of a primitive 2n-th root: six transforms
    bellman    coefficients of (a·b − c)/(xⁿ − 1), by way of the coset of 7: seven transforms

See `docs/architecture.md`, the quotient; bellman's is that of its `groth16/prover.rs`. The CPU's
twin of the first is `cpu/quotient.py`; of both, polynomials on Python ints in
`tests/kernels/test_quotient.py`.
"""

from __future__ import annotations

from functools import cache

from snarkcuda.field import arrays
from snarkcuda.kernels import pointwise
from snarkcuda.kernels.device import DeviceArray, Stream
from snarkcuda.kernels.field import DeviceField
from snarkcuda.kernels.launch import DeviceKernel
from snarkcuda.kernels.memory import Arena
from snarkcuda.kernels.ntt_plan import Transform, Transforms

_BELLMAN_SHIFT = 7  # the least generator of the multiplicative group of BLS12-381's Fr


@cache
def _kernels(F: DeviceField) -> tuple[DeviceKernel, DeviceKernel, DeviceKernel]:
    return pointwise.circom_quotient(F), pointwise.bellman_quotient(F), pointwise.natural_scalars(F)


def grid(n: int, threads: int = pointwise.MAX_THREADS) -> tuple[int, int]:
    """Blocks and threads for n of them."""
    threads = min(threads, max(1, n))
    return -(-n // threads), threads


def circom_quotient(to_coset: Transform, stream: Stream, abc: DeviceArray) -> DeviceArray:
    """h: scalars of circom's H query, canonical, in the place of a.

    Args:
        to_coset: `Transforms.to_coset` of the domain by `ntt.Domain.shift`, a primitive 2n-th root
            of unity or what stands for it.
        stream: where.
        abc: a, b, c on the domain, 3n elements, Montgomery; overwritten.
    """
    F, n = to_coset.F, 1 << to_coset.log_n
    to_coset.run(stream, abc)
    _kernels(F)[0].launch(stream, *grid(n), abc, n)
    return abc.part(0, n * F.words)


def bellman_transforms(transforms: Transforms) -> tuple[Transform, Transform]:
    """To the coset of 7, and from there to coefficients."""
    p = transforms.F.prime.modulus
    over_n, over_shift = pow(1 << transforms.log_n, -1, p), pow(_BELLMAN_SHIFT, -1, p)
    back = transforms.to_reversed(True, over_n, over_shift)
    return transforms.to_coset(_BELLMAN_SHIFT), back


def bellman_quotient(
    to_coset: Transform, back: Transform, arena: Arena, stream: Stream, abc: DeviceArray
) -> DeviceArray:
    """h: the n coefficients, canonical, the last of them 0 if the circuit is satisfied.

    Args:
        to_coset, back: the `bellman_transforms` of the domain.
        arena: where h is allocated.
        stream: where.
        abc: a, b, c on the domain, 3n elements, Montgomery; overwritten.
    """
    F, log_n, n = to_coset.F, to_coset.log_n, 1 << to_coset.log_n
    p = F.prime.modulus
    to_coset.run(stream, abc)
    over = F.prime.to_montgomery(pow(pow(_BELLMAN_SHIFT, n, p) - 1, -1, p))
    a = abc.part(0, n * F.words)
    with arena.scope(stream) as scope:
        factor, h = scope.upload(arrays.from_ints([over], F.prime.limbs)), scope.allocate(a.size)
        _kernels(F)[1].launch(stream, *grid(n), abc, factor, n)
        back.run(stream, a)
        _kernels(F)[2].launch(stream, *grid(n), h, a, log_n)
        return scope.keep(h)
