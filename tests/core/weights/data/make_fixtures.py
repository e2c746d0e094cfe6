# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the .pt files of this folder; needs PyTorch 2.11 only. The tests don't run it.

Libraries that checkpoints mention (numpy, yacs, mmengine) are imitated by classes of their names:
only the names reach the pickle.
"""
import argparse
import sys
import types
import zipfile
from collections import OrderedDict

import torch
import torch._dynamo  # before numpy is imitated, which it would try to use


def fake_module(name):
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        parent = ".".join(parts[:count])
        sys.modules.setdefault(parent, types.ModuleType(parent))
    return sys.modules[name]


def fake(module, name, base=object):
    holder = fake_module(module)
    cls = type(name, (base,), {"__module__": module})
    setattr(holder, name, cls)
    return cls


class Scalar:
    """Pickles as numpy.core.multiarray.scalar(dtype, bytes) does."""

    def __reduce__(self):
        return (numpy_scalar, (NumpyDtype("f8", False, True), b"\0\0\0\0\0\x20\x53\x40"))


def numpy_scalar(*_):
    pass


numpy_scalar.__module__, numpy_scalar.__qualname__ = "numpy.core.multiarray", "scalar"
fake_module("numpy.core.multiarray").scalar = numpy_scalar


class NumpyDtype:
    def __init__(self, *arguments):
        self.arguments = arguments

    def __reduce__(self):
        return (NumpyDtype, self.arguments, (3, "<", None, None, None, -1, -1, 0))


NumpyDtype.__module__, NumpyDtype.__qualname__ = "numpy", "dtype"
sys.modules["numpy"].dtype = NumpyDtype

CfgNode = fake("yacs.config", "CfgNode", dict)
HistoryBuffer = fake("mmengine.logging.history_buffer", "HistoryBuffer")


def model():
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        for i, tensor in enumerate(net.state_dict().values()):
            tensor.copy_(torch.arange(tensor.numel()).view(tensor.shape) + 10 * i)
    return net


def foreign():
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    config = CfgNode(MODEL=CfgNode(NAME="x", DEPTHS=[1, 2]), OUT=None)
    config.__dict__["__immutable__"] = True
    history = HistoryBuffer()
    history.values, history.best = [1.0, 2.0], Scalar()
    return {"model": model().state_dict(), "optimizer": optimizer.state_dict(), "config": config,
            "args": argparse.Namespace(lr=0.1, inner=argparse.Namespace(path="a/b")),
            "best_accuracy": Scalar(), "meta": {"history": [history], "time": "now"},
            "epoch": 3, "big": 1 << 80, "random": torch.zeros(8, dtype=torch.uint8)}


def kinds():
    base = torch.arange(12, dtype=torch.float32)
    marked = torch.nn.Parameter(base[:2].clone())
    marked.note = "an attribute"
    result = OrderedDict(
        parameter=torch.nn.Parameter(base[:4].clone()), buffer=torch.nn.Buffer(base[:4].clone()),
        marked=marked, scalar=torch.tensor(5.0), empty=torch.empty(0, 3),
        transposed=base.view(3, 4).t(), middle=base[5:8], every_third=base[1::3],
        expanded=torch.tensor([7.0]).expand(3, 2), tied=base, complex=torch.zeros(2, dtype=torch.cfloat),
        minus=torch.complex(base, base).conj().imag)
    for name in ("float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32",
                 "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool"):
        result[name] = torch.tensor([0, 1, 2, 4]).to(getattr(torch, name))
    return result


def rezip(source, target, compression, drop=(), root="somewhere/else", force_zip64=False):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", compression) as new:
        for entry in old.infolist():
            name = entry.filename.split("/", 1)[1]
            if name in drop:
                continue
            info = zipfile.ZipInfo(f"{root}/{name}" if root else name)
            info.compress_type = compression
            with new.open(info, "w", force_zip64=force_zip64) as out:
                out.write(old.read(entry.filename))


class Wrapped(torch.nn.Module):
    def forward(self, x):
        return x + 1


def main():
    tensor = torch.arange(4.0)
    torch.save(foreign(), "foreign.pt")
    torch.save(kinds(), "kinds.pt")
    for protocol in (3, 4, 5):
        torch.save({"ema": model().state_dict(), "args": argparse.Namespace(a=1)},
                   f"protocol{protocol}.pt", pickle_protocol=protocol)
    torch.save({"state_dict": {f"_orig_mod.module.model.{name}": value
                               for name, value in (("a.weight", tensor),
                                                   ("b._checkpoint_wrapped_module.c.weight", tensor))},
                "hyper_parameters": {"lr": 1.0}, "callbacks": {Wrapped: {"x": tensor}}}, "wrapped.pt")
    torch.save({"net": {"encoder": {"w": tensor}, "decoder": {"w": tensor + 1}}}, "nested.pt")
    rezip("protocol4.pt", "deflated.pt", zipfile.ZIP_DEFLATED, drop=("version", "byteorder"))
    rezip("protocol4.pt", "rootless.pt", zipfile.ZIP_STORED, root="")
    rezip("protocol4.pt", "zip64.pt", zipfile.ZIP_STORED, root="archive", force_zip64=True)
    rezip("protocol4.pt", "bzip2.pt", zipfile.ZIP_BZIP2)
    torch.serialization.set_crc32_options(False)
    torch.save({"ema": model().state_dict()}, "no_checksums.pt")
    torch.save({**foreign(), "model": kinds()}, "no_checksums_kinds.pt")
    torch.serialization.set_crc32_options(True)
    torch.save({"w": tensor}, "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save(model(), "whole_model.pt")
    torch.save([tensor], "list.pt")
    torch.jit.script(Wrapped()).save("script.pt")


if __name__ == "__main__":
    main()
