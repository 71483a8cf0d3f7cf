"""What the stock ExecuTorch runtime computes from files with several methods.

    pte_methods.py PTE_RUNNER TENON SCRATCH [--delegate NAME]...

Each case exports modules with torch.export, makes one .pte of them with Tenon,
and runs its methods in a row in the stock runtime; eager PyTorch says what they
have to give. LD_PRELOAD_FOR_RUNNER names what the runner loads first. Ends with
"N passed, N failed".
"""
import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy
import torch
from safetensors.numpy import load_file, save_file
from torch import nn
from torch.export import Dim

NUM_TOKENS = 16


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x * scale * self.weight


class Layer(nn.Module):
    """Grouped-query attention over a cache, and a gated network."""

    def __init__(self, width, length):
        super().__init__()
        self.heads, self.shared, self.each = 4, 2, width // 4
        self.before, self.between = RMSNorm(width), RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, self.shared * self.each, bias=False)
        self.v = nn.Linear(width, self.shared * self.each, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        for name in ("k_cache", "v_cache"):
            self.register_buffer(
                name, torch.zeros(1, self.shared, length, self.each))

    def forward(self, x, pos, cos, sin, mask):
        batch, count, width = x.shape
        y = self.before(x)

        def split(z, heads):
            return z.view(batch, count, heads, self.each).transpose(1, 2)

        def turn(z):
            half = self.each // 2
            turned = torch.cat([-z[..., half:], z[..., :half]], -1)
            return z * cos + turned * sin

        q, k, v = (split(self.q(y), self.heads), split(self.k(y), self.shared),
                   split(self.v(y), self.shared))
        self.k_cache.index_copy_(2, pos, turn(k))
        self.v_cache.index_copy_(2, pos, v)
        times = self.heads // self.shared
        a = nn.functional.scaled_dot_product_attention(
            turn(q), self.k_cache.repeat_interleave(times, 1),
            self.v_cache.repeat_interleave(times, 1), attn_mask=mask)
        x = x + self.o(a.transpose(1, 2).reshape(batch, count, width))
        y = self.between(x)
        return x + self.down(
            nn.functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, length=32, layers=2, width=32, vocabulary=64):
        super().__init__()
        self.length = length
        self.embed, self.norm = nn.Embedding(vocabulary, width), RMSNorm(width)
        self.layers = nn.ModuleList(
            Layer(width, length) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)
        each = width // 4
        angles = torch.outer(
            torch.arange(length).float(),
            10000.0 ** (-torch.arange(0, each, 2) / each))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, tokens, pos):
        x, cos, sin = self.embed(tokens), self.cos[pos], self.sin[pos]
        mask = torch.arange(self.length)[None] <= pos[:, None]
        for layer in self.layers:
            x = layer(x, pos, cos, sin, mask)
        return self.head(self.norm(x))


class SameName(nn.Module):
    """A buffer and an argument of one name."""

    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(4))

    def forward(self, k):
        self.k.add_(k * 2)
        return self.k + 1


class CondTwice(nn.Module):
    """Two conditionals in a row, the second fed by the first."""

    def forward(self, x, y):
        a = torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))
        b = torch.cond(a.sum() > y.sum(), lambda a, y: a + y,
                       lambda a, y: a * y, (a, y))
        return a, b


class Count(nn.Module):
    def __init__(self, start):
        super().__init__()
        self.register_buffer("count", torch.full((2,), start))

    def forward(self, x):
        self.count.add_(x)
        return self.count * 1


class Peek(nn.Module):
    """Reads what another method writes."""

    def __init__(self, start):
        super().__init__()
        self.register_buffer("count", torch.full((2,), start))

    def forward(self):
        return self.count + 1


class Bench:
    """Files, commands, and calls of methods in a row."""

    def __init__(self, runner, tenon, scratch, delegates):
        self.runner, self.tenon, self.scratch = runner, tenon, Path(scratch)
        self.backends = ",".join(delegates + ["portable"])
        self.environment = dict(os.environ)
        preload = os.environ.get("LD_PRELOAD_FOR_RUNNER", "")
        if preload:
            self.environment["LD_PRELOAD"] = preload
        self.said = ""

    def save(self, name, module, args, **options):
        path = self.scratch / (name + ".pt2")
        torch.export.save(torch.export.export(
            module.eval(), args, strict=False, **options), path)
        return path

    def export(self, *words):
        """The .pte and the files beside it, as Tenon makes them."""
        out = self.scratch / "out.pte"
        done = subprocess.run(
            [self.tenon, "export", *map(str, words), "-o", out, "-b",
             self.backends], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError("tenon export: " + done.stderr.strip())
        self.said = done.stdout
        return out

    def run(self, program, calls, data=(), shared=True):
        """What calls [(method, inputs)] in a row on one loaded file give."""
        arrays = {}
        for i, (_, inputs) in enumerate(calls):
            prefix = f"{i}/" if i else ""
            for k, value in enumerate(inputs):
                arrays[f"{prefix}in.{k}"] = numpy.ascontiguousarray(
                    value.numpy())
        save_file(arrays, self.scratch / "in")
        command = [self.runner, program, "--in", self.scratch / "in", "--out",
                   self.scratch / "out", "--method",
                   ",".join(method for method, _ in calls)]
        command += ["--share-arenas"] if shared else []
        for path in data:
            command += ["--data", path]
        done = subprocess.run(command, capture_output=True, text=True,
                              env=self.environment, timeout=300)
        if done.returncode != 0:
            raise AssertionError(
                f"status {done.returncode}: {done.stderr.strip()[-600:]}")
        got = load_file(self.scratch / "out")
        results = []
        for i in range(len(calls)):
            prefix = f"{i}/out." if i else "out."
            count = sum(key.startswith(prefix) for key in got)
            results.append([got[f"{prefix}{k}"] for k in range(count)])
        return results


def check_same(got, want, what):
    want = [w.detach().numpy() for w in want]
    assert len(got) == len(want), f"{what}: {len(got)} outputs"
    for k, (g, w) in enumerate(zip(got, want)):
        assert g.shape == w.shape and g.dtype == w.dtype, (
            f"{what}, output {k}: {g.dtype} {g.shape}")
        assert numpy.allclose(g, w, rtol=1e-4, atol=1e-5), (
            f"{what}, output {k}: differs by {abs(g - w).max()}")


def llama_calls(model, prompt):
    """Calls that decode NUM_TOKENS, with what eager PyTorch gives."""
    calls, want = [], []
    tokens, pos = torch.tensor([prompt]), torch.arange(len(prompt))
    with torch.no_grad():
        for step in range(NUM_TOKENS + 1):
            method = "prefill" if step == 0 and len(prompt) > 1 else "decode"
            calls.append((method, (tokens, pos)))
            want.append(model(tokens, pos))
            tokens = want[-1][:, -1:].argmax(-1)
            pos = pos[-1:] + 1
    return calls, want


def check_tokens(got, want):
    for step, (g, w) in enumerate(zip(got, want)):
        check_same(g, [w], f"step {step}")
        token, expected = int(g[0][0, -1].argmax()), int(w[0, -1].argmax())
        assert token == expected, f"step {step}: token {token}, not {expected}"


def saved_llama(bench):
    torch.manual_seed(7)
    model = Llama().requires_grad_(False)
    count = Dim("count", min=2, max=16)
    prefill = bench.save(
        "prefill", model, (torch.zeros(1, 5, dtype=torch.int64),
                           torch.arange(5)),
        dynamic_shapes={"tokens": {1: count}, "pos": {0: count}})
    decode = bench.save(
        "decode", model, (torch.zeros(1, 1, dtype=torch.int64),
                          torch.tensor([0])))
    return model, prefill, decode


def llama_prefill_and_decode_share_weights_and_caches(bench):
    model, prefill, decode = saved_llama(bench)
    calls, want = llama_calls(model, [5, 9, 31, 2, 40])
    both = bench.export(f"prefill={prefill}", f"decode={decode}",
                        "--share-all-state")
    check_tokens(bench.run(both, calls), want)
    one = bench.export(f"decode={decode}")
    weights = sum(p.numel() * 4 for p in model.parameters())
    two = bench.export(f"prefill={prefill}", f"decode={decode}",
                       "--share-state", "layers.0.k_cache", "--share-state",
                       "layers.0.v_cache", "--share-state", "layers.1.k_cache",
                       "--share-state", "layers.1.v_cache")
    grown = two.stat().st_size
    assert one == two
    assert grown < 1.9 * weights + 200_000, f"{grown} bytes for {weights}"
    check_tokens(bench.run(two, calls), want)


def llama_with_its_weights_in_a_data_file(bench):
    model, prefill, decode = saved_llama(bench)
    calls, want = llama_calls(model, [1, 2, 3])
    data = bench.scratch / "weights.ptd"
    both = bench.export(f"prefill={prefill}", f"decode={decode}",
                        "--share-all-state", "--weights-file", data)
    assert str(data) in bench.said, bench.said
    check_tokens(bench.run(both, calls, [data]), want)
    weights = sum(p.numel() * 4 for p in model.parameters())
    assert data.stat().st_size > weights
    assert both.stat().st_size < data.stat().st_size + 300_000


def llama_from_one_archive(bench):
    from torch.export.pt2_archive._package import package_pt2
    model, prefill, decode = saved_llama(bench)
    both = bench.scratch / "both.pt2"
    package_pt2(both, exported_programs={
        "prefill": torch.export.load(prefill),
        "decode": torch.export.load(decode)})
    calls, want = llama_calls(model, [8, 4])
    program = bench.export(both, "--share-all-state")
    check_tokens(bench.run(program, calls), want)


def llama_decodes_alone(bench):
    model, _, decode = saved_llama(bench)
    calls, want = llama_calls(model, [17])
    program = bench.export(f"decode={decode}")
    check_tokens(bench.run(program, calls, shared=False), want)
    program = bench.export(f"decode={decode}", "--inline", "payloads")
    check_tokens(bench.run(program, calls, shared=False), want)


def caller_owned_inputs_and_outputs(bench):
    model, prefill, decode = saved_llama(bench)
    calls, want = llama_calls(model, [3, 1, 2])
    program = bench.export(
        f"prefill={prefill}", f"decode={decode}", "--share-all-state",
        "--caller-owned", "decode:outputs", "--caller-owned", "prefill:inputs")
    check_tokens(bench.run(program, calls), want)


def cond_twice(bench):
    model = CondTwice()
    path = bench.save("cond_twice", model, (torch.rand(3), torch.rand(3)))
    program = bench.export(path)
    pairs = [(torch.rand(3) + 1, torch.rand(3)), (-torch.rand(3), torch.rand(3)),
             (torch.rand(3), torch.rand(3) + 9), (torch.rand(3), -torch.rand(3))]
    got = bench.run(program, [("forward", p) for p in pairs])
    for g, (x, y) in zip(got, pairs):
        check_same(g, model(x, y), "cond_twice")


def same_name(bench):
    model = SameName()
    path = bench.save("same_name", SameName(), (torch.rand(4),))
    program = bench.export(path)
    inputs = [torch.rand(4) for _ in range(4)]
    got = bench.run(program, [("forward", (x,)) for x in inputs])
    for g, x in zip(got, inputs):
        check_same(g, [model(x)], "same_name")


def methods_keep_state_apart_unless_told(bench):
    a = bench.save("a", Count(1.0), (torch.ones(2),))
    b = bench.save("b", Count(10.0), (torch.ones(2),))
    program = bench.export(f"a={a}", f"b={b}")
    one, ten = Count(1.0), Count(10.0)
    calls, want = [], []
    for i in range(3):
        x = torch.rand(2)
        for name, model in (("a", one), ("b", ten)):
            calls.append((name, (x,)))
            want.append(model(x))
    # Python's runtime gives methods one memory without being asked.
    for shared in (True, False):
        for g, w in zip(bench.run(program, calls, shared=shared), want):
            check_same(g, [w], f"shared memory {shared}")


def a_method_reads_what_another_writes(bench):
    add = bench.save("add", Count(2.0), (torch.ones(2),))
    peek = bench.save("peek", Peek(2.0), ())
    program = bench.export(f"add={add}", f"peek={peek}", "--share-state",
                           "count")
    model = Count(2.0)
    x = torch.rand(2)
    first = model(x)
    second = model(x)
    got = bench.run(program, [("peek", ()), ("add", (x,)), ("peek", ()),
                              ("add", (x,)), ("peek", ())])
    check_same(got[0], [torch.full((2,), 3.0)], "before")
    check_same(got[1], [first], "first")
    check_same(got[2], [first + 1], "peek")
    check_same(got[3], [second], "second")
    check_same(got[4], [second + 1], "peek again")


def constant_methods(bench):
    path = bench.save("count", Count(0.0), (torch.ones(2),))
    table = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    numpy.save(bench.scratch / "table.npy", table)
    program = bench.export(
        path, "--constant", "get_length=32", "--constant", "get_scale=0.125",
        "--constant", "use_cache=true", "--constant", 'get_name="tiny"',
        "--constant", f"get_table=@{bench.scratch}/table.npy", "--constant",
        "get_ends=[2, 3]")
    names = ("get_length", "get_scale", "use_cache", "get_name", "get_table",
             "get_ends")
    got = dict(zip(names, bench.run(program, [(n, ()) for n in names])))
    assert got["get_length"] == [32] and got["get_scale"] == [0.125]
    assert got["use_cache"] == [True]
    assert bytes(got["get_name"][0]) == b"tiny"
    assert (got["get_table"][0] == table).all()
    assert got["get_ends"] == [2, 3]


CASES = [
    cond_twice, same_name, llama_decodes_alone,
    llama_prefill_and_decode_share_weights_and_caches,
    llama_with_its_weights_in_a_data_file, llama_from_one_archive,
    caller_owned_inputs_and_outputs, methods_keep_state_apart_unless_told,
    a_method_reads_what_another_writes, constant_methods,
]


def main():
    runner, tenon, scratch = sys.argv[1:4]
    delegates = sys.argv[5::2]
    bench = Bench(runner, tenon, scratch, delegates)
    passed = failed = 0
    for case in CASES:
        torch.manual_seed(3)
        try:
            case(bench)
            passed += 1
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            what = str(error) or traceback.format_exc()
            print(f"FAIL {case.__name__}: {what}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
