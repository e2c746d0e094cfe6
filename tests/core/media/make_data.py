# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Writes data/: small pictures of every kind that we read, and data/expected.json, what they must
decode to. Needs Pillow 11.3.0 and numpy.

For each file: "official" is the SHA-256 of the RGB bytes that Pillow gives (null: it refuses the
file), "photo" that of the picture as a person sees it, computed from the samples that were written.
"""
import hashlib
import io
import json
import pathlib
import struct
import zlib

import numpy as np
from PIL import Image, ImageFile, ImageOps

ImageFile.LOAD_TRUNCATED_IMAGES = True
FOLDER = pathlib.Path(__file__).parent / "data"
RNG = np.random.RandomState(7)
W, H = 13, 11
expected = {}


def smooth(channels, height=H, width=W):
    """Some 8-bit picture with slow changes, so that it compresses."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [(127 + 120 * np.sin(x / (3 + c) + y / (4 - c / 2) + c)).astype(np.uint8) for c in range(channels)]
    return np.stack(planes, -1)


def digest(array):
    array = np.ascontiguousarray(array, np.uint8)
    return [array.shape[1], array.shape[0], hashlib.sha256(array.tobytes()).hexdigest()]


def rgb_of(array):
    return np.repeat(array.reshape(array.shape[0], array.shape[1], 1), 3, -1)


def over_white(rgb, alpha):
    t = 255 * (255 - alpha[..., None].astype(int)) + rgb.astype(int) * alpha[..., None] + 128
    return ((t >> 8) + t) >> 8


def scale_16(array):
    return np.floor(array.astype(np.float64) * 255 / 65535 + 0.5).astype(np.uint8)


def official(data):
    try:
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    except Exception:
        return None


def add(name, data, photo="official"):
    """photo: the picture, or "official" where both modes agree, or None where it is refused."""
    theirs = official(data)
    if isinstance(photo, str):
        photo = theirs
    (FOLDER / name).write_bytes(data)
    expected[name] = {"official": None if theirs is None else digest(theirs),
                      "photo": None if photo is None else digest(photo)}


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


# ---- JPEG
rgb = Image.fromarray(smooth(3))
grey = Image.fromarray(smooth(1)[..., 0])
for name, subsampling in [("444", 0), ("422", 1), ("420", 2)]:
    add(f"rgb_{name}.jpg", saved(rgb, "JPEG", subsampling=subsampling))
add("grey.jpg", saved(grey, "JPEG"))
add("progressive.jpg", saved(rgb, "JPEG", progressive=True))
add("restart.jpg", saved(rgb, "JPEG", restart_marker_blocks=1))
cmyk = Image.fromarray(smooth(4), "CMYK")
data = saved(cmyk, "JPEG")
add("cmyk_adobe.jpg", data)
marker = data.index(b"\xff\xee")
plain = data[:marker] + data[marker + 2 + struct.unpack(">H", data[marker + 2:marker + 4])[0]:]
inverted = np.asarray(Image.open(io.BytesIO(plain)))
add("cmyk_plain.jpg", plain, np.asarray(Image.fromarray(255 - inverted, "CMYK").convert("RGB")))
small = Image.fromarray(smooth(1, 3, 5)[..., 0])
for value in range(1, 9):
    exif = Image.Exif()
    exif[274] = value
    data = saved(small, "JPEG", exif=exif, optimize=True)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    add(f"orientation{value}.jpg", data, np.asarray(upright.convert("RGB")))


# ---- PNG
def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, depth, colour, rows, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def packed(values, depth):
    """Rows of samples of 1, 2, 4 or 8 bits."""
    rows = []
    for row in values:
        bits = "".join(format(v, f"0{depth}b") for v in row)
        bits += "0" * (-len(bits) % 8)
        rows.append(int(bits, 2).to_bytes(len(bits) // 8, "big"))
    return rows


for depth in (1, 2, 4, 8):
    values = RNG.randint(0, 1 << depth, (H, W))
    grey_values = (values * (255 // ((1 << depth) - 1))).astype(np.uint8)
    add(f"grey{depth}.png", png(W, H, depth, 0, packed(values, depth)))
    hidden = int(values[0, 0])
    add(f"grey{depth}_transparent.png",
        png(W, H, depth, 0, packed(values, depth), chunk(b"tRNS", struct.pack(">H", hidden))),
        over_white(rgb_of(grey_values), np.where(values == hidden, 0, 255)))
    entries = max(2, (1 << depth) - 1)
    values = values % entries
    colours = RNG.randint(0, 256, (entries, 3)).astype(np.uint8)
    alphas = np.full(entries, 255)
    alphas[:entries // 2 + 1] = RNG.randint(0, 256, entries // 2 + 1)
    add(f"palette{depth}.png",
        png(W, H, depth, 3, packed(values, depth), chunk(b"PLTE", colours.tobytes()) +
            chunk(b"tRNS", alphas[:entries // 2 + 1].astype(np.uint8).tobytes())),
        over_white(colours[values], alphas[values]))
deep = RNG.randint(0, 65536, (H, W, 4)).astype(np.uint16)
deep[:4] //= 128
for name, colour, count in [("grey16", 0, 1), ("rgb16", 2, 3), ("la16", 4, 2), ("rgba16", 6, 4)]:
    samples = deep[..., :count]
    eight = scale_16(samples)
    seen = rgb_of(eight[..., 0]) if count < 3 else eight[..., :3]
    if count in (2, 4):
        seen = over_white(seen, eight[..., -1])
    add(f"{name}.png", png(W, H, 16, colour, [row.astype(">u2").tobytes() for row in samples]), seen)
rgba = smooth(4)
rgba[:3, :, 3] = 0
rgba[8:, :, 3] = 255
add("rgba.png", saved(Image.fromarray(rgba), "PNG"), over_white(rgba[..., :3], rgba[..., 3]))
la = rgba[..., [0, 3]]
add("la.png", saved(Image.fromarray(la, "LA"), "PNG"), over_white(rgb_of(la[..., 0]), la[..., 1]))
exif = Image.Exif()
exif[274] = 6
add("orientation6.png", saved(rgb, "PNG", exif=exif), np.rot90(smooth(3), -1))

# ---- BMP
for mode in ("1", "L", "P", "RGB"):
    add(f"{mode.lower()}.bmp", saved(rgb.convert(mode), "BMP"))
add("x_rgb.bmp", saved(Image.fromarray(rgba), "BMP"))  # by its header, the fourth byte means nothing
pixels = rgba[::-1].tobytes()
masks = struct.pack("<IIII", 0xFF, 0xFF00, 0xFF0000, 0xFF000000)
header = struct.pack("<IiiHHIIiiII", 108, W, H, 1, 32, 3, len(pixels), 0, 0, 0, 0) + masks + bytes(52)
add("rgba.bmp", b"BM" + struct.pack("<IHHI", 122 + len(pixels), 0, 0, 122) + header + pixels,
    over_white(rgba[..., :3], rgba[..., 3]))


def bmp(bits, rows, height=H, compression=0, extra=b"", palette=b"", data=None):
    stride = (W * bits + 31) // 32 * 4
    data = b"".join(row.ljust(stride, b"\0") for row in rows) if data is None else data
    header = struct.pack("<IiiHHIIiiII", 40, W, height, 1, bits, compression, len(data), 0, 0, len(palette) // 4, 0)
    offset = 14 + len(header) + len(extra) + len(palette)
    return b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + header + extra + palette + data


shallow = RNG.randint(0, 65536, (H, W)).astype("<u2")
add("bgr555.bmp", bmp(16, [row.tobytes() for row in shallow]))
add("bgr565.bmp", bmp(16, [row.tobytes() for row in shallow], compression=3,
                      extra=struct.pack("<III", 0xF800, 0x7E0, 0x1F)))
add("top_down.bmp", bmp(24, [row.tobytes() for row in smooth(3)], height=-H))
add("empty_alpha.bmp", bmp(32, [np.dstack([smooth(3), np.zeros((H, W, 1), np.uint8)])[y].tobytes() for y in range(H)]))
indices = RNG.randint(0, 16, (H, W))
palette = RNG.bytes(64)
add("palette4.bmp", bmp(4, packed(indices, 4), palette=palette))
runs = b"".join(b"\x05\x03\x00\x04\x01\x02\x03\x04\x04\x07\x00\x00" for _ in range(H)) + b"\0\1"
add("rle8.bmp", bmp(8, [], compression=1, palette=palette, data=runs))
runs = b"".join(b"\x05\x3a\x00\x04\x12\x34\x04\x70\x00\x00" for _ in range(H)) + b"\0\1"
add("rle4.bmp", bmp(4, [], compression=2, palette=palette, data=runs))

# ---- WebP
add("lossy.webp", saved(rgb, "WEBP"))
add("lossless.webp", saved(rgb, "WEBP", lossless=True))
add("alpha.webp", saved(Image.fromarray(rgba), "WEBP", lossless=True, exact=True),
    over_white(rgba[..., :3], rgba[..., 3]))
data = saved(Image.fromarray(rgba), "WEBP", quality=80)
decoded = np.asarray(Image.open(io.BytesIO(data)))
add("lossy_alpha.webp", data, over_white(decoded[..., :3], decoded[..., 3]))
add("animated.webp", saved(rgb, "WEBP", lossless=True, save_all=True, append_images=[rgb.rotate(180)]))
exif[274] = 8
add("orientation8.webp", saved(rgb, "WEBP", lossless=True, exif=exif), np.rot90(smooth(3)))

# ---- TIFF
add("bilevel_g4.tif", saved(rgb.convert("1"), "TIFF", compression="group4"))
add("grey_lzw.tif", saved(grey, "TIFF", compression="tiff_lzw"))
add("rgb.tif", saved(rgb, "TIFF"))
add("rgb_predictor.tif", saved(rgb, "TIFF", compression="tiff_adobe_deflate", tiffinfo={317: 2}))
add("rgb_packbits.tif", saved(rgb, "TIFF", compression="packbits"))
add("rgb_jpeg.tif", saved(rgb, "TIFF", compression="jpeg"))
add("rgb_big.tif", saved(rgb, "TIFF", big_tiff=True))
add("palette.tif", saved(rgb.convert("P", palette=Image.Palette.ADAPTIVE, colors=9), "TIFF"))
add("cmyk.tif", saved(cmyk, "TIFF"))
add("rgba.tif", saved(Image.fromarray(rgba), "TIFF"), over_white(rgba[..., :3], rgba[..., 3]))
add("orientation5.tif", saved(rgb, "TIFF", tiffinfo={274: 5}))
add("float.tif", saved(Image.fromarray(smooth(1)[..., 0].astype(np.float32)), "TIFF"), None)
expected["float.tif"]["official"] = None  # we refuse it by name


def tiff(order, tags, blobs):
    """tags: tag -> list of shorts; blobs: the strips or tiles."""
    tags = dict(tags)
    offset = 8
    offsets = []
    for blob in blobs:
        offsets.append(offset)
        offset += len(blob)
    where, sizes = (324, 325) if 322 in tags else (273, 279)
    body = b"".join(blobs)
    entries, tail = [], b""
    start = offset + 2 + 12 * (len(tags) + 2) + 4
    longs = {where: offsets, sizes: [len(blob) for blob in blobs]}
    for tag in sorted([*tags, where, sizes]):
        values, code, kind = (longs[tag], "I", 4) if tag in longs else (tags[tag], "H", 3)
        raw = struct.pack(order + str(len(values)) + code, *values)
        if len(raw) > 4:
            raw, tail = struct.pack(order + "I", start + len(tail)), tail + raw
        entries.append(struct.pack(order + "HHI", tag, kind, len(values)) + raw.ljust(4, b"\0"))
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", offset)
    return head + body + struct.pack(order + "H", len(entries)) + b"".join(entries) + b"\0\0\0\0" + tail


base = {256: [W], 257: [H], 259: [1]}
for order, name in (("<", "little"), (">", "big")):
    data = deep[..., 0].astype(order + "u2").tobytes()
    add(f"grey16_{name}.tif", tiff(order, base | {258: [16], 262: [1], 277: [1], 278: [H]}, [data]),
        rgb_of(scale_16(deep[..., 0])))
data = deep[..., :3].astype(">u2").tobytes()
add("rgb16.tif", tiff(">", base | {258: [16] * 3, 262: [2], 277: [3], 278: [H]}, [data]), scale_16(deep[..., :3]))
add("white_is_zero.tif", tiff("<", base | {258: [8], 262: [0], 277: [1], 278: [4]},
                              [smooth(1)[y:y + 4].tobytes() for y in range(0, H, 4)]))
add("planes.tif", tiff("<", base | {258: [8] * 3, 262: [2], 277: [3], 278: [H], 284: [2]},
                       [smooth(3)[..., c].tobytes() for c in range(3)]))
tiled = np.zeros((16, 16, 3), np.uint8)
tiled[:H, :W] = smooth(3)
add("tiles.tif", tiff("<", base | {258: [8] * 3, 262: [2], 277: [3], 322: [16], 323: [16]}, [tiled.tobytes()]))
premultiplied = (rgba[..., :3].astype(int) * rgba[..., 3:] // 255).astype(np.uint8)
add("premultiplied.tif", tiff("<", base | {258: [8] * 4, 262: [2], 277: [4], 278: [H], 338: [1]},
                              [np.dstack([premultiplied, rgba[..., 3]]).tobytes()]),
    np.minimum(255, premultiplied.astype(int) + 255 - rgba[..., 3:]))
add("twelve_bits.tif", tiff("<", base | {258: [12], 262: [1], 277: [1], 278: [H]}, [RNG.bytes(20 * H)]), None)
expected["twelve_bits.tif"]["official"] = None

# ---- GIF
indexed = rgb.convert("P", palette=Image.Palette.ADAPTIVE, colors=9)
add("plain.gif", saved(indexed, "GIF", interlace=0))
add("interlaced.gif", saved(indexed, "GIF", interlace=1))
data = saved(indexed, "GIF", transparency=3, optimize=False)
shown = Image.open(io.BytesIO(data))
alpha = np.where(np.asarray(shown) == shown.info["transparency"], 0, 255)
add("transparent.gif", data, over_white(np.asarray(shown.convert("RGB")), alpha))
add("animated.gif", saved(indexed, "GIF", save_all=True, append_images=[indexed.rotate(180)]))


def offset_gif():
    """A frame of its own colours, not in the corner of the screen; clear codes keep the codes short."""
    out, bits, count, data = 0, 0, 0, bytearray()
    for code in [c for v in RNG.randint(0, 4, 6 * 5) for c in (4, int(v))] + [5]:
        out |= code << bits
        bits += 3
        while bits >= 8:
            data.append(out & 255)
            out >>= 8
            bits -= 8
    data.append(out & 255)
    frame = struct.pack("<HHHHB", 3, 2, 6, 5, 0x81) + RNG.bytes(12) + bytes([2, len(data)]) + bytes(data) + b"\0"
    return b"GIF89a" + struct.pack("<HHBBB", W, H, 0x81, 1, 0) + RNG.bytes(12) + b"," + frame + b";"


add("offset.gif", offset_gif())

# ---- resizes of a picture that resample_test.cpp makes by the same formula
resizes = []
for (w, h), (to_w, to_h) in [((37, 23), (16, 9)), ((37, 23), (37, 50)), ((37, 23), (90, 23)), ((1, 9), (7, 3)),
                             ((64, 3), (5, 31)), ((50, 50), (1, 1)), ((19, 400), (40, 17))]:
    y, x, c = np.mgrid[0:h, 0:w, 0:3]
    source = Image.fromarray(((x * x * 3 + y * 11 + c * 71 + x * y) % 256).astype(np.uint8))
    for number, kind in enumerate([Image.BOX, Image.BILINEAR, Image.BICUBIC, Image.LANCZOS]):
        resizes.append([w, h, to_w, to_h, number, digest(np.asarray(source.resize((to_w, to_h), kind)))[2]])
(FOLDER / "resizes.json").write_text("[" + ",\n".join(json.dumps(row) for row in resizes) + "]\n")

(FOLDER / "expected.json").write_text(json.dumps(expected, indent=0, sort_keys=True) + "\n")
