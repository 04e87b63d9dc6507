"""Each fault that the doctor looks for, put in its place, is found and has a fix."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from snarkcuda import doctor, machine
from snarkcuda.doctor import Finding, examine
from snarkcuda.errors import DeviceError
from snarkcuda.machine import CudaDriver, Memory


@pytest.fixture(autouse=True)
def healthy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without faults, whatever this one has."""
    for name in list(os.environ):
        if name.startswith("NUMBA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SNARKCUDA_CACHE_DIR", str(tmp_path / "kernels"))
    versions = {"numpy": "2.4.6", "numba": "0.68.1"}
    monkeypatch.setattr(doctor, "_version", versions.get)
    monkeypatch.setattr(doctor, "_toolkit", lambda: "13.5")
    monkeypatch.setattr(doctor, "_declared", lambda: (">=3.10", ["numba<0.69,>=0.68", "numpy"]))
    for name, value in (
        ("usable_processors", 8),
        ("processor_quota", None),
        ("free_bytes", 10**12),
        ("memory", Memory(64 * 10**9, 32 * 10**9, None)),
        ("cuda_driver", None),
    ):
        monkeypatch.setattr(machine, name, lambda *_, value=value: value)


def found(name: str) -> Finding:
    """The finding of that name; the only one with a problem, if it has one."""
    findings = examine()
    (finding,) = (f for f in findings if f.name == name)
    assert [f.name for f in findings if f.problem] == [name] * (finding.problem is not None)
    return finding


def test_healthy() -> None:
    """No problem, unique names, and what was found is told."""
    findings = examine()
    assert not [f for f in findings if f.problem or f.fix or f.prevents_proving]
    values = {f.name: f.value for f in findings}
    assert len(values) == len(findings)
    assert values["numba"] == "0.68.1"
    assert values["memory"] == "64,000 MB, available 32,000 MB"
    assert "sums of points are the CPU" in values["CUDA"]
    assert values["numba-cuda"] == "not installed"


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("0.68.1", "<0.69,>=0.68", True),
        ("0.68", "<0.69,>=0.68.0", True),
        ("0.69.0", "<0.69,>=0.68", False),
        ("0.69.0rc1", "<0.69", False),
        ("0.67.9", ">=0.68", False),
        ("3.9.18", ">=3.10", False),
        ("10", ">=9, !=10.0", False),
        ("2.0", "==2", True),
        ("1+local.5", "<=1", True),
        ("2.4.6", ">2.4,<=2.4.6", True),
        ("1.0", "", True),
    ],
)
def test_ranges(version: str, wanted: str, fits: bool) -> None:
    assert doctor._fits(version, wanted) is fits


def test_version_out_of_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an extra needs is not looked at."""
    needs = ["numba<0.68", "numpy", 'pytest>=99; extra == "test"']
    monkeypatch.setattr(doctor, "_declared", lambda: (">=3.10", needs))
    finding = found("numba")
    assert finding.problem == (
        "numba 0.68.1 is not in the range that snarkcuda is tested with, <0.68"
    )
    assert (finding.fix, finding.prevents_proving) == ("pip install 'numba<0.68'", True)


def test_python_out_of_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.python_version", lambda: "3.9.1")
    finding = found("python")
    assert finding.fix == "make an environment with Python >=3.10"
    assert finding.prevents_proving


def test_package_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_declared", lambda: ("", ["click (>=8.1)"]))
    finding = found("click")
    assert (finding.value, finding.fix) == ("not installed", "pip install 'click>=8.1'")
    assert finding.prevents_proving


def test_never_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run from a folder: no ranges are known, which prevents nothing."""
    monkeypatch.setattr(doctor, "_declared", lambda: None)
    monkeypatch.setattr(doctor, "_version", lambda name: None if "cuda" in name else "1.0")
    finding = found("packages")
    assert (finding.fix, finding.prevents_proving) == ("pip install .", False)


@pytest.mark.parametrize("module", ["numba", "snarkcuda.jit"])
@pytest.mark.parametrize(
    ("error", "words", "fix"),
    [
        (ImportError("Numba needs NumPy 2.4 or less"), "NumPy 2.4 or less", "reinstall"),
        (SystemError("initialization failed"), "SystemError: initialization", "reinstall"),
        (DeviceError("NUMBA_DISABLE_JIT is set"), "NUMBA_DISABLE_JIT is set", "unset NUMBA_DIS"),
    ],
)
def test_kernels_cannot_be_compiled(
    monkeypatch: pytest.MonkeyPatch, module: str, error: Exception, words: str, fix: str
) -> None:
    """The import's error is shown, not raised; the cache is then unknown."""
    really = doctor.import_module

    def import_module(name: str) -> object:
        if name == module or module == "numba":
            raise error
        return really(name)

    monkeypatch.setattr(doctor, "import_module", import_module)
    finding = found("kernels")
    assert words in (finding.problem or "")
    assert fix in (finding.fix or "")
    assert finding.prevents_proving
    assert Finding("kernel cache", "unknown") in examine()


def test_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    """No problem: the pool takes the quota into account."""
    monkeypatch.setattr(machine, "usable_processors", lambda: 8)
    for quota, threads in ((8.0, None), (2.5, 3), (0.5, 1), (None, None)):
        monkeypatch.setattr(machine, "processor_quota", lambda quota=quota: quota)
        finding = doctor._threads()
        assert finding.problem is None
        if threads is None:
            assert "by default" not in finding.value
        else:
            assert f"time for {quota:g}: {threads} threads by default" in finding.value


@pytest.mark.parametrize(
    ("target", "value"),
    [
        (
            ("znver4", ["64bit", "adx", "avx2", "avx512f", "avx512ifma"]),
            "znver4, with avx2, adx, avx512f, avx512ifma",
        ),
        (("generic", []), "generic, with none of avx2, bmi2, adx, avx512f, avx512ifma, neon, sve"),
        (None, "unknown"),
    ],
)
def test_target(monkeypatch: pytest.MonkeyPatch, target: object, value: str) -> None:
    monkeypatch.setattr(machine, "compile_target", lambda: target)
    assert found("compiled for").value == value
    has_vectors = target is not None and set(target[1]) >= machine.IFMA
    assert ("eight" in found("sums, transforms").value) is has_vectors


@pytest.mark.parametrize(
    ("name", "harmless", "harmful"),
    [
        ("NUMBA_BOUNDSCHECK", "0", "1"),
        ("NUMBA_CPU_FEATURES", "", "+avx2"),
        ("NUMBA_CPU_NAME", "", "generic"),
        ("NUMBA_DEBUGINFO", "0", "1"),
        ("NUMBA_ENABLE_AVX", "1", "0"),
        ("NUMBA_OPT", "3", "0"),
        ("NUMBA_NUM_THREADS", "2", None),
        ("NUMBA_ENABLE_CUDASIM", "1", None),
        ("NUMBA_CACHE_DIR", "/tmp", None),
        ("NUMBA_SOMETHING", "else", None),
    ],
)
def test_settings(
    monkeypatch: pytest.MonkeyPatch, name: str, harmless: str, harmful: str | None
) -> None:
    """Told in any case; a problem where kernels change."""
    monkeypatch.setenv(name, harmless)
    assert found(name).value.startswith(harmless)
    if harmful is None:
        return
    monkeypatch.setenv(name, harmful)
    finding = found(name)
    assert finding.problem and finding.fix == f"unset {name}" and not finding.prevents_proving


def test_cache_that_others_can_write(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels").chmod(0o777)
    finding = found("kernel cache")
    assert "others can write" in str(finding.problem)
    assert str(finding.problem).endswith("kernels are compiled anew in each process")
    assert str(finding.fix).startswith("set SNARKCUDA_CACHE_DIR to a new directory")
    assert not finding.prevents_proving


def test_cache_is_counted(tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir(mode=0o700)
    (tmp_path / "kernels" / "a.kernel").write_bytes(bytes(3_000_000))
    assert found("kernel cache").value == f"{tmp_path / 'kernels'}: 1 kernels, 3 MB"


@pytest.mark.parametrize("free", [None, 10**8, 10**8 - 1, 0])
def test_full_disk(monkeypatch: pytest.MonkeyPatch, free: int | None) -> None:
    monkeypatch.setattr(machine, "free_bytes", lambda folder: free)
    finding = found("free on its disk")
    if free is None or free >= 10**8:
        assert finding.problem is None
    else:
        assert finding.fix == "free 100 MB, or set SNARKCUDA_CACHE_DIR to a folder elsewhere"


def test_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for memory, value in (
        (Memory(None, None, None), "unknown, available unknown"),
        (Memory(10**10, 10**9, 10**9), "10,000 MB, available 1,000 MB, the control group's limit"),
    ):
        monkeypatch.setattr(machine, "memory", lambda memory=memory: memory)
        assert found("memory").value.startswith(value)


@pytest.mark.parametrize(
    ("cuda", "numpy", "broken"),
    [("0.30.4", "2.5.0", True), ("0.30.4", "2.4.9", False), ("0.31.0", "2.5.0", False)],
)
def test_numba_cuda(monkeypatch: pytest.MonkeyPatch, cuda: str, numpy: str, broken: bool) -> None:
    versions = {"numba-cuda": cuda, "numpy": numpy, "numba": "0.68.1"}
    monkeypatch.setattr(doctor, "_version", versions.get)
    finding = found("numba-cuda")
    assert finding.value == cuda
    assert finding.fix == ("pip install 'numpy<2.5'" if broken else None)
    assert not finding.prevents_proving


def test_cuda_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cuda_driver", lambda: CudaDriver("13.0", 0, ["One", "Two"]))
    finding = found("CUDA driver")
    assert finding.value == "for CUDA 13.0, devices: One, Two" and finding.problem is None
    monkeypatch.setattr(machine, "cuda_driver", lambda: CudaDriver("12.4", 0, ["One"]))
    finding = found("CUDA driver")
    assert finding.problem == "it is for CUDA 12.4, older than the compiler, 13.5"
    assert finding.fix == "update the driver, or pip install 'numba-cuda[cu12]'"
    assert not finding.prevents_proving
    monkeypatch.setattr(machine, "cuda_driver", lambda: CudaDriver("12.4", 999, []))
    finding = found("CUDA driver")
    assert "cuInit gives error 999" in str(finding.problem)
    assert "nvidia-smi" in str(finding.fix) and not finding.prevents_proving
