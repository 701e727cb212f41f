"""The check of a GPU: its report says what was found, and on what."""

import pytest
import without_cuda

from lucidgrad import check_gpu, cudasim
from lucidgrad.bench import gpu


def sections():
    return [
        check_gpu.Section("Device", "", 0.0, "| | |\n|---|---|\n| device | <one> |"),
        check_gpu.Section("Self-test", check_gpu.PASSED, 1.5, "15 of 15 cases are right."),
        check_gpu.Section("Tests", check_gpu.FAILED, 2.0, "```\nE   a < b\n```\n- `x`: **wrong**"),
    ]


def test_a_report():
    text = check_gpu.markdown(sections(), emulated=True)
    assert "On the emulated device: no GPU took part" in text
    assert "no GPU took part" not in check_gpu.markdown(sections(), emulated=False)
    assert "| Tests | FAILED | 2.0 |" in text and "| Device" not in text
    page = check_gpu.page(text)
    assert "<td class=FAILED>FAILED</td>" in page and "<td class=n>2.0</td>" in page
    assert (
        "&lt;one&gt;" in page and "E   a &lt; b" in page and "<li><code>x</code>: <strong>wrong</strong></li>" in page
    )
    assert page.count("<table>") == page.count("</table>") == 2
    assert page.count("<pre>") == page.count("</pre>") == 1


def test_what_was_achieved():
    row = gpu.Row(gpu.Case("copy", lambda m: lambda: None, bytes=2e9), {"lucidgrad": 4.0})
    assert row.achieved(gpu.Peak("one", 1e12, 0.0)) == (5e11, 0.5)
    assert row.achieved(gpu.Peak("unknown", 0.0, 0.0)) == (5e11, 0.0)
    table = gpu.table([row, gpu.Row(row.case, {}, {"lucidgrad": "RuntimeError: no"})], gpu.Peak("one", 1e12, 0.0))
    assert "| copy | 4 | 500 GB/s | 50% |" in table and "- copy, lucidgrad: RuntimeError: no" in table


@pytest.mark.parametrize("gpus", [1, 0])
def test_on_a_gpu_tests_end_where_they_ask_for_counts(gpus, monkeypatch):
    monkeypatch.setattr(without_cuda.cudasim, "is_installed", lambda: False)
    monkeypatch.setattr(without_cuda.cudasim, "usable_gpus", lambda: gpus)
    monkeypatch.setattr(without_cuda, "EXPECTED", False)
    found = without_cuda.excuse(cudasim.EmulatorError("the emulated CUDA device is not installed"))
    assert found == ("a GPU is here: the emulated CUDA device is not installed" if gpus else None)
    assert without_cuda.excuse(AssertionError("a kernel is wrong")) is None


@pytest.mark.cuda
def test_outside_of_a_clone(tmp_path, monkeypatch, capsys):
    if not cudasim.is_installed():
        pytest.skip("this process has a device of its own")
    monkeypatch.chdir(tmp_path)
    assert check_gpu.main(["--no-bench", "--out", str(tmp_path / "report")]) == 0
    told = capsys.readouterr().out
    assert "EMULATED" in told and "all is well" in told
    text = (tmp_path / "report" / "report.md").read_text()
    assert "15 of 15 cases are right" in text and "This is no clone" in text
    for part in ("Tests", "Errors against exact values", "compute-sanitizer", "Speed"):  # nothing is missing in silence
        assert f"| {part} | left out |" in text


@pytest.mark.cuda
def test_every_case_runs():
    rows = gpu.run(tiny=True, rounds=1, names=["gelu", "matrix product", "MLP"])
    assert [row.case.name for row in rows] == ["gelu", "matrix product", "MLP step, Adam"]
    for row in rows:
        assert {"lucidgrad", "compiled"} <= set(row.milliseconds), row.missing
        assert row.milliseconds["lucidgrad"] > 0


def test_without_a_device(monkeypatch, capsys):
    monkeypatch.setattr(check_gpu.lg.cuda, "is_available", lambda: False)
    assert check_gpu.main([]) == 2
    assert "there is no CUDA device here" in capsys.readouterr().err
