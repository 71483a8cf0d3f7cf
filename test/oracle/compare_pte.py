"""Runs ExecuTorch programs and their rewritten copies in the stock runtime.

    compare_pte.py PTE_RUNNER MANIFEST WRITTEN

Every method of every program of the manifest, and the hand-made ones beside it,
runs twice on the same arrays: as the exporter wrote it, and from the folder
WRITTEN. Both must end alike: the same output bytes, or the same refusal. Each
run is a process of its own, so a crash of the runtime costs one line. Ends with
"N passed, N failed".
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TIMEOUT_S = 120


def jobs_of(manifest):
    """(name, file, data files, methods, arrays), paths relative to the folder."""
    folder = manifest.parent
    for entry in json.loads(manifest.read_text())["entries"]:
        runs = [([m["name"]], m["io"]) for m in entry["methods"]]
        runs += [([name], "") for name in entry["constant_methods"]]
        if "sequence" in entry:
            runs.append((entry["sequence"]["methods"], entry["sequence"]["io"]))
        for methods, io in runs:
            yield entry["name"], entry["pte"], entry["data"], methods, io
    for path in sorted((folder / "handmade").glob("*.pte")):
        name = f"handmade/{path.stem}"
        yield name, name + ".pte", [], ["forward"], name + ".safetensors"


def run(runner, folder, corpus, job, out):
    """How the run ended: its outputs, or why there are none."""
    _, program, data, methods, io = job
    command = [runner, folder / program, "--method", ",".join(methods),
               "--out", out]
    if io:
        command += ["--in", corpus / io]
    if len(methods) > 1:
        command.append("--share-arenas")
    for path in data:
        command += ["--data", folder / path]
    out.unlink(missing_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return "", f"no end after {TIMEOUT_S} s"
    if done.returncode == 0:
        return out.read_bytes(), "ran"
    refused = re.findall(r"^refused in .*$", done.stderr, re.M)
    return b"", refused[-1] if refused else f"status {done.returncode}"


def main():
    runner = sys.argv[1]
    manifest, written = Path(sys.argv[2]), Path(sys.argv[3])
    passed = failed = ran = 0
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        for job in jobs_of(manifest):
            before = run(runner, manifest.parent, manifest.parent, job, out)
            after = run(runner, written, manifest.parent, job, out)
            ran += before[1] == "ran"
            if before == after:
                passed += 1
                continue
            failed += 1
            print(f"FAIL {job[0]} {','.join(job[3])}: {after[1]}, "
                  f"as the exporter wrote it: {before[1]}"
                  + (", other outputs" if before[1] == after[1] else ""))
    print(f"{ran} of them run, the others are refused alike")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
