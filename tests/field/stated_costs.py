"""What docstrings state as "Cost: 2M + 1P." against what `Bound` counts."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from types import ModuleType
from typing import Any

from snarkcuda.field.bound import Tally, bounded, strict
from snarkcuda.field.params import Field, prime_of

Formula = Callable[..., Any]


def formulas(module: ModuleType) -> dict[str, Formula]:
    """The functions that a module of formulas defines."""
    found = inspect.getmembers(module, inspect.isfunction)
    return {name: function for name, function in found if function.__module__ == module.__name__}


def stated(function: Formula) -> Counter[str]:
    """The operations in the docstring's cost, as {"M": 2, "P": 1}."""
    match = re.search(r"Cost: ([^.]+)\.", inspect.getdoc(function) or "")
    assert match, f"{function.__name__} states no cost"
    cost: Counter[str] = Counter()
    for term in match[1].split(" + "):
        if term != "0":
            number, letter = re.fullmatch(r"(\d+)([MSPI])", term).groups()  # type: ignore[union-attr]
            cost[letter] += int(number)
    return cost


def in_prime_operations(cost: Counter[str], field: Field) -> Counter[str]:
    """Operations of `field` as operations of the prime field below."""
    total: Counter[str] = Counter()
    for letter, number in cost.items():
        tally = Tally()
        a = bounded(field, strict(prime_of(field)), tally)
        {
            "M": lambda a=a: a * a,
            "S": a.sqr,
            "P": lambda a=a: a.mul_sub(a, a, a),
            "I": a.inverse,
        }[letter]()
        for name, count in counted(tally).items():
            total[name] += number * count
    return total


def counted(tally: Tally) -> Counter[str]:
    """A tally without additions and zeros."""
    return Counter({k: n for k, n in asdict(tally).items() if n and k != "A"})
