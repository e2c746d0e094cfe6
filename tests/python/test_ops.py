#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""The ops of libttt_ops.so in Python's torch: values, gradients, errors, torch.compile.

usage: test_ops.py LIBRARY [UNITTEST ARGUMENTS…]
"""
import json
import os
import pathlib
import re
import struct
import sys
import sysconfig
import unittest

import torch
import torch._dynamo.testing
import torch.nn.functional as F

ops = torch.ops.ttt
OUR_TEXT = "hint: "  # every error of ours ends with what to do


def shared(path):
    """A file of the shared test data; skips the test without it."""
    source = pathlib.Path(__file__).resolve().parents[2]
    file = pathlib.Path(os.environ.get("TTT_SHARED", source.parent / "shared")) / path
    if not file.exists():
        raise unittest.SkipTest(f"{file} is absent; set TTT_SHARED to the shared test data")
    return file


def read_safetensors(file):
    """The fp32 tensors and the metadata of a safetensors file."""
    data = file.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32)
        tensors[name] = tensors[name].reshape(entry["shape"])
    return tensors, metadata


def fill(name, shape, factor=1.0):
    """The golden set's reproducible fill, uniform in [-1, 1)."""
    mask = 0xFFFFFFFF
    h0 = 0x811C9DC5
    for byte in name.encode():
        h0 = (h0 ^ byte) * 0x01000193 & mask
    h = (torch.arange(torch.Size(shape).numel()) + h0) & mask
    h = (h ^ (h >> 16)) * 0x85EBCA6B & mask
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & mask
    h = h ^ (h >> 16)
    u = 2 * h.double() / 2**32 - 1
    return (factor * u).float().reshape(shape)


def block(x, weights, grid, heads, table=None, backend="auto"):
    """The TTT block of ViT3 from the library's ops: W1, W2, kernels, x1x2, out."""
    channels = x.shape[-1]
    d = channels // heads
    qkv = F.linear(x, weights["qkv.weight"], weights["qkv.bias"])
    q1, k1, v1, q2, k2, v2 = torch.split(qkv, [channels] * 3 + [d] * 3, -1)
    if table is not None:
        q1 = ops.rope_2d(q1, *table, backend=backend)
        k1 = ops.rope_2d(k1, *table, backend=backend)
    q2, k2, v2 = (part.unflatten(1, grid) for part in (q2, k2, v2))
    w1, w2 = ops.gated_linear_step(k1, v1, weights["w1"], weights["w2"], backend=backend)
    kernels = ops.depthwise_step(k2, v2, weights["w3"], backend=backend)
    x1 = ops.gated_linear_apply(q1, w1, w2, backend=backend)
    x2 = ops.depthwise_apply(q2, kernels, backend=backend)
    mixed = torch.cat([x1, x2.flatten(1, 2)], -1)
    return w1, w2, kernels, mixed, F.linear(mixed, weights["proj.weight"], weights["proj.bias"])


def block_weights(channels, heads):
    d = channels // heads
    inputs, mixed = 3 * channels + 3 * d, channels + d
    return {
        "w1": fill("w1", (1, heads, d, d), 0.5),
        "w2": fill("w2", (1, heads, d, d), 0.5),
        "w3": fill("w3", (d, 1, 3, 3), 0.5),
        "qkv.weight": fill("qkv.weight", (inputs, channels), (3 / channels) ** 0.5),
        "qkv.bias": fill("qkv.bias", (inputs,), 0.1),
        "proj.weight": fill("proj.weight", (channels, mixed), (3 / mixed) ** 0.5),
        "proj.bias": fill("proj.bias", (channels,), 0.1),
    }


def composed_gated_linear(k, v, q, w1, w2):
    """Step and apply from torch's own ops, with autograd through the written-out gradient."""
    batch, tokens, channels = k.shape
    k, v, q = (t.unflatten(2, (w1.shape[1], -1)).transpose(1, 2) for t in (k, v, q))
    z1, z2 = k @ w1, k @ w2
    gate = torch.sigmoid(z2)
    scale = -1 / (3 * tokens)
    g1 = scale * k.mT @ (v * z2 * gate)
    g2 = scale * k.mT @ (v * z1 * gate * (1 + z2 * (1 - gate)))
    w1, w2 = (w - g / (g.norm(dim=-2, keepdim=True) + 1) for w, g in ((w1, g1), (w2, g2)))
    out = (q @ w1) * F.silu(q @ w2)
    return w1, w2, out.transpose(1, 2).reshape(batch, tokens, channels)


def composed_depthwise(k, v, q, w3):
    """The same for the depthwise inner model: kernels [B,3,3,d] and output."""
    batch, height, width, d = k.shape
    padded = F.pad(k, (0, 0, 1, 1, 1, 1))
    shifts = [(i, j) for i in range(3) for j in range(3)]
    taps = [padded[:, i : i + height, j : j + width] for i, j in shifts]
    g = torch.stack([(tap * v).sum((1, 2)) for tap in taps], 1) * (-1 / (3 * height * width))
    kernels = w3.flatten(1).T - g / (g.norm(dim=1, keepdim=True) + 1)  # [B, 9, d]
    padded = F.pad(q, (0, 0, 1, 1, 1, 1))
    out = sum(
        padded[:, i : i + height, j : j + width] * kernels[:, 3 * i + j, None, None]
        for i, j in shifts
    )
    return kernels.unflatten(1, (3, 3)), out


NEWTON_SCHULZ = 5 * [3.4445, -4.7750, 2.0315]


def composed_swiglu(x, w0, w1, w2):
    """f(x) of LaCT's fast-weight network, x [B, N, heads*D]."""
    heads = x.unflatten(2, (w0.shape[1], -1)).transpose(1, 2)
    return ((F.silu(heads @ w0) * (heads @ w2)) @ w1).transpose(1, 2).flatten(2)


def composed_swiglu_gradient(k, v, rates, w0, w1, w2):
    """The gradient of sum <f(k), v> with a rate per token and matrix, written out."""
    k, v = (t.unflatten(2, (w0.shape[1], -1)).transpose(1, 2) for t in (k, v))
    eta0, eta1, eta2 = rates.permute(2, 0, 3, 1).unsqueeze(-1)  # [B, heads, N, 1] each
    a, c, r = k @ w0, k @ w2, v @ w1.mT
    s = torch.sigmoid(a)
    u = a * s
    ra = r * c * s * (1 + a * (1 - s))
    return (k * eta0).mT @ ra, (u * c * eta1).mT @ v, (k * eta2).mT @ (r * u)


def composed_newton_schulz(g):
    x = g.mT if g.shape[-2] > g.shape[-1] else g
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for i in range(0, len(NEWTON_SCHULZ), 3):
        a, b, c = NEWTON_SCHULZ[i : i + 3]
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if g.shape[-2] > g.shape[-1] else x


def composed_update(weight, step, norms):
    total = weight + step
    return total / (total.norm(dim=-2, keepdim=True) + 1e-5) * norms


def lact(q, k, v, rates, w0, w1, w2, swiglu, gradient, newton_schulz, update):
    """One chunk of LaCT: gradient, Newton-Schulz, update, apply."""
    weights = [w.expand(k.shape[0], -1, -1, -1) for w in (w0, w1, w2)]
    steps = gradient(k, v, rates, w0, w1, w2)
    new = [
        update(w, newton_schulz(g), w.norm(dim=-2, keepdim=True)) for w, g in zip(weights, steps)
    ]
    return swiglu(q, *new)


def lact_of_ops(*arguments):
    return lact(*arguments, ops.swiglu_apply, ops.swiglu_gradient,
                lambda g: ops.newton_schulz(g, NEWTON_SCHULZ), ops.fast_weight_update)


def lact_of_torch(*arguments):
    return lact(*arguments, composed_swiglu, composed_swiglu_gradient, composed_newton_schulz,
                composed_update)


def lact_inputs(tokens=9, dtype=torch.float32):
    x, rates = (2, tokens, 12), (2, tokens, 3, 2)
    return tensors(x, x, x, rates, (1, 2, 6, 8), (1, 2, 8, 6), (1, 2, 6, 8), dtype=dtype)


def tensors(*shapes, dtype=torch.float32, gradients=True):
    generator = torch.Generator().manual_seed(0)
    made = [0.5 * torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes]
    return [t.to(dtype).requires_grad_(gradients) for t in made]


def op_calls(dtype, gradients=True):
    """(op, arguments, keywords) with gradients for each op that has them."""
    k, v, w = (2, 5, 6), (2, 5, 6), (1, 2, 3, 3)
    grid = (2, 3, 2, 4)
    rates, w0, w1 = (2, 5, 3, 2), (1, 2, 3, 4), (1, 2, 4, 3)
    own0, own1 = (2, 2, 3, 4), (2, 2, 4, 3)
    two = {"coefficients": NEWTON_SCHULZ[:6]}
    table = ops.rope_2d_table(3, 2, 8)

    def make(*shapes):
        return tuple(tensors(*shapes, dtype=dtype, gradients=gradients))

    return [
        (ops.gated_linear_step, make(k, v, w, w), {}),
        (ops.gated_linear_step, make(k, v, (2, 2, 3, 3), w), {}),
        (ops.gated_linear_apply, make(k, w, (2, 2, 3, 3)), {}),
        (ops.depthwise_step, make(grid, grid, (4, 1, 3, 3)), {}),
        (ops.depthwise_apply, make(grid, (2, 3, 3, 4)), {}),
        (ops.rope_2d, make((2, 6, 8)) + tuple(table), {}),
        (ops.depthwise_conv3x3, make(grid, (4, 1, 3, 3), (4,)), {"add_input": True}),
        (ops.depthwise_conv3x3, make(grid, (4, 1, 3, 3)), {"activation": "gelu", "stride": 2}),
        (ops.linear, make((2, 5, 6), (4, 6)), {}),
        (ops.linear, make((2, 5, 6), (4, 6), (4,), (2, 5, 4)), {"activation": "gelu"}),
        (ops.swiglu_apply, make(k, w0, w1, w0), {}),
        (ops.swiglu_apply, make(k, own0, own1, own0), {}),
        (ops.swiglu_gradient, make(k, v, rates, w0, w1, w0), {}),
        (ops.swiglu_gradient, make(k, v, rates, own0, own1, own0), {}),
        (ops.newton_schulz, make((2, 3, 5)), two),
        (ops.newton_schulz, make((2, 2, 5, 3)), two),
        (ops.newton_schulz, make((4, 4)), {"coefficients": []}),
        (ops.fast_weight_update, make((2, 2, 4, 3), (2, 2, 4, 3), (2, 2, 1, 3)), {}),
        (ops.fast_weight_update, make((4, 3), (4, 3), (1, 3)), {}),
    ]


class Values(unittest.TestCase):
    def test_golden_blocks(self):
        golden, metadata = read_safetensors(shared("golden/vision/ttt_op.safetensors"))
        cases = json.loads(metadata["info"])
        self.assertGreater(len(cases), 0)
        pattern = r"dim (\d+) heads (\d+) batch (\d+) grid (\d+)x(\d+) rope (\w+) input (\w+)\*(\S+)"
        for name, text in cases.items():
            *numbers, rope, source, factor = re.fullmatch(pattern, text).groups()
            channels, heads, batch, height, width = map(int, numbers)
            x = fill(source, (batch, height * width, channels), float(factor))
            weights = block_weights(channels, heads)
            table = ops.rope_2d_table(height, width, channels) if rope == "True" else None
            for backend in ("auto", "reference"):
                results = block(x, weights, (height, width), heads, table, backend)
                w1, w2, kernels, mixed, out = results
                official = kernels.permute(0, 3, 1, 2).reshape(-1, 1, 3, 3)
                for key, actual in zip(("W1", "W2", "W3", "x1x2", "out"),
                                       (w1, w2, official, mixed, out)):
                    expected = golden[f"{name}.{key}"]
                    largest = expected.abs().max().item()
                    self.assertEqual(actual.shape, expected.shape)
                    with self.subTest(case=name, tensor=key, backend=backend):
                        error = (actual - expected).abs().max().item()
                        self.assertLessEqual(error, 1e-5 * largest)

    def test_no_gradient_is_recorded_where_none_is_needed(self):
        for op, arguments, keywords in op_calls(torch.float32, gradients=False):
            result = op(*arguments, **keywords)
            for tensor in result if isinstance(result, tuple) else (result,):
                self.assertIsNone(tensor.grad_fn)

    def test_bfloat16(self):
        k, v, q, w1, w2 = tensors((2, 9, 16), (2, 9, 16), (2, 9, 16), (1, 2, 8, 8), (1, 2, 8, 8))
        expected = composed_gated_linear(k, v, q, w1, w2)[2]
        k, v, q = (t.detach().bfloat16().requires_grad_() for t in (k, v, q))
        new_w1, new_w2 = ops.gated_linear_step(k, v, w1, w2)
        self.assertEqual(new_w1.dtype, torch.float32)
        out = ops.gated_linear_apply(q, new_w1, new_w2)
        self.assertEqual(out.dtype, torch.bfloat16)
        self.assertLess((out - expected).abs().max().item(), 0.02 * expected.abs().max().item())
        out.float().sum().backward()
        self.assertEqual(k.grad.dtype, torch.bfloat16)
        self.assertEqual(w1.grad.dtype, torch.float32)


class Gradients(unittest.TestCase):
    def compare(self, actual, expected, inputs, expected_inputs=None):
        weights = [torch.linspace(-1, 1, t.numel()).reshape(t.shape) for t in expected]
        got, want = (
            torch.autograd.grad(sum((t * w).sum() for t, w in zip(results, weights)), leaves)
            for results, leaves in ((actual, inputs), (expected, expected_inputs or inputs))
        )
        for a, b in zip([*actual, *got], [*expected, *want]):
            self.assertLessEqual((a - b).abs().max().item(), 1e-5 * b.abs().max().item())

    def test_gated_linear_is_the_composition(self):
        x, w = (2, 9, 16), (1, 2, 8, 8)
        k, v, q, w1, w2 = inputs = tensors(x, x, x, w, w)
        new_w1, new_w2 = ops.gated_linear_step(k, v, w1, w2)
        actual = new_w1, new_w2, ops.gated_linear_apply(q, new_w1, new_w2)
        self.compare(actual, composed_gated_linear(k, v, q, w1, w2), inputs)

    def test_depthwise_is_the_composition(self):
        grid = (2, 3, 5, 8)
        k, v, q, w3 = inputs = tensors(grid, grid, grid, (8, 1, 3, 3))
        kernels = ops.depthwise_step(k, v, w3)
        actual = kernels, ops.depthwise_apply(q, kernels)
        self.compare(actual, composed_depthwise(k, v, q, w3), inputs)

    def test_lacts_parts_are_the_composition(self):
        update = (2, 4, 3), (2, 4, 3), (2, 1, 3)
        for part, composed, inputs in [
            (lambda *a: [ops.swiglu_apply(*a)], lambda *a: [composed_swiglu(*a)],
             [lact_inputs()[i] for i in (0, 4, 5, 6)]),
            (ops.swiglu_gradient, composed_swiglu_gradient, lact_inputs()[1:]),
            (lambda g: [ops.newton_schulz(g, NEWTON_SCHULZ)],
             lambda g: [composed_newton_schulz(g)], [lact_inputs()[5]]),
            (lambda *a: [ops.fast_weight_update(*a)], lambda *a: [composed_update(*a)],
             tensors(*update)),
        ]:
            # Five iterations lose digits: torch's own gradient in float is 2e-5 away from this.
            exact = [t.detach().double().requires_grad_() for t in inputs]
            self.compare(part(*inputs), composed(*exact), inputs, exact)

    def test_lact_is_the_composition(self):
        inputs = lact_inputs(dtype=torch.float64)
        self.compare([lact_of_ops(*inputs)], [lact_of_torch(*inputs)], inputs)

    def test_convolution_is_torchs(self):
        x, weight, bias = inputs = tensors((2, 5, 4, 8), (8, 1, 3, 3), (8,))
        for stride, activation in ((1, F.gelu), (2, F.relu)):
            name = activation.__name__
            actual = ops.depthwise_conv3x3(x, weight, bias, stride=stride, activation=name)
            image = x.permute(0, 3, 1, 2)
            expected = activation(F.conv2d(image, weight, bias, stride, 1, groups=8))
            self.compare([actual], [expected.permute(0, 2, 3, 1)], inputs)

    def test_linear_is_torchs(self):
        x, weight, bias, residual = inputs = tensors((2, 7, 5), (6, 5), (6,), (2, 7, 6))
        for name, activation in (
            ("none", lambda z: z),
            ("relu", F.relu),
            ("gelu", F.gelu),
            ("gelu_tanh", lambda z: F.gelu(z, approximate="tanh")),
            ("silu", F.silu),
        ):
            with self.subTest(activation=name):
                actual = ops.linear(x, weight, bias, residual, activation=name)
                self.compare([actual], [activation(F.linear(x, weight, bias)) + residual], inputs)

    def test_finite_differences(self):
        for op, arguments, keywords in op_calls(torch.float64):
            with self.subTest(op=str(op)):
                self.assertTrue(
                    torch.autograd.gradcheck(lambda *a: op(*a, **keywords), arguments)
                )

    def test_one_result_alone_gives_gradients(self):
        k, v, w1, w2 = tensors((2, 5, 6), (2, 5, 6), (1, 2, 3, 3), (1, 2, 3, 3))
        ops.gated_linear_step(k, v, w1, w2)[1].sum().backward()
        self.assertGreater(w2.grad.abs().max().item(), 0)
        self.assertEqual(w1.grad.shape, w1.shape)

    def test_second_derivatives_are_refused(self):
        q, kernels = tensors((2, 3, 2, 4), (2, 3, 3, 4))
        out = ops.depthwise_apply(q, kernels).sum()
        with self.assertRaisesRegex(NotImplementedError, "second derivatives"):
            torch.autograd.grad(out, q, create_graph=True)


class Errors(unittest.TestCase):
    def test_our_text_arrives(self):
        k, w = torch.ones(2, 5, 6), torch.ones(1, 2, 3, 3)
        grid = torch.ones(1, 3, 2, 4)
        table = ops.rope_2d_table(3, 2, 8)
        cases = [
            (r"v is \[2, 4, 6\]", lambda: ops.gated_linear_step(k, k[:, 1:], w, w)),
            (r"w1 is \[1, 3, 3, 3\]", lambda: ops.gated_linear_apply(k, w[:, [0, 0, 0]], w)),
            ("w3", lambda: ops.depthwise_step(grid, grid, torch.ones(5, 1, 3, 3))),
            ("kernels is", lambda: ops.depthwise_apply(grid, torch.ones(2, 3, 3, 4))),
            (r"x is \[2, 5, 6\]", lambda: ops.linear(k, torch.ones(4, 7))),
            (r"residual is \[4\]", lambda: ops.linear(k, torch.ones(4, 6), None, torch.ones(4))),
            ("unknown activation", lambda: ops.linear(k, torch.ones(4, 6), activation="elu")),
            ("x is", lambda: ops.rope_2d(torch.ones(1, 7, 8), *table)),
            ("not contiguous", lambda: ops.rope_2d(k.new_ones(1, 6, 8), *(t.double() for t in table))),
            ("10 channels", lambda: ops.rope_2d_table(3, 2, 10)),
            ("stride 3", lambda: ops.depthwise_conv3x3(grid, torch.ones(4, 1, 3, 3), stride=3)),
            ("unknown activation", lambda: ops.depthwise_conv3x3(
                grid, torch.ones(4, 1, 3, 3), activation="swish")),
            ("w1 is", lambda: ops.swiglu_apply(k, w, w[..., :2], w)),
            ("rates is", lambda: ops.swiglu_gradient(k, k, torch.ones(2, 5, 2, 2), w, w, w)),
            ("4 coefficients", lambda: ops.newton_schulz(w, [1.0, 2.0, 3.0, 4.0])),
            (r"g is \[6\]", lambda: ops.newton_schulz(torch.ones(6), NEWTON_SCHULZ)),
            ("norms is", lambda: ops.fast_weight_update(w, w, w)),
            ("dout is", lambda: ops.newton_schulz_backward(w[..., :2], w, NEWTON_SCHULZ)),
            ("unknown backend", lambda: ops.depthwise_apply(
                grid, torch.ones(1, 3, 3, 4), backend="gpu")),
            ("v is Double", lambda: ops.gated_linear_step(k, k.double(), w, w)),
            (r"dout is \[2, 5, 5\]", lambda: ops.gated_linear_apply_backward(k[..., 1:], k, w, w)),
            (r"g1 is \[1, 2, 3, 3\]", lambda: ops.gated_linear_step_backward(
                *[w.expand(2, -1, -1, -1)] * 2, k, k, w, w, w, w)),
        ]
        for text, call in cases:
            with self.subTest(text=text):
                with self.assertRaisesRegex(ValueError, f"(?s){text}.*{OUR_TEXT}"):
                    call()

    def test_shapes_are_checked_without_values(self):
        k, w = torch.ones(2, 5, 6, device="meta"), torch.ones(1, 2, 3, 3, device="meta")
        self.assertEqual(ops.gated_linear_apply(k, w, w).shape, k.shape)
        with self.assertRaisesRegex(ValueError, r"(?s)v is \[2, 4, 6\].*" + OUR_TEXT):
            ops.gated_linear_step(k, k[:, 1:], w, w)
        self.assertEqual(ops.newton_schulz(w, NEWTON_SCHULZ).shape, w.shape)
        self.assertEqual(ops.swiglu_gradient(k, k, k.new_ones(2, 5, 3, 2), w, w, w)[1].shape,
                         (2, 2, 3, 3))
        with self.assertRaisesRegex(ValueError, "(?s)norms is .*" + OUR_TEXT):
            ops.fast_weight_update(w, w, w)
        with self.assertRaisesRegex(ValueError, "(?s)w1 is .*" + OUR_TEXT):
            ops.gated_linear_step(k, k, torch.ones(3, 2, 3, 3, device="meta"), w)

    def test_missing_backend_is_named(self):
        q = torch.ones(1, 2, 2, 4)
        with self.assertRaisesRegex(RuntimeError, "(?s)no 'cuda' backend.*" + OUR_TEXT):
            ops.depthwise_apply(q, torch.ones(1, 3, 3, 4), backend="cuda")


class Block(torch.nn.Module):
    """A block as a model has it: position convolution, rope, inner models, projections."""

    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.names = list(block_weights(channels, heads))
        for name, tensor in block_weights(channels, heads).items():
            self.register_parameter(name.replace(".", "_"), torch.nn.Parameter(tensor))
        self.cpe = torch.nn.Parameter(fill("cpe.weight", (channels, 1, 3, 3), 0.5))

    def forward(self, x, table):
        height, width = table[0].shape[0], table[2].shape[0]
        x = ops.depthwise_conv3x3(x.unflatten(1, (height, width)), self.cpe, add_input=True)
        weights = {name: getattr(self, name.replace(".", "_")) for name in self.names}
        return block(x.flatten(1, 2), weights, (height, width), self.heads, table)[-1]


class Compiled(unittest.TestCase):
    def test_opcheck(self):
        for op, arguments, keywords in op_calls(torch.float32):
            with self.subTest(op=str(op)):
                torch.library.opcheck(op.default, arguments, keywords)

    def test_opcheck_of_what_gradients_use(self):
        k, w, whole, grid = (2, 5, 6), (1, 2, 3, 3), (2, 2, 3, 3), (2, 3, 2, 4)
        taps, kernels = (4, 1, 3, 3), (2, 3, 3, 4)
        for op, shapes in [
            (ops.gated_linear_step_forward, (k, k, w, w)),
            (ops.gated_linear_step_backward, (whole, whole, k, k, w, whole, whole, whole)),
            (ops.gated_linear_apply_backward, (k, k, w, whole)),
            (ops.depthwise_step_forward, (grid, grid, taps)),
            (ops.depthwise_step_backward, (kernels, grid, grid, taps, kernels)),
            (ops.depthwise_apply_backward, (grid, grid, kernels)),
            (ops.depthwise_conv3x3_backward, (grid, grid, taps, (4,))),
            (ops.swiglu_apply_backward, (k, k, w, w, w)),
            (ops.swiglu_gradient_backward, (whole, whole, whole, k, k, (2, 5, 3, 2), w, w, w)),
            (ops.newton_schulz_backward, ((2, 5, 3), (2, 5, 3))),
            (ops.fast_weight_update_backward, (whole, whole, whole, (2, 2, 1, 3))),
        ]:
            newton_schulz = op is ops.newton_schulz_backward
            keywords = {"coefficients": NEWTON_SCHULZ} if newton_schulz else {}
            with self.subTest(op=str(op)):
                arguments = tuple(tensors(*shapes, gradients=False))
                torch.library.opcheck(op.default, arguments, keywords)

    def step(self, module, height, width, batch):
        module.zero_grad()
        x = fill("x", (batch, height * width, 24)).requires_grad_()
        out = module(x, ops.rope_2d_table(height, width, 24))
        (out * fill("dout", out.shape)).sum().backward()
        return [out.detach(), x.grad] + [p.grad.clone() for p in module.parameters()]

    def compare_with_eager(self, backend, dynamic):
        eager, counter = Block(24, 2), torch._dynamo.testing.CompileCounterWithBackend(backend)
        compiled = torch.compile(eager, fullgraph=True, dynamic=dynamic, backend=counter)
        for height, width, batch in ((3, 5, 2), (4, 7, 3)) if dynamic else ((3, 5, 2),):
            expected = self.step(eager, height, width, batch)
            for a, b in zip(self.step(compiled, height, width, batch), expected):
                self.assertLessEqual((a - b).abs().max().item(), 1e-5 * b.abs().max().item())
        self.assertEqual(counter.frame_count, 1, "compiled again for another size")

    def test_lact_compiles_once_for_all_sizes(self):
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(lact_of_ops, fullgraph=True, dynamic=True, backend=counter)
        frames = []
        for tokens in (9, 14):
            inputs = lact_inputs(tokens)
            results = []
            for function in (compiled, lact_of_ops):
                out = function(*inputs)
                loss = (out * fill("d", out.shape)).sum()
                results.append([out, *torch.autograd.grad(loss, inputs)])
            for a, b in zip(*results):
                self.assertLessEqual((a - b).abs().max().item(), 1e-5 * b.abs().max().item())
            frames.append(counter.frame_count)
        # The first size may take two: numbers (the coefficients) are variables at first.
        self.assertEqual(frames[0], frames[1], "compiled again for another size")

    def test_one_compilation_serves_all_sizes(self):
        self.compare_with_eager("aot_eager", dynamic=True)

    @unittest.skipUnless(
        pathlib.Path(sysconfig.get_path("include"), "Python.h").exists(),
        "inductor needs Python.h; install python3-dev",
    )
    def test_inductor(self):
        self.compare_with_eager("inductor", dynamic=False)


if __name__ == "__main__":
    torch.ops.load_library(sys.argv.pop(1))
    torch.set_num_threads(1)
    unittest.main(verbosity=2)
