#!/usr/bin/env python3
"""Compares `tenon weights --to` with PyTorch's state dicts.

    check_weights.py TENON PROGRAM.pt2...

For each program that torch.export.load opens: the .safetensors that Tenon
writes, read by the library safetensors, has the keys of the exported program's
state_dict, and each tensor its dtype, shape and bits. Where Tenon refuses the
program, the reason is one that it may have: a dtype that safetensors can't
say, a tensor that only a pickle holds. Then the file goes back in, and
PyTorch must find the same state dict in what comes out; the same of a file that
was stripped before, which PyTorch must refuse. Prints "FAIL name: why" for each
that fails and ends with "N passed, N failed".
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file

MAY_REFUSE = ("safetensors has no dtype", "pickled object")


class Failed(Exception):
    """A program whose weights aren't what they must be; the text says why."""


def run(*words):
    return subprocess.run([str(w) for w in words], capture_output=True,
                          text=True)


def must(*words):
    done = run(*words)
    if done.returncode != 0:
        raise Failed(f"{words[1]} {words[3]}: {done.stderr.strip()}")


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(
        a.detach().contiguous().view(-1).view(torch.uint8),
        b.detach().contiguous().view(-1).view(torch.uint8))


def compare(what, expected, found):
    if set(expected) != set(found):
        raise Failed(f"{what}: keys differ: "
                     f"{sorted(set(expected) ^ set(found))}")
    for name, tensor in expected.items():
        if not same_bits(tensor, found[name]):
            raise Failed(f"{what}: '{name}' differs")


def check(tenon, program, folder):
    """Raises Failed; returns whether there was something to compare."""
    weights = folder / "weights.safetensors"
    done = run(tenon, "weights", program, "--to", weights)
    if done.returncode != 0:
        if any(reason in done.stderr for reason in MAY_REFUSE):
            return False
        raise Failed(f"weights --to: {done.stderr.strip()}")
    try:
        state = torch.export.load(program).state_dict
    except Exception:  # what PyTorch itself can't read (known_failures.json)
        return False
    compare("load_file", state, load_file(weights))
    again = folder / "again.pt2"
    must(tenon, "weights", program, "--from", weights, "-o", again)
    compare("--from", state, torch.export.load(again).state_dict)
    stripped = folder / "stripped.pt2"
    must(tenon, "strip", program, "-o", stripped)
    refused = False
    try:
        torch.export.load(stripped)
    except ValueError as error:
        refused = "tenon weights FILE --from" in str(error)
    if not refused:
        raise Failed("PyTorch doesn't say that the weights were stripped")
    must(tenon, "weights", stripped, "--from", weights, "-o", again)
    compare("strip, --from", state, torch.export.load(again).state_dict)
    return True


def main():
    tenon, programs = sys.argv[1], sys.argv[2:]
    num_passed = num_failed = num_refused = 0
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            try:
                is_compared = check(tenon, program, Path(folder))
                num_passed += 1
                num_refused += not is_compared
            except Failed as error:
                num_failed += 1
                print(f"FAIL {Path(program).name}: {error}")
    print(f"refused or unreadable: {num_refused}")
    print(f"{num_passed} passed, {num_failed} failed")
    return 1 if num_failed or num_refused == num_passed else 0


if __name__ == "__main__":
    sys.exit(main())
