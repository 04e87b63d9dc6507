"""Groth16 on Python integers, from the definition: the slow twin of `groth16/` and of the backends.

Whoever knows the toxic waste can compute a proof as three exponents. That shares nothing with the
product but the generators and `linear_combination`: no transform, no sparse matrix, no MSM, and no
H query (the quotient is a long division of polynomials, evaluated at τ). So a proof of the product
that equals the twin's, byte for byte, checks all of those at once.

    A(x) = Σ zᵢ·Aᵢ(x), B and C likewise     interpolated on the domain {ωʲ}
    h    = (A·B − C)/(xⁿ − 1)               remainder 0 if and only if z satisfies the circuit
    a    = α + A(τ) + r·δ
    b    = β + B(τ) + s·δ
    c    = (Σ_private zᵢ·(β·Aᵢ + α·Bᵢ + Cᵢ)(τ) + h(τ)·(τⁿ − 1))/δ + s·a + r·b − r·s·δ

Matrices are circom's: after the constraints come n_public + 1 rows with A = wire s alone in row
(constraints + s), and the domain is the least power of two that holds them all.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

import numpy as np

from snarkcuda.circuits.r1cs import R1cs as ProductR1cs
from snarkcuda.circuits.r1cs import SparseRows
from snarkcuda.curve.params import Curve, Group
from snarkcuda.curve.points import encode, linear_combination
from snarkcuda.field.arrays import U64Array, from_ints
from snarkcuda.groth16.keys import COEFFICIENT, Proof, ProvingKey, VerifyingKey, Witness

NON_RESIDUE = 5  # of both scalar fields; snarkjs' roots of unity are its powers
CAPPED_SHIFT = 25  # what snarkjs shifts by where the field has no root of order 2n

Row = dict[int, int]  # wire → coefficient, which may be negative


# --- constraint systems -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class R1cs:
    """Rows ⟨a, z⟩·⟨b, z⟩ = ⟨c, z⟩. Wires: the constant 1, n_public public ones, then the rest."""

    name: str
    n_wires: int
    n_public: int
    rows: tuple[tuple[Row, Row, Row], ...]

    @cached_property
    def matrices(self) -> tuple[list[Row], list[Row], list[Row]]:
        """A, B and C on the whole domain, circom's public rows included."""
        public = [({s: 1}, {}, {}) for s in range(self.n_public + 1)]
        rows = [*self.rows, *public]
        rows += [({}, {}, {})] * (self.domain_size - len(rows))
        a, b, c = ([row[k] for row in rows] for k in range(3))
        return a, b, c

    @property
    def domain_size(self) -> int:
        """The least power of two ≥ constraints + public + 1."""
        size = 1
        while size < len(self.rows) + self.n_public + 1:
            size *= 2
        return size

    def first_unsatisfied(self, z: Sequence[int], modulus: int) -> int | None:
        """Index of the first row that `z` breaks, or None."""
        for index, row in enumerate(self.rows):
            a, b, c = (sum(k * z[wire] for wire, k in side.items()) for side in row)
            if (a * b - c) % modulus:
                return index
        return None


MUL = R1cs("MUL", 4, 1, (({2: 1}, {3: 1}, {1: 1}),))
CUBE = R1cs(
    "CUBE",
    5,
    1,
    (
        ({2: 1}, {2: 1}, {3: 1}),
        ({3: 1}, {2: 1}, {4: 1}),
        ({4: 1, 2: 1, 0: 5}, {0: 1}, {1: 1}),
    ),
)
NO_PUBLIC = R1cs("NO_PUBLIC", 3, 0, (({1: 1}, {2: 1}, {0: 6}),))
# Wire 3 stands in C alone, wire 4 in no row: their A and B points are infinity, so is L of wire 4.
ORPHANS = R1cs("ORPHANS", 5, 1, (({2: 1}, {2: 1}, {1: 1}), ({2: 1}, {0: 7}, {3: 1})))
# circom --O0 writes linear constraints as rows with empty A and B: the whole B query is infinity.
LINEAR = R1cs("LINEAR", 4, 1, (({}, {}, {1: 1, 2: -2, 0: -3}), ({}, {}, {3: 1, 2: -1, 1: -1})))


@cache
def chain(n: int) -> R1cs:
    """CHAIN(n): x₀ squared n times; wires 1, x_n (public), x₀ … x_{n−1}."""
    wires = [*range(2, n + 2), 1]
    return R1cs(
        f"CHAIN({n})",
        n + 2,
        1,
        tuple(({x: 1}, {x: 1}, {y: 1}) for x, y in pairwise(wires)),
    )


def assignment(r1cs: R1cs, curve: Curve, x: int, y: int = 0) -> list[int]:
    """The value of every wire that follows from the free ones, canonical.

    x is the factor, the root or the start of the chain, and y MUL's second factor.
    """
    p = curve.fr.modulus
    if r1cs is MUL:
        z = [1, x * y, x, y]
    elif r1cs is CUBE:
        z = [1, x**3 + x + 5, x, x**2, x**3]
    elif r1cs is NO_PUBLIC:
        z = [1, x, 6 * pow(x, -1, p)]
    elif r1cs is ORPHANS:
        z = [1, x * x, x, 7 * x, y]
    elif r1cs is LINEAR:
        z = [1, 2 * x + 3, x, 3 * x + 3]
    else:
        values = [x % p]
        for _ in r1cs.rows:
            values.append(values[-1] ** 2 % p)
        z = [1, values[-1], *values[:-1]]
    return [value % p for value in z]


def circuit(curve: Curve, r1cs: R1cs) -> ProductR1cs:
    """The circuit as the product takes it."""
    matrices = []
    for k in range(3):
        sides = [row[k] for row in r1cs.rows]
        start = np.cumsum([0, *map(len, sides)], dtype=np.int64)
        wires = np.array([wire for side in sides for wire in side], dtype=np.uint32)
        values = [value % curve.fr.modulus for side in sides for value in side.values()]
        matrices.append(SparseRows(start, wires, from_ints(values, curve.fr.limbs)))
    labels = np.arange(r1cs.n_wires, dtype=np.uint64)
    sizes = (r1cs.n_wires, r1cs.n_public, 0, 0)
    return ProductR1cs(curve, *sizes, *matrices, labels, r1cs.n_wires, source=r1cs.name)


def witness(curve: Curve, z: Sequence[int], source: str = "witness") -> Witness:
    """The assignment as the product takes it."""
    return Witness(curve, from_ints(z, curve.fr.limbs), source)


# --- polynomials on the domain ----------------------------------------------------------------


def root_of_unity(curve: Curve, n: int) -> int:
    """The primitive n-th root 5^((r − 1)/n)."""
    p = curve.fr.modulus
    return pow(NON_RESIDUE, (p - 1) // n, p)


def interpolate(curve: Curve, values: Sequence[int]) -> list[int]:
    """Coefficients of the polynomial with these values on {ωʲ}: the inverse DFT as defined."""
    p, n = curve.fr.modulus, len(values)
    inverse = pow(root_of_unity(curve, n), -1, p)
    powers = [pow(inverse, i, p) for i in range(n)]
    scale = pow(n, -1, p)
    return [
        scale * sum(value * powers[i * j % n] for j, value in enumerate(values)) % p
        for i in range(n)
    ]


def evaluate(polynomial: Sequence[int], x: int, modulus: int) -> int:
    """Horner's rule, lowest coefficient first in the list."""
    value = 0
    for coefficient in reversed(polynomial):
        value = (value * x + coefficient) % modulus
    return value


def value_at(curve: Curve, values: Sequence[int], x: int) -> int:
    """The polynomial with these values on the domain at x: (xⁿ − 1)/n · Σ vᵢ·ωⁱ/(x − ωⁱ)."""
    p, n = curve.fr.modulus, len(values)
    root, power, numerator, denominator = root_of_unity(curve, n), 1, 0, 1
    for value in values:  # the sum as one fraction
        numerator = (numerator * (x - power) + value * power * denominator) % p
        denominator = denominator * (x - power) % p
        power = power * root % p
    return (pow(x, n, p) - 1) * numerator * pow(n * denominator, -1, p) % p


def quotient(a: Sequence[int], b: Sequence[int], c: Sequence[int], modulus: int) -> list[int]:
    """(a·b − c)/(xⁿ − 1) by long division; ValueError if there is a remainder."""
    n = len(c)
    product = [0] * (2 * n)
    for i, left in enumerate(a):
        for j, right in enumerate(b):
            product[i + j] += left * right
    for i, value in enumerate(c):
        product[i] -= value
    result = [0] * n
    for i in range(2 * n - 1, n - 1, -1):
        result[i - n] = product[i] % modulus
        product[i - n] += product[i]
    if any(value % modulus for value in product[:n]):
        raise ValueError(
            "the assignment does not satisfy the circuit: the division has a remainder"
        )
    return result


def lagrange_at(curve: Curve, n: int, x: int) -> list[int]:
    """Lᵢ(x) for i < n: (xⁿ − 1)/n · ωⁱ/(x − ωⁱ), for x outside the domain."""
    p = curve.fr.modulus
    root = root_of_unity(curve, n)
    factor = (pow(x, n, p) - 1) * pow(n, -1, p) % p
    powers = [pow(root, i, p) for i in range(n)]
    return [factor * power * pow(x - power, -1, p) % p for power in powers]


# --- the three algorithms ---------------------------------------------------------------------


@dataclass(frozen=True)
class Waste:
    """The toxic waste: never kept in real life."""

    alpha: int
    beta: int
    gamma: int
    delta: int
    tau: int


@dataclass(frozen=True)
class Setup:
    """A circuit, its waste and its key."""

    curve: Curve
    r1cs: R1cs
    waste: Waste
    key: ProvingKey

    @property
    def verifying_key(self) -> VerifyingKey:
        """The public half."""
        return self.key.verifying_key


def times_generator(group: Group, exponents: Iterable[int]) -> U64Array:
    """[k] for each exponent: (n, 2, limbs) or (n, 2, 2, limbs)."""
    generator = encode(group, [group.generator])
    points = [linear_combination(group, [generator[0]], [k % group.order]) for k in exponents]
    return np.stack(points) if points else generator[:0]


def public_exponents(
    curve: Curve, r1cs: R1cs, waste: Waste
) -> tuple[list[int], list[int], list[int]]:
    """Aᵢ(τ), Bᵢ(τ) and (β·Aᵢ + α·Bᵢ + Cᵢ)(τ) for each wire i."""
    p = curve.fr.modulus
    basis = lagrange_at(curve, r1cs.domain_size, waste.tau)
    columns = [[0] * r1cs.n_wires for _ in range(3)]
    for column, matrix in zip(columns, r1cs.matrices, strict=True):
        for row, value in zip(matrix, basis, strict=True):
            for wire, coefficient in row.items():
                column[wire] = (column[wire] + coefficient * value) % p
    a, b, c = columns
    mixed = [(waste.beta * x + waste.alpha * y + w) % p for x, y, w in zip(a, b, c, strict=True)]
    return a, b, mixed


@cache
def setup(curve: Curve, r1cs: R1cs, seed: int = 1, capped: bool = False) -> Setup:
    """Keys by the definitions in `groth16/keys.py`.

    Args:
        curve: the curve.
        r1cs: the circuit.
        seed: decides the toxic waste.
        capped: make the H query as if the field had no root of order 2n: shifted by 25.
    """
    p, n = curve.fr.modulus, r1cs.domain_size
    rng = random.Random(seed)
    waste = Waste(*(rng.randrange(2, p) for _ in range(5)))
    over_gamma, over_delta = pow(waste.gamma, -1, p), pow(waste.delta, -1, p)
    a, b, mixed = public_exponents(curve, r1cs, waste)

    # Point i is the Lagrange basis of domain ∪ shift·domain at shift·ωⁱ: it is 0 on the domain, and
    # (xⁿ − 1)/(shiftⁿ − 1) is 1 on the coset. With a root of order 2n as shift this is L_{2i+1} of
    # the domain of twice the size.
    shift = CAPPED_SHIFT if capped else root_of_unity(curve, 2 * n)
    factor = (pow(waste.tau, n, p) - 1) * pow(pow(shift, n, p) - 1, -1, p) % p
    on_coset = lagrange_at(curve, n, waste.tau * pow(shift, -1, p) % p)

    g1, g2 = curve.g1, curve.g2
    first_private = r1cs.n_public + 1
    alpha_g1, beta_g1, delta_g1 = times_generator(g1, (waste.alpha, waste.beta, waste.delta))
    beta_g2, gamma_g2, delta_g2 = times_generator(g2, (waste.beta, waste.gamma, waste.delta))
    verifying_key = VerifyingKey(
        curve,
        alpha_g1,
        beta_g2,
        gamma_g2,
        delta_g2,
        ic=times_generator(g1, (over_gamma * k for k in mixed[:first_private])),
        source=f"verifying key of {r1cs.name}",
    )
    key = ProvingKey(
        curve,
        r1cs.n_wires,
        r1cs.n_public,
        n,
        beta_g1=beta_g1,
        delta_g1=delta_g1,
        verifying_key=verifying_key,
        coefficients=coefficients(curve, r1cs),
        a_query=times_generator(g1, a),
        b_g1_query=times_generator(g1, b),
        b_g2_query=times_generator(g2, b),
        l_query=times_generator(g1, (over_delta * k for k in mixed[first_private:])),
        h_query=times_generator(g1, (factor * k * over_delta for k in on_coset)),
        source=f"key of {r1cs.name}",
    )
    return Setup(curve, r1cs, waste, key)


def coefficients(curve: Curve, r1cs: R1cs) -> np.ndarray:
    """A and B as a circom key lists them, row by row: coefficient·R² mod r, R = 2^256."""
    p = curve.fr.modulus
    entries = [
        (matrix, row, wire, coefficient % p * 2**512 % p)
        for row, sides in enumerate(zip(*r1cs.matrices[:2], strict=True))
        for matrix, side in enumerate(sides)
        for wire, coefficient in side.items()
    ]
    records = np.zeros(len(entries), dtype=COEFFICIENT)
    for record, (matrix, row, wire, value) in zip(records, entries, strict=True):
        record["matrix"], record["constraint"], record["wire"] = matrix, row, wire
        record["value"] = from_ints([value], 4)[0]
    return records


def prove_exponents(keys: Setup, z: Sequence[int], r: int, s: int) -> tuple[int, int, int]:
    """The proof as three exponents (a, b, c); ValueError if z does not satisfy the circuit."""
    curve, r1cs, waste = keys.curve, keys.r1cs, keys.waste
    p, n = curve.fr.modulus, r1cs.domain_size
    values = [
        [sum(k * z[wire] for wire, k in row.items()) % p for row in matrix]
        for matrix in r1cs.matrices
    ]
    polynomials = [interpolate(curve, column) for column in values]
    h = evaluate(quotient(*polynomials, p), waste.tau, p)
    vanishing = pow(waste.tau, n, p) - 1
    *_, mixed = public_exponents(curve, r1cs, waste)
    first_private = r1cs.n_public + 1
    private = sum(x * k for x, k in zip(z[first_private:], mixed[first_private:], strict=True))

    a = waste.alpha + evaluate(polynomials[0], waste.tau, p) + r * waste.delta
    b = waste.beta + evaluate(polynomials[1], waste.tau, p) + s * waste.delta
    c = (private + h * vanishing) * pow(waste.delta, -1, p)
    c += s * a + r * b - r * s * waste.delta
    return a % p, b % p, c % p


def proof_of_exponents(curve: Curve, a: int, b: int, c: int) -> Proof:
    """[a]₁, [b]₂, [c]₁."""
    first, last = times_generator(curve.g1, (a, c))
    return Proof(curve, first, times_generator(curve.g2, (b,))[0], last)


def prove(keys: Setup, z: Sequence[int], r: int, s: int) -> Proof:
    """The proof that the product must give for this r and s."""
    return proof_of_exponents(keys.curve, *prove_exponents(keys, z, r, s))


def exponents_satisfy(keys: Setup, public: Sequence[int], a: int, b: int, c: int) -> bool:
    """The verifier's equation on exponents: a·b = α·β + γ·Σ IC + c·δ."""
    p, waste = keys.curve.fr.modulus, keys.waste
    *_, mixed = public_exponents(keys.curve, keys.r1cs, waste)
    statement = sum(x * k for x, k in zip([1, *public], mixed, strict=False))
    return (a * b - waste.alpha * waste.beta - statement - c * waste.delta) % p == 0


# --- points that must be refused --------------------------------------------------------------


def square_root(curve: Curve, c0: int, c1: int = 0) -> tuple[int, int] | None:
    """√(c0 + c1·u) in Fq2, q ≡ 3 mod 4, or None: its real part is √((c0 ± √norm)/2)."""
    q = curve.fq.modulus

    def root(value: int) -> int | None:
        found = pow(value, (q + 1) // 4, q)
        return found if found * found % q == value % q else None

    if c1 % q == 0:
        real = root(c0)
        return None if real is None else (real, 0)
    norm = root(c0 * c0 + c1 * c1)
    for sign in (1, -1) if norm is not None else ():
        real = root((c0 + sign * norm) * pow(2, -1, q))
        if real:
            return real, c1 * pow(2 * real, -1, q) % q
    return None


@cache
def outside_subgroup(curve: Curve, group: Group) -> U64Array:
    """A point of the curve that is not of order r (G1 of BN254 has none)."""
    q, x = curve.fq.modulus, 1
    while True:
        x += 1
        if group.is_g2:  # (x + u)³ + b
            b0, b1 = group.b
            square = (x**3 - 3 * x + b0) % q, (3 * x * x - 1 + b1) % q
        else:
            square = ((x**3 + group.b) % q,)
        y = square_root(curve, *square)
        if y is None or (not group.is_g2 and y[1]):
            continue
        point = encode(group, [((x, 1), y) if group.is_g2 else (x, y[0])])[0]
        scalars = [group.order - 1, 1]  # r·P, as linear_combination takes scalars mod r
        if linear_combination(group, [point, point], scalars).any():
            return point
