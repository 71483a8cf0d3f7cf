#!/usr/bin/env python3
"""Times chains of linear layers in bfloat16, with int8 weights and in float32:
backend cpu, the reference executor, and PyTorch eager.

    narrow_peers.py --tenon build/release/tenon [--size 2048] [--rows 1,8,128]

Runs in an environment with torch. Prints a Markdown table; microseconds of wall
time, the best of several calls, one thread.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401: the operators

LAYERS = 4


class Plain(torch.nn.Module):
    """Linear layers with SiLU between."""

    def __init__(self, size, dtype):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(size, size, dtype=dtype) for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = torch.nn.functional.silu(layer(x))
        return x


class Int8(torch.nn.Module):
    """The same with weights of int8, a scale and a zero point per channel."""

    def __init__(self, size):
        super().__init__()
        for i in range(LAYERS):
            weight = torch.randint(-127, 128, (size, size), dtype=torch.int8)
            self.register_buffer(f"weight{i}", weight)
            self.register_buffer(f"scale{i}", torch.rand(size) * 1e-3)
            self.register_buffer(f"zero{i}", torch.zeros(size).long())

    def forward(self, x):
        ops = torch.ops.quantized_decomposed
        for i in range(LAYERS):
            weight = ops.dequantize_per_channel(
                getattr(self, f"weight{i}"), getattr(self, f"scale{i}"),
                getattr(self, f"zero{i}"), 0, -127, 127, torch.int8)
            x = torch.nn.functional.silu(torch.nn.functional.linear(x, weight))
        return x


def best_us(call, repeat):
    """The fastest of several calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return min(times)


def tenon_us(tenon, file, backend, repeat):
    """The fastest call that `tenon bench` saw."""
    out = subprocess.run(
        [tenon, "bench", file, "--random", "-b", backend, "--warmup", "1",
         "--repeat", str(repeat), "--json"],
        check=True, capture_output=True, text=True)
    return json.loads(out.stdout)["min_ns"] / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--size", type=int, default=2048)
    parser.add_argument("--rows", default="1,8,128")
    parser.add_argument("--repeat", type=int, default=30)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    models = {
        "bfloat16": (Plain(args.size, torch.bfloat16), torch.bfloat16),
        "int8 weights": (Int8(args.size), torch.float32),
        "float32": (Plain(args.size, torch.float32), torch.float32),
    }
    print("| chain | rows | cpu | reference | PyTorch |")
    print("|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for name, (model, dtype) in models.items():
            for rows in map(int, args.rows.split(",")):
                x = torch.randn(rows, args.size).to(dtype)
                file = str(pathlib.Path(folder) / "chain.pt2")
                torch.export.save(torch.export.export(model.eval(), (x,)), file)
                eager = best_us(lambda m=model, x=x: m(x), args.repeat)
                cpu = tenon_us(args.tenon, file, "cpu", args.repeat)
                reference = tenon_us(args.tenon, file, "none", 1)
                print(f"| {name} | {rows} | {cpu:,.0f} | {reference:,.0f} | "
                      f"{eager:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
