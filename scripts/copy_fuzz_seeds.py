#!/usr/bin/env python3
"""Makes the seeds of the fuzzers, test/fuzz/corpus, from test/data.

    scripts/copy_fuzz_seeds.py

Seeds are small and, where the format allows, text: archives become bundles
(test/fuzz/bundle.h), models lose their metadata. Run again when test/data or
this file changes; the result is committed.
"""
import base64
import io
import json
import pathlib
import pickle
import shutil
import struct
import zipfile

TEST = pathlib.Path(__file__).resolve().parent.parent / "test"
DATA = TEST / "data"
CORPUS = TEST / "fuzz" / "corpus"

BUNDLES = ["cond", "containers", "counter", "dyn_derived", "input_mutation",
           "kwargs_order", "mlp", "state_kinds", "symint_arith", "tied"]
ARCHIVES = ["counter@2.6", "counter@2.8", "kwargs_order"]
HYBRIDS = ["call_nested", "cond_in_child", "kv_engine_alias",
           "mirror_collision_swapped", "seed_persistent_buffer",
           "spec_nested_kwargs_reordered", "sym_size_to_engine",
           "write_counter"]
HOUSEKEEPING = {"archive_format", "archive_version", "byteorder",
                ".data/version", "version", ".data/serialization_id"}
EXPRESSIONS = [
    "2*s0 + 1", "s0 - 2*s1 - 3", "-s0**2//3 % (s1 + 1)", "s0/2 | ~(s1 < 3)",
    "Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), "
    "Integer(1))",
    "Max(2, Min(s0, Rational(1, 3)), Float('1.5', precision=53))",
    "FloorDiv(s0, 2) >= CleanDiv(s0, 4) and not Eq(s0, oo) or -oo < u0",
    "Piecewise((Integer(1), StrictLessThan(Symbol('s0'), zoo)), (nan, true))",
    "ToFloat(s0)*1e-3 + int_oo", "Mod(s0, 8, evaluate=False)"]
GUARDS = [
    "3*L['x'].size()[0] <= 20 and L['y'][1].stride()[0] == 4",
    "L['k'].storage_offset() != -7 % 3",
    "((L['y'][0].size()[0] // 2) - 1) >= 2 and L['k'] < 5",
    "-L['x'].size()[1] > 1 - 2*3"]


def write(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(content, str):
        content = content.encode()
    (folder / name).write_bytes(content)


def compact(text):
    """The same JSON without spaces and without nodes' metadata."""
    def strip(value):
        if isinstance(value, list):
            return [strip(v) for v in value]
        if isinstance(value, dict):
            return {k: {} if k == "metadata" else strip(v)
                    for k, v in value.items()}
        return value
    return json.dumps(strip(json.loads(text)), separators=(",", ":"))


def below_root(name):
    return name.split("/", 1)[1]


def bundle(path):
    parts = []
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = below_root(info.filename)
            if name in HOUSEKEEPING or name.startswith("data/sample_inputs"):
                continue
            content = archive.read(info)
            if name.endswith(".json"):
                parts.append(f"=== {name}\n{compact(content)}")
            else:
                parts.append(f"=== {name} {len(content)}\n")
    return "\n".join(parts)


def small_archive(path):
    """The archive with compact models, deflated where that saves much."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(out, "w") as copy:
        for info in archive.infolist():
            content = archive.read(info)
            name = zipfile.ZipInfo(info.filename)
            if info.filename.endswith(".json"):
                content = compact(content).encode()
                name.compress_type = zipfile.ZIP_DEFLATED
            copy.writestr(name, content)
    return out.getvalue()


def data_pickles(path):
    """The pickles inside a program of layout A, by member."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if not name.endswith(".pt"):
                continue
            with zipfile.ZipFile(io.BytesIO(archive.read(name))) as inner:
                member = next(n for n in inner.namelist()
                              if n.endswith("data.pkl"))
                yield name, inner.read(member)


def npy(descr, shape, size, order="False"):
    header = f"{{'descr': '{descr}', 'fortran_order': {order}, " \
             f"'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
            header.encode() + bytes(size))


def engine_lines():
    metadata = (DATA / "tensorrt" / "engine_metadata.b64").read_text().strip()
    engine = base64.b64encode(b"engine").decode()
    return ["10", "net", "0%8%9%0%NVIDIA A100", engine, "x%y", "out", "0",
            metadata, "linux_x86_64", "0", "0", "0", "out@x@kv_cache_update"]


def engine_container():
    metadata = json.dumps({
        "io_bindings": [
            {"name": "x", "dtype": "float32", "shape": [2, 4],
             "is_input": True},
            {"name": "y", "dtype": "", "shape": [], "is_input": False}],
        "aliased_io": [{"output": "y", "input": "x", "kind": "user"}],
        "hardware_compatible": False, "device_id": 0,
        "serialized_metadata": "", "target_platform": "linux_x86_64"},
        separators=(",", ":")).encode()
    at = (32 + len(metadata) + 15) // 16 * 16
    head = b"TR02" + struct.pack("<IIIQQ", 32, len(metadata), at, 4, 1)
    return (head + metadata).ljust(at, b"\0") + b"plan"


def region_block():
    """One float32 input of [1..6, 4], an output that replaces it, a constant.
    The target sets the digest."""
    tensor = struct.pack("<IIqqqq", 6, 2, 1, 6, 4, 4)
    constant = struct.pack("<IIIIqQ", 1, 6, 1, 0, 2, 256)
    boundary = tensor * 2 + constant + struct.pack("<IIIQQ", 0, 0, 0, 320, 7)
    head = b"TENONRGN" + struct.pack("<IIIIIIQ", 1, 1, 1, 1, 1, 0, 327)
    block = (head + bytes(16) + boundary).ljust(256, b"\0") + bytes(8)
    return block.ljust(320, b"\0") + b"program"


def without_comments(text):
    return "".join(line for line in text.splitlines(True)
                   if not line.startswith(";"))


def main():
    shutil.rmtree(CORPUS, ignore_errors=True)
    for name in BUNDLES:
        text = bundle(DATA / "pt2" / f"{name}.pt2")
        write("model", name, text)
    # The same inputs: linked, so that they are there once.
    (CORPUS / "pt2").symlink_to("model")
    for name in ARCHIVES:
        write("zip", name, small_archive(DATA / "pt2" / f"{name}.pt2"))
    for name, content in data_pickles(DATA / "pt2" / "counter@2.6.pt2"):
        write("pickle", name.removesuffix(".pt"), content)
    plain = {"a": [1, -2, 3.5, None, True], "b": (1 << 70, "x", b"y", {"z"})}
    for protocol in range(2, 6):
        write("pickle", f"plain{protocol}", pickle.dumps(plain, protocol))
    for name in HYBRIDS:
        text = (DATA / "hybrid" / f"{name}.json").read_text()
        write("hybrid", name, json.dumps(json.loads(text),
                                         separators=(",", ":")))
    for name in ("cond_in_child", "write_counter"):
        content = (DATA / "hybrid" / f"{name}.safetensors").read_bytes()
        write("safetensors", name, content)
    write("npy", "float32", npy("<f4", "(2, 3)", 24))
    write("npy", "bool_scalar", npy("|b1", "()", 1))
    write("npy", "columns", npy("<i8", "(2, 1)", 16, "True"))
    for i, text in enumerate(EXPRESSIONS):
        write("expression", str(i), text)
    for i, text in enumerate(GUARDS):
        write("guard", str(i), text)
    for path in sorted((DATA / "pte").iterdir()):
        write("pte", path.name, path.read_bytes())
    write("engine", "record", "\n".join(engine_lines()))
    write("engine", "container", engine_container())
    write("engine", "block", region_block())
    for name in ("engine_python.pkl", "engine_serializer.pkl"):
        write("engine", name, (DATA / "tensorrt" / name).read_bytes())
    for i, size in enumerate((0, 16, 64, 240)):
        write("generated", str(i),
              bytes((j * 37 + i * 11) % 256 for j in range(size)))
    for path in sorted((TEST / "cases" / "text").glob("*.tenon")):
        if not path.stem.startswith("bad-"):
            write("text", path.stem, without_comments(path.read_text()))


if __name__ == "__main__":
    main()
