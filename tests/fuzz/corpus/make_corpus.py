# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds beside it; needs Python only. The tests don't run it. Further seeds are the files
of tests/core/media/data and tests/core/weights/data."""
import io
import json
import pathlib
import struct
import tarfile
import zipfile
import zlib

HERE = pathlib.Path(__file__).parent
WEIGHTS = HERE.parents[1] / "core/weights/data"


def write(name, content):
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def safetensors(entries, metadata=None, pad=0):
    """entries: name -> (dtype, shape, bytes of an element)."""
    header = {"__metadata__": metadata} if metadata else {}
    at = 0
    for name, (dtype, shape, size) in entries.items():
        for side in shape:
            size *= side
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode() + b" " * pad
    return struct.pack("<Q", len(text)) + text + bytes(i * 7 % 251 for i in range(at))


def make_safetensors():
    write("safetensors/small.safetensors", safetensors(
        {"a.weight": ("F32", [2, 3], 4), "a.bias": ("F32", [3], 4)}, {"format": "pt"}, pad=5))
    write("safetensors/kinds.safetensors", safetensors(
        {"f64": ("F64", [1], 8), "f16": ("F16", [2], 2), "bf16": ("BF16", [2, 2], 2),
         "i64": ("I64", [], 8), "bool": ("BOOL", [3], 1), "u8": ("U8", [5], 1),
         "odd": ("F32", [2], 4), "empty": ("I32", [0, 7], 4), "f8": ("F8_E4M3", [4], 1)}))
    write("safetensors/wrapped.safetensors", safetensors(
        {"module.model.w": ("F32", [1], 4), "module.model._orig_mod.b": ("F32", [1], 4)}))
    write("safetensors/labelled.safetensors", safetensors(
        {"head.weight": ("F32", [2, 2], 4)},
        {"ttt.labels": json.dumps(["cat", "dog"]), "ttt.preprocess": json.dumps(PREPROCESS)}))
    write("safetensors/nothing.safetensors", safetensors({}))
    write("index/two.json", json.dumps(
        {"metadata": {"total_size": 52},
         "weight_map": {"a.weight": "small.safetensors", "a.bias": "small.safetensors",
                        "head.weight": "labelled.safetensors"}}))
    write("index/outside.json", json.dumps({"weight_map": {"w": "../w.safetensors"}}))


PREPROCESS = {"width": 224, "height": 192, "crop_pct": 0.875, "resize": "cover",
              "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225]}


def make_pickles():
    for name in ("foreign", "kinds", "list", "nested", "protocol3", "protocol4", "protocol5",
                 "whole_model", "wrapped"):
        with zipfile.ZipFile(WEIGHTS / f"{name}.pt") as archive:
            entry = next(n for n in archive.namelist() if n.endswith("data.pkl"))
            write(f"pickle/{name}.pkl", archive.read(entry))
    write("pickle/text.pkl", "(dp0\nVmodel\np1\n(lp2\nI1\naI-7\naL12L\naF0.5\naI01\naS'x'\nasVw\np3\n"
                             "ctorch\nSize\np4\n((I2\nI3\ntp5\ntRp6\ns.")


def make_archives():
    picture = (WEIGHTS.parents[1] / "media/data/grey1.png").read_bytes()
    for name, form, long in (("ustar", tarfile.USTAR_FORMAT, "folder/"),
                             ("gnu", tarfile.GNU_FORMAT, "long/" * 40),
                             ("pax", tarfile.PAX_FORMAT, "ä" * 120 + "/")):
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=form) as archive:
            for path in ("a.png", long + "b.png", "notes.txt"):
                info = tarfile.TarInfo(path)
                info.size = len(picture)
                archive.addfile(info, io.BytesIO(picture))
            link = tarfile.TarInfo("link.png")
            link.type, link.linkname = tarfile.LNKTYPE, "a.png"
            archive.addfile(link)
            folder = tarfile.TarInfo("folder")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
        # Without most of the zeros behind the end.
        write(f"tar/{name}.tar", file.getvalue().rstrip(b"\0") + bytes(1024))


def make_texts():
    write("list/names.txt", "# pictures\na.png\n\n\"b.jpg\"\n*.png\nc.tar\nc.tar:folder\nmissing.png\n")
    write("list/windows.txt", "a.png\r\nsub\\b.jpg\r\n[ab].*\r\n".encode("utf-16"))
    write("table/plain.csv", "path,label\na.png,cat\nb.jpg,\"big, \"\"red\"\" dog\"\n")
    write("table/semicolons.csv", "\ufefffile;target;rest\r\na.png;0;x\r\n\r\nb.jpg;1;\"two\nlines\"\r\n")
    write("table/no_header.csv", "a.png\t3\nb.jpg\t4\n")
    write("labels/names.txt", "tench\ngoldfish\ngreat white shark\n")
    write("labels/rows.tsv", "0\tn01440764\ttench\n1\tn01443537\tgoldfish\n")
    write("labels/list.json", json.dumps(["tench", "goldfish"]))
    write("labels/by_index.json", json.dumps({"0": ["n01440764", "tench"], "1": "goldfish"}))
    write("labels/by_name.json", json.dumps({"tench": 0, "goldfish": 1}))
    write("labels/utf16.txt", "tench\r\ngoldfish\r\n".encode("utf-16-be"))
    write("metadata/preprocess.json", json.dumps(PREPROCESS))
    write("metadata/labels.json", json.dumps(["cat", "dog", "€"]))
    for i, (a, b) in enumerate([("*a*b?[c-e]x*", "aab1dxyz"), ("[!a]\\*[]]**", "b*]rest"),
                                ("img10.png", "img9.png"), ("007a", "7a")]):
        write(f"names/{i}.txt", f"{a}\n{b}\n")


def make_configs():
    write("config/flat.yaml", "count: 3\nfast: no\ncrop: 0.5\nmean: [0.1, 0.2, 0.3]\nsize: 8x9\n"
                              "input:\n  - a.png\n  - 'b c.png'\nformat: \"json\"\n")
    write("config/aliases.yaml", "# repeated\nlabels: &l |\n  two\n  lines\ninput: [*l, *l]\n")
    write("config/record.yaml", json.dumps(
        {"program": "ttt", "options": {"count": {"value": 7, "origin": "command line"},
                                       "crop": {"value": None, "origin": "default"}}}))


def exif(order, value, prefix=b""):
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return prefix + mark + struct.pack(order + "IH", 8, 2) + struct.pack(
        order + "HHII", 0x0110, 2, 4, 0x414243) + struct.pack(
        order + "HHIHH", 0x0112, 3, 1, value, 0) + struct.pack(order + "I", 0)


def make_pictures():
    write("orientation/little.exif", exif("<", 6))
    write("orientation/big.exif", exif(">", 8, b"Exif\0\0"))
    write("picture/page.txt", "<!DOCTYPE html>\n<html><body>no picture</body></html>\n")
    write("picture/heic.bin", struct.pack(">I", 24) + b"ftypmif1\0\0\0\0heicmif1" + bytes(16))
    # A PNG of a kind that few programs write: interlaced, 16 bits, transparent colour, split data.
    def chunk(name, body):
        return (struct.pack(">I", len(body)) + name + body +
                struct.pack(">I", zlib.crc32(name + body)))
    rows = b"".join(b"\4" + bytes(x * 31 % 256 for x in range(6 * width)) for width, count in
                    ((2, 2), (1, 2), (3, 1), (2, 3), (5, 2), (4, 5), (9, 4)) for _ in range(count))
    packed = zlib.compress(rows)
    write("picture/interlaced16.png", b"\x89PNG\r\n\x1a\n" + chunk(
        b"IHDR", struct.pack(">IIBBBBB", 9, 9, 16, 2, 0, 0, 1)) + chunk(
        b"tRNS", bytes(6)) + chunk(b"eXIf", exif(">", 5)) + chunk(b"IDAT", packed[:9]) + chunk(
        b"IDAT", packed[9:]) + chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(99))) + chunk(
        b"IEND", b""))


def main():
    write("broken/good.txt", "good")
    for name in ("overrun", "undefined_arithmetic", "memory_bound", "time_bound", "leak",
                 "foreign_exception", "other_result", "unprintable_message", "wrong_kind"):
        write(f"../faults/{name}.txt", name)
    make_safetensors()
    make_pickles()
    make_archives()
    make_texts()
    make_configs()
    make_pictures()


if __name__ == "__main__":
    main()
