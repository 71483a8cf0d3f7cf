"""Records what PyTorch, torchao and executorch compute for quantised operators.

    python scripts/make_quantized_records.py ../shared/ops test/data/ops

Needs all three. The first folder has records.py, which defines the encoding; the
second gets a .json and a .safetensors per operator, to be replayed with
`conformance ops test/data/ops`. Inputs come from a fixed seed and from the
places where definitions differ from what one would guess: ties, infinities, NaN,
zero rows, zero points that wrap, half precision.
"""
import itertools
import json
import pathlib
import sys

import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401
import torchao  # noqa: F401
from safetensors.torch import save_file

I8, U8, I16, F16, BF16 = torch.int8, torch.uint8, torch.int16, torch.float16, torch.bfloat16
F32, F64 = torch.float32, torch.float64


def floats(*sizes, dtype=F32, scale=1.0):
    return (torch.randn(sizes) * scale).to(dtype)


def stored(*sizes, dtype=I8):
    info = torch.iinfo(dtype)
    return torch.randint(info.min, info.max + 1, sizes, dtype=dtype)


def edges(dtype=F32):
    return torch.tensor([0.5, 1.5, -0.5, -2.5, 0.0, -0.0, 300.0, -300.0, float("inf"),
                         float("-inf"), float("nan"), 0.25, 3e-39, 127.5], dtype=dtype)


def per_tensor():
    for dtype, (low, high), x_type in itertools.product(
            (I8, U8, I16), ((None, None), (0, 15)), (F32, F16, BF16)):
        info = torch.iinfo(dtype)
        low, high = (info.min, info.max) if low is None else (low, high)
        for x, scale, zero in ((floats(3, 5, dtype=x_type), 0.037, 5), (edges(x_type), 1.0, 1)):
            rest = (scale, zero, low, high, dtype)
            yield "quantize_per_tensor.default", (x, *rest), {}
            yield "quantize_per_tensor.tensor", (
                x, torch.tensor([scale]), torch.tensor(zero), low, high, dtype), {}
            yield "quantize_per_tensor.tensor2", (
                x, torch.tensor(scale), torch.tensor([zero]), torch.tensor(low),
                torch.tensor(high), dtype), {}
        q = stored(4, 3, dtype=dtype)
        for out in (None, F32, F16, BF16):
            yield "dequantize_per_tensor.default", (q, 0.037, 5, low, high, dtype), {"out_dtype": out}
            yield "dequantize_per_tensor.tensor", (
                q, torch.tensor([0.037]), torch.tensor([5]), low, high, dtype), {"out_dtype": out}


def per_channel():
    for axis, zero_type, x_type in itertools.product((0, 1, 2), (torch.int64, torch.int32, F32, I8), (F32, BF16)):
        sizes = (4, 3, 5)
        n = sizes[axis]
        scales = torch.rand(n) * 0.1 + 0.01
        zeros = torch.randint(-100, 100, (n,)).to(zero_type)
        if zero_type != F32:
            yield "quantize_per_channel.default", (
                floats(*sizes, dtype=x_type), scales, zeros, axis, -128, 127, I8), {}
        for out in (None, F16):
            q = stored(*sizes)
            yield "dequantize_per_channel.default", (q, scales, zeros, axis, -128, 127, I8), {"out_dtype": out}
            yield "dequantize_per_channel.default", (q, scales, None, axis, -128, 127, I8), {"out_dtype": out}
        if x_type == F32:
            yield "fake_quant_per_channel.default", (
                floats(*sizes), scales, zeros, axis, -128, 127), {}


def per_token():
    for x_type, rows in itertools.product((F32, BF16, F16), (1, 4)):
        x = floats(2, rows, 7, dtype=x_type)
        x[0, 0] = 0
        yield "choose_qparams_per_token.default", (x, I8), {}
        yield "choose_qparams_per_token_asymmetric.default", (x, I8), {}
        yield "_choose_qparams_per_token_asymmetric_impl.default", (x, I8), {}
        for scale_type in (F32, F64):
            scales = (torch.rand(2, rows, 1) * 0.1 + 0.01).to(scale_type)
            zeros = torch.randint(-100, 100, (2, rows, 1))
            yield "quantize_per_token.default", (x, scales, zeros, -128, 127, I8), {}
            yield "dequantize_per_token.default", (
                stored(2, rows, 7), scales, zeros, -128, 127, I8, x_type), {}
    one = torch.ones(1, 1)
    yield "quantize_per_token.default", (torch.tensor([[0.5, 1.5, 2.5]]), one, one.long(), -128, 127, I8), {}


def per_group():
    for out, zero_type in itertools.product((F32, F16), (torch.int32, F32, I8, None)):
        scales = torch.rand(4, 2) * 0.1 + 0.01
        zeros = None if zero_type is None else torch.randint(-8, 8, (4, 2)).to(zero_type)
        yield "dequantize_per_channel_group.default", (
            stored(4, 16), scales, zeros, -8, 7, I8, 8, out), {}
        if zeros is not None:
            yield "quantize_per_channel_group.default", (
                floats(4, 16), scales, zeros, -8, 7, I8, 8), {}


def choices():
    for x in (floats(3, 4), floats(6) - 5, floats(6) + 5, torch.zeros(3), floats(2, 2, dtype=BF16)):
        for low, high, dtype in ((-128, 127, I8), (0, 255, U8), (-8, 7, I8)):
            for op in ("choose_qparams.tensor", "choose_qparams_symmetric.tensor"):
                yield op, (x, low, high, 2**-12, dtype), {}
    for dtype in (F16, I8, BF16):
        yield "convert_element_type.no_fuse", (floats(5), dtype), {}


def embeddings():
    ids = torch.tensor([[0, 4], [2, 2]])
    for scale_type, groups in itertools.product((F32, F16, BF16), (1, 2)):
        scales = (torch.rand(5, groups) * 0.1 + 0.01).to(scale_type)
        flat = scales[:, 0].contiguous()
        zeros = torch.randint(-8, 8, (5, groups)).to(scale_type)
        for name, columns, low, high, weight in (
                ("byte", 8, -128, 127, stored(5, 8)), ("byte", 8, 0, 255, stored(5, 8, dtype=U8)),
                ("4bit", 4, -8, 7, stored(5, 4, dtype=U8)), ("2bit", 2, -2, 1, stored(5, 2, dtype=U8))):
            args = (weight, scales, zeros, low, high, ids)
            yield f"embedding_{name}.default", args, {}
            yield f"embedding_{name}.default", (weight, flat, None, low, high, ids), {}
            for dtype in (F32, F16):
                yield f"embedding_{name}.dtype", args, {"dtype": dtype}


def affine():
    for mapping, block, x_type in itertools.product(
            ("ASYMMETRIC", "SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR"),
            ((1, 8), (1, 4), (2, 4), (4, 8), (1, 1)), (F32, BF16, F16)):
        x = floats(4, 8, dtype=x_type)
        x[0] = 0
        one_each = block == (1, 1)  # reduced to one value, which has no place to keep
        for extra in ({}, {"keepdim": not one_each}, {"eps": 1e-5, "scale_dtype": F32, "zero_point_dtype": I8}):
            yield "choose_qparams_affine.default", (x, mapping, list(block), I8, -128, 127), extra
        yield "choose_qparams_affine.default", (x, mapping, list(block), U8), {}
        blocks = (4 // block[0], 8 // block[1])
        scales = (torch.rand(blocks) * 0.1 + 0.01).to(x_type)
        zeros = torch.randint(-100, 100, blocks)
        yield "quantize_affine.default", (x, list(block), scales, zeros, I8), {}
        yield "quantize_affine.default", (x, list(block), scales, zeros.to(I8), I8, -8, 7), {}
        for out, zero in itertools.product((F32, BF16), (zeros, zeros.to(I8), None)):
            yield "dequantize_affine.default", (stored(4, 8), list(block), scales, zero, I8), {"output_dtype": out}


def products():
    for m, k, n in ((17, 16, 16), (32, 8, 24)):
        yield "_int_mm.default", (stored(m, k), stored(k, n)), {}
    for m in (1, 5):
        yield "_weight_int8pack_mm.default", (
            floats(m, 32, dtype=BF16), stored(16, 32), torch.rand(16).to(BF16)), {}
    q = torch.randint(0, 16, (16, 64), dtype=torch.int32)
    yield "_convert_weight_to_int4pack_for_cpu.default", (q, 2), {}
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(q, 2)
    for group, dtype in itertools.product((32, 64), (F32, BF16)):
        yield "_weight_int4pack_mm_for_cpu.default", (
            floats(3, 64, dtype=dtype), packed, group, floats(64 // group, 16, 2, dtype=dtype)), {}


SOURCES = {"quantized_decomposed": (per_tensor, per_channel, per_token, per_group, choices, embeddings),
           "torchao": (affine,), "aten": (products,)}


def tolerances(outputs):
    narrow = {o.dtype for o in outputs if o.dtype.is_floating_point}
    if BF16 in narrow:
        return 1.6e-2, 1e-5
    return (1e-3, 1e-5) if F16 in narrow else (1.3e-6, 1e-5)


def main():
    sys.path.insert(0, sys.argv[1])
    import records

    torch.manual_seed(0)
    cases = {}
    for namespace, sources in SOURCES.items():
        for op, args, kwargs in itertools.chain.from_iterable(s() for s in sources):
            target = f"torch.ops.{namespace}.{op}"
            kwargs = {k: v for k, v in kwargs.items() if v is not None}
            result = records.find_op(target)(*args, **kwargs)
            results = result if isinstance(result, tuple) else (result,)
            rtol, atol = tolerances(results)
            memo = {}
            cases.setdefault(target, []).append({
                "target": target, "args": records.freeze(list(args), memo),
                "kwargs": {k: records.freeze(v, memo) for k, v in kwargs.items()},
                "out": records.freeze(list(results) if isinstance(result, tuple) else result, {}),
                "rtol": rtol, "atol": atol})
    out = pathlib.Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    for target, items in sorted(cases.items()):
        bank = records.Bank()
        lines = []
        for i, case in enumerate(items):
            case["args"] = [bank.encode(v) for v in case["args"]]
            case["kwargs"] = {k: bank.encode(v) for k, v in case["kwargs"].items()}
            case["out"] = bank.encode(case["out"])
            case |= {"mutates": {}, "nondeterministic": False, "source": f"quantised {i}"}
            lines.append(json.dumps(case, separators=(",", ":")))
        stem = target.removeprefix("torch.ops.")
        (out / f"{stem}.json").write_text("[\n" + ",\n".join(lines) + "\n]\n")
        save_file(bank.tensors, out / f"{stem}.safetensors")
    print(f"{sum(map(len, cases.values()))} cases of {len(cases)} operators")


if __name__ == "__main__":
    main()
