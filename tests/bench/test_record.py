"""Records: what is written is read again; what is no record, or another's, is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snarkcuda.bench import machine_line as machines
from snarkcuda.bench.case import Case
from snarkcuda.bench.machine_line import dated, is_busy, machine, machine_line
from snarkcuda.bench.measure import Measured
from snarkcuda.bench.record import VERSION, read_record, record_of
from snarkcuda.bench.statistics import FASTER, NO_DIFFERENCE
from snarkcuda.bench.tables import bench_table, comparison_table
from snarkcuda.errors import FormatError, MismatchError
from snarkcuda.machine import usable_processors

NTT = Case("ntt", "bn254", 12, path="auto")
MSM = Case("msm", "bls12_381", 14, group="g2", scalars="bits", path="scalar")


def measured(case: Case, scale: float = 1.0) -> Measured:
    runs = [round(scale * ns) for ns in range(2_000_000, 2_009_000, 1_000)]
    return Measured(case, "butterfly", 1000, 5_000_000_000, runs, 3, {"one": 10, "two": 1_500_000})


def written(folder: Path, record: Any) -> Path:
    path = folder / "record.json"
    path.write_text(json.dumps(record))
    return path


def test_round_trip(tmp_path: Path) -> None:
    record = record_of([measured(NTT), measured(MSM)], 3)
    earlier = read_record(written(tmp_path, record))
    assert earlier.machine == record["machine"]
    assert earlier.machine["threads"] == "3"
    assert earlier.runs == {str(case): measured(case).runs_ns for case in (NTT, MSM)}
    assert not earlier.differences(machine(3))


def test_an_entry_by_hand() -> None:
    entry = measured(MSM).as_dict()
    assert (entry["case"], entry["operation"]) == ("msm bls12_381 2^14 g2 bits scalar", "msm")
    assert (entry["log_n"], entry["group"], entry["path"]) == (14, "g2", "scalar")
    assert (entry["first_s"], entry["median_s"], entry["min_s"]) == (5.0, 2.004e-3, 2e-3)
    assert entry["interval_s"] == [2.001e-3, 2.007e-3]  # the 2nd and the 8th of nine
    assert entry["confidence"] == 0.9609
    assert entry["ns_per_unit"] == 2004.0
    assert entry["stages_s"] == {"one": 1e-8, "two": 1.5e-3}
    assert "group" not in measured(NTT).as_dict()


def test_comparison(tmp_path: Path) -> None:
    earlier = read_record(written(tmp_path, record_of([measured(NTT)], 2)))
    faster = earlier.compare(measured(NTT, 0.5))
    assert faster is not None
    assert (faster.verdict, round(faster.ratio, 3)) == (FASTER, 2.0)
    same = earlier.compare(measured(NTT))
    assert same is not None and same.verdict == NO_DIFFERENCE
    assert earlier.compare(measured(MSM)) is None
    earlier.check_shares([MSM, NTT])
    with pytest.raises(MismatchError, match="none of these cases; it has: ntt bn254"):
        earlier.check_shares([MSM, replace(NTT, log_n=13)])


def test_another_machine_is_seen(tmp_path: Path) -> None:
    """Load and revision may differ, processor and threads may not."""
    record = record_of([measured(NTT)], 2)
    now = dict(record["machine"])
    record["machine"] |= {"load": "9.9", "revision": "abc", "snarkcuda": "0.0.1"}
    assert not read_record(written(tmp_path, record)).differences(now)
    record["machine"] |= {"cpu": "One 9000", "threads": "64"}
    del record["machine"]["numba"]
    found = read_record(written(tmp_path, record)).differences(now)
    assert found == [
        f"cpu: One 9000 then, {now['cpu']} now",
        "threads: 64 then, 2 now",
        f"numba: not known then, {now['numba']} now",
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "snarkcuda bench ab"}, "is no record of"),
        ({"format_version": VERSION + 1}, f"a record of version {VERSION + 1}, and this"),
        ({"machine": []}, "machine must be an object"),
        ({"machine": {"cpu": 5}}, "machine.cpu must be a string"),
        ({"cases": {}}, "cases must be a list"),
        ({"cases": [5]}, r"cases\[0\] must be an object"),
        ({"cases": [{"case": "x"}]}, r"cases\[0\] has no key 'runs_ns'"),
        ({"cases": [{"case": "x", "runs_ns": []}]}, "runs_ns must be a list of times above 0"),
        ({"cases": [{"case": "x", "runs_ns": [7, 0]}]}, "runs_ns must be a list of times above 0"),
        ({"cases": [{"case": "x", "runs_ns": [1.5]}]}, r"runs_ns\[0\] must be an integer"),
    ],
)
def test_what_is_no_record(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    record = record_of([measured(NTT)], 2)
    with pytest.raises(FormatError, match=words):
        read_record(written(tmp_path, {**record, **change}))


def test_lists_are_no_records(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is no record of `snarkcuda bench … --out`"):
        read_record(written(tmp_path, []))


def test_machine_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Outside of a checkout there is no revision, and a processor may have no name."""
    monkeypatch.setattr(machines, "ROOT", tmp_path)
    monkeypatch.setattr(machines, "processor_model", lambda: None)
    record = dated(7)
    assert "revision" not in record["machine"]
    line = machine_line(record)
    assert line.startswith("unknown processor, threads 7, load ")
    assert line.endswith(record["date"])


def test_tables() -> None:
    text = bench_table([measured(NTT)])
    assert "ntt bn254 2^12 auto     5.00      2.004" in text
    assert "2.001 … 2.007  (96% of 9)   2.000  2004.00  butterfly" in text
    assert "\n  two " in text
    rows = [(str(NTT), None, [1_000_000], None)]
    assert comparison_table(rows).endswith(
        "1.000                            not in the earlier record"
    )


def test_a_busy_machine() -> None:
    """By the load of the minute before; what is not known is not busy."""
    n = usable_processors()
    assert is_busy({"load": f"{n + 1}.0 0.0 0.0"})
    assert not any(is_busy({"load": load}) for load in (f"{n}.0 9.0 9.0", "", "x"))
    assert not is_busy({})
