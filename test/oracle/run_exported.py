"""Runs the .pte files that Tenon exported in the stock runtime.

    run_exported.py PTE_RUNNER TENON FOLDER LINES

FOLDER is what `conformance export-pte --keep` left there, LINES what it
printed. Every file is verified by Tenon and run with full verification on each
recorded call; the outputs must be those recorded, within the tolerance of the
record: kinds, sizes and dtypes exactly. Each run is a process of its own, so a
crash of the runtime costs one line. What was refused at export is counted by
reason. Ends with "N passed, N failed".
"""
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

TIMEOUT_S = 300
FLOORS = {"F16": 2e-3, "BF16": 2e-2}
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4",
          "I16": "<i2", "I8": "<i1", "U8": "<u1", "U16": "<u2", "U32": "<u4",
          "U64": "<u8", "BOOL": "<u1"}


def read_arrays(path):
    """{key: (dtype, sizes, flat array)}; bfloat16 as float32."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    arrays = {}
    for key, item in header.items():
        if key == "__metadata__":
            continue
        begin, end = item["data_offsets"]
        raw = data[8 + size + begin:8 + size + end]
        if item["dtype"] == "BF16":
            bits = numpy.frombuffer(raw, "<u2").astype(numpy.uint32) << 16
            flat = bits.view(numpy.float32)
        else:
            flat = numpy.frombuffer(raw, DTYPES.get(item["dtype"], "<u1"))
        arrays[key] = item["dtype"], item["shape"], flat
    return arrays


def differ(got, want, rtol, atol):
    """"" when the arrays agree, else what differs."""
    for key in sorted(want):
        if key not in got:
            return f"{key} is missing"
    for key in sorted(got):
        if key not in want:
            return f"{key} is one too many"
    for key, (dtype, sizes, flat) in sorted(want.items()):
        if got[key][:2] != (dtype, sizes):
            return f"{key} is {got[key][:2]} instead of {dtype, sizes}"
        other = got[key][2]
        if dtype not in ("F64", "F32", "F16", "BF16"):
            if not (other == flat).all():
                return f"{key}: {int((other != flat).sum())} elements differ"
            continue
        floor = FLOORS.get(dtype, 0)
        a, b = other.astype(float), flat.astype(float)
        with numpy.errstate(invalid="ignore"):
            gap = abs(a - b)
        near = gap <= max(atol, floor) + max(rtol, floor) * abs(b)
        ok = near | (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        if not ok.all():
            at = int(numpy.argmin(ok))
            return (f"{key}: {int((~ok).sum())} elements differ, "
                    f"at {at}: {a[at]} instead of {b[at]}")
    return ""


def runner_environment():
    """The runner's: with what LD_PRELOAD_FOR_RUNNER names loaded first."""
    preload = os.environ.get("LD_PRELOAD_FOR_RUNNER", "")
    return {**os.environ, "LD_PRELOAD": preload} if preload else None


def check(runner, tenon, folder, name):
    """The first thing that is wrong with a program; "" when all is right."""
    program = folder / (name + ".pte")
    done = subprocess.run([tenon, "verify", program], capture_output=True,
                          text=True)
    if done.returncode != 0:
        return "tenon verify: " + done.stderr.strip()
    record = json.loads((folder / (name + ".json")).read_text())
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "out"
        for run in record["runs"]:
            command = [runner, program, "--in", folder / run["in"],
                       "--out", out]
            try:
                done = subprocess.run(command, capture_output=True,
                                      env=runner_environment(),
                                      timeout=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                return f"{run['what']}: no end after {TIMEOUT_S} s"
            if done.returncode != 0:
                lines = done.stderr.decode(errors="replace").splitlines()
                said = [x for x in lines if x.startswith("refused in")]
                why = [re.sub(r"^.*?\] ", "", x) for x in lines
                       if x.startswith("E ")]
                return (f"{run['what']}: "
                        f"{said[-1] if said else f'status {done.returncode}'}"
                        f" {' / '.join(why[:2])}")
            wrong = differ(read_arrays(out), read_arrays(folder / run["want"]),
                           record["rtol"], record["atol"])
            if wrong:
                return f"{run['what']}, {run['in']}: {wrong}"
    return ""


def main():
    runner, tenon = sys.argv[1:3]
    folder = Path(sys.argv[3])
    lines = Path(sys.argv[4]).read_text().splitlines()
    passed = failed = 0
    reasons = collections.Counter()
    for line in lines:
        if line.startswith("FAIL "):
            failed += 1
            print(line)
        elif line.startswith("SKIP "):
            reason = line.split(": ", 2)[2]
            reason = re.sub(r"^(V-PTE-31: ).*?runtime: ", r"\1", reason)
            reason = re.sub(r"; backends cpu.*$", "", reason)
            reason = re.sub(r"'[^']*'|\b\d+\b", "_", reason)
            reasons[reason[:110]] += 1
    names = sorted(p.name[:-len(".json")] for p in folder.glob("*.json"))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = pool.map(lambda n: check(runner, tenon, folder, n), names)
        for name, wrong in zip(names, verdicts):
            passed += not wrong
            failed += bool(wrong)
            if wrong:
                print(f"FAIL {name}: {wrong}")
    for reason, count in reasons.most_common():
        print(f"refused {count}: {reason}")
    print(f"{passed} passed, {failed} failed, {sum(reasons.values())} refused")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
