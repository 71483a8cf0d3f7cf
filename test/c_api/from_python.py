#!/usr/bin/env python3
"""Calls a model through ctypes, without any package.

    test/c_api/from_python.py LIBTENON.so MODEL.pt2

The model takes one float32 tensor. It is called in several threads at once, by
a runner in each; all have to give the same.
"""
import ctypes
import sys
import threading


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device),
                ("ndim", ctypes.c_int32), ("dtype", DataType),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    pass


Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p),
                    ("deleter", Deleter)]


class Leaf(ctypes.Structure):
    _fields_ = [("path", ctypes.c_char_p), ("type", ctypes.c_char_p),
                ("kind", ctypes.c_int), ("is_fixed", ctypes.c_int32),
                ("dtype", ctypes.c_char_p), ("dl_dtype", DataType),
                ("ndim", ctypes.c_int32),
                ("sizes", ctypes.POINTER(ctypes.c_int64))]


class Tenon:
    """The library, with errors as exceptions."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        for name in ("version", "errors_text", "model_signature"):
            getattr(self.lib, "tenon_" + name).restype = ctypes.c_char_p
        self.lib.tenon_model_num_inputs.restype = ctypes.c_size_t

    def call(self, name, *arguments):
        errors = ctypes.c_void_p()
        if getattr(self.lib, name)(*arguments, ctypes.byref(errors)) == 0:
            return
        text = self.lib.tenon_errors_text(errors).decode()
        self.lib.tenon_errors_free(errors)
        raise RuntimeError(text)

    def open(self, path):
        model = ctypes.c_void_p()
        self.call("tenon_model_open", path.encode(), None, ctypes.byref(model))
        return model

    def run_on_ones(self, model):
        """The elements of the first result, as a list."""
        leaf = Leaf()
        assert self.lib.tenon_model_input(
            model, ctypes.c_size_t(0), ctypes.byref(leaf),
            ctypes.c_size_t(ctypes.sizeof(leaf))) == 0
        sizes = leaf.sizes[:leaf.ndim]
        count = 1
        for size in sizes:
            count *= size
        data = (ctypes.c_float * count)(*[1.0] * count)
        shape = (ctypes.c_int64 * len(sizes))(*sizes)
        view = Tensor(ctypes.cast(data, ctypes.c_void_p), Device(1, 0),
                      len(sizes), leaf.dl_dtype, shape, None, 0)
        runner = ctypes.c_void_p()
        self.call("tenon_runner_load", model, ctypes.c_int32(1),
                  ctypes.byref(runner))
        self.call("tenon_runner_set_view", runner, leaf.path,
                  ctypes.byref(view))
        self.call("tenon_runner_run", runner)
        result = ctypes.POINTER(Managed)()
        self.call("tenon_runner_result", runner, ctypes.c_size_t(0),
                  ctypes.byref(result))
        self.lib.tenon_runner_free(runner)
        tensor = result.contents.tensor
        count = 1
        for size in tensor.shape[:tensor.ndim]:
            count *= size
        elements = list((ctypes.c_float * count).from_address(tensor.data))
        result.contents.deleter(result)
        return elements


def main():
    tenon = Tenon(sys.argv[1])
    model = tenon.open(sys.argv[2])
    print(tenon.lib.tenon_version().decode(),
          tenon.lib.tenon_model_signature(model).decode())
    assert tenon.lib.tenon_model_num_inputs(model) == 1
    expected = tenon.run_on_ones(model)
    assert any(expected), "all results are zero"
    found = [None] * 4

    def work(i):
        found[i] = tenon.run_on_ones(model)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f == expected for f in found), found
    tenon.lib.tenon_model_free(model)
    try:
        tenon.open("no-such-file.pt2")
    except RuntimeError as error:
        assert "[T-IO]" in str(error), error
    else:
        raise AssertionError("a missing file was opened")


if __name__ == "__main__":
    main()
