"""What a person reads: the table of a bench, and who is faster."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from snarkcuda.bench.measure import Measured
from snarkcuda.bench.statistics import LEVEL, Comparison, median_interval


def bench_table(measured: Sequence[Measured]) -> str:
    """Cases with their times in milliseconds, and stages below them."""
    rows = [["case", "first s", "median ms", "interval", "", "min ms", "ns", "per"]]
    for each in measured:
        interval = median_interval(each.runs_ns)
        sure = f"({interval.confidence:.0%} of {len(each.runs_ns)})"
        rows.append(
            [
                str(each.case),
                f"{each.first_ns / 1e9:.2f}",
                _ms(each.median_ns),
                f"{_ms(interval.low)} … {_ms(interval.high)}",
                sure,
                _ms(min(each.runs_ns)),
                f"{each.median_ns / each.n_units:.2f}",
                each.unit,
            ]
        )
        rows += [
            [f"  {name}", "", _ms(ns), "", "", "", "", ""] for name, ns in each.stages_ns.items()
        ]
    return _aligned(rows, left=(0, 4, 7))


def comparison_table(
    found: Iterable[tuple[str, Sequence[int] | None, Sequence[int], Comparison | None]],
    old: str = "old",
    new: str = "new",
) -> str:
    """Cases with medians, ratio and verdict.

    Args:
        found: name, nanoseconds of the old and of the new runs, what was made of them; None and
            None for a case that has no old ones.
        old, new: what the two are called.
    """
    title = [f"{old} ms", f"{new} ms", f"{old}/{new}", f"{LEVEL:.0%} interval", "p", f"{new} is"]
    rows = [["case", *title]]
    for case, before, after, comparison in found:
        now = _ms(statistics.median(after))
        if before is None or comparison is None:
            rows.append([case, "", now, "", "", "", "not in the earlier record"])
            continue
        c = comparison
        figures = [f"{c.ratio:.3f}", f"{c.low:.3f} … {c.high:.3f}", f"{c.p:.4f}", c.verdict]
        rows.append([case, _ms(statistics.median(before)), now, *figures])
    return _aligned(rows, left=(0, 6))


def _ms(ns: float) -> str:
    value = ns / 1e6
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _aligned(rows: list[list[str]], left: tuple[int, ...]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            f"{cell:<{width}}" if i in left else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
