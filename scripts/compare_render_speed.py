#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Times LaCT-LVSM reconstruction and rendering in eager PyTorch and in `ttt render`, in turns.

usage: compare_render_speed.py TTT SCENE [--threads N] [--dim N] [--layers N] [--size N]
           [--inputs 4,16,32] [--targets N] [--repeat N]
TTT is the program, SCENE a posed scene with enough views: assets/samples/toy for up to 12 inputs, or one
that `ttt train --model lvsm --data procedural --export-scenes FOLDER --validation-scenes 1
--input-views 32 --target-views 4 --size 128` makes up. Weights are random. Prints milliseconds (best of
the repetitions) and the peak memory, above that of the loaded model and in all (each program's own
account), for eager fp32, ttt fp32 and ttt bf16.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

STEP = (3.4445, -4.7750, 2.0315)
CONFIG = """patch_size: 8
dim: {dim}
layers: {layers}
block_config:
  - type: model.SelfAttention
    length_dim: l
    params: {{head_dim: 64, use_qk_norm: true}}
  - type: lact_ttt.FastWeightGluMLPMultihead
    length_dim: vl
    params: {{head_dim: {dim}, inter_multi: 2, base_lr: 0.01, muon_update_steps: 5}}
  - type: model.MLP
    length_dim: vl
    params: {{inter_multi: 4}}
"""


def largest_resident_set():
    """Of this process since the last restart, in MiB."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", status).group(1)) / 1024


def eager(options, inputs):
    """The model as its description reads, with the operations that eager PyTorch offers."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.set_num_threads(options.threads)
    torch.set_grad_enabled(False)
    dim, heads = options.dim, options.dim // 64

    def linear(a, b):
        return nn.Linear(a, b, bias=False)

    def rms(x, weight, eps):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight

    def newton_schulz(g):
        x = g.transpose(1, 2) if g.shape[1] > g.shape[2] else g
        x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
        for _ in range(5):
            a = x @ x.transpose(1, 2)
            x = STEP[0] * x + (STEP[1] * a + STEP[2] * a @ a) @ x
        return x.transpose(1, 2) if g.shape[1] > g.shape[2] else x

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norms = nn.ModuleList(nn.LayerNorm(dim, bias=False) for _ in range(3))
            self.qkv, self.proj = linear(dim, 3 * dim), linear(dim, dim)
            self.q_norm, self.k_norm = nn.Parameter(torch.ones(64)), nn.Parameter(torch.ones(64))
            self.fast_qkv, self.fast_proj = linear(dim, 3 * dim), linear(dim, dim)
            self.rate, self.o_norm = nn.Linear(dim, 3), nn.Parameter(torch.ones(dim))
            self.w0 = nn.Parameter(torch.randn(1, dim, 2 * dim) * (2 / dim) ** 0.5)
            self.w1 = nn.Parameter(torch.randn(1, 2 * dim, dim) * (1 / dim) ** 0.5)
            self.w2 = nn.Parameter(torch.randn(1, dim, 2 * dim) * (2 / dim) ** 0.5)
            self.mlp = nn.Sequential(linear(dim, 4 * dim), nn.GELU(), linear(4 * dim, dim))

        def attention(self, x, views):
            x = x.view(views, -1, dim)
            q, k, v = (t.unflatten(2, (heads, 64)).transpose(1, 2)
                       for t in self.qkv(x).chunk(3, 2))
            q, k = rms(q, self.q_norm, 1.1920929e-07), rms(k, self.k_norm, 1.1920929e-07)
            out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            return self.proj(out).view(1, -1, dim)

        def update(self, k, v, eta):
            w0, w1, w2 = self.w0, self.w1, self.w2
            a, c = k @ w0, k @ w2
            s = torch.sigmoid(a)
            hidden, r = a * s * c, v @ w1.transpose(1, 2)
            rc, ra = r * a * s, r * c * s * (1 + a * (1 - s))
            g0 = (k * eta[0]).transpose(1, 2) @ ra
            g1 = (hidden * eta[1]).transpose(1, 2) @ v
            g2 = (k * eta[2]).transpose(1, 2) @ rc
            return [self.scaled(w + newton_schulz(g), w)
                    for w, g in ((w0, g0), (w1, g1), (w2, g2))]

        @staticmethod
        def scaled(new, old):
            return (new / (new.norm(dim=1, keepdim=True) + 1e-5)) * old.norm(dim=1, keepdim=True)

        def fast(self, x, state):
            q, k, v = F.silu(self.fast_qkv(x)).chunk(3, 2)
            q = q / (q.norm(dim=2, keepdim=True) + 1e-5)
            k = k / (k.norm(dim=2, keepdim=True) + 1e-5)
            eta = F.softplus(self.rate(x) - 4.600166019324897).unbind(2)
            eta = [e.unsqueeze(2) for e in eta]
            w0, w1, w2 = state if state is not None else self.update(k, v, eta)
            out = (F.silu(q @ w0) * (q @ w2)) @ w1
            return self.fast_proj(rms(out, self.o_norm, 1e-5)), (w0, w1, w2)

        def forward(self, x, views, state=None):
            x = x + self.attention(self.norms[0](x), views)
            out, state = self.fast(self.norms[1](x), state)
            x = x + out
            return x + self.mlp(self.norms[2](x)), state

    embed, norm = linear(768, dim), nn.LayerNorm(dim, bias=False)
    blocks = nn.ModuleList(Block() for _ in range(options.layers))
    decode = nn.Sequential(nn.LayerNorm(dim, bias=False), linear(dim, 192), nn.Sigmoid())
    n = (options.size // 8) ** 2
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
    loaded = largest_resident_set()
    posed = torch.rand(inputs, 12, options.size, options.size)
    targets = torch.rand(options.targets, 12, options.size, options.size)

    def tokens(pictures):
        x = pictures.unflatten(3, (-1, 8)).unflatten(2, (-1, 8))  # v c hh ph ww pw
        return norm(embed(x.permute(0, 2, 4, 3, 5, 1).reshape(1, -1, 768)))

    best = [float("inf")] * 2
    for _ in range(options.repeat):
        start = time.perf_counter()
        x, states = tokens(posed), []
        for block in blocks:
            x, state = block(x, inputs)
            states.append(state)
        middle = time.perf_counter()
        for view in range(options.targets):
            x = tokens(targets[view:view + 1])
            for block, state in zip(blocks, states):
                x, _ = block(x, 1, state)
            decode(x).view(1, n, 192)
        end = time.perf_counter()
        best = [min(best[0], middle - start), min(best[1], (end - middle) / options.targets)]
    print(json.dumps({"reconstruct": best[0] * 1e3, "render": best[1] * 1e3,
                      "peak": largest_resident_set() - loaded,
                      "all": largest_resident_set()}))


def ours(options, config, folder, inputs, dtype):
    views = list(range(inputs + options.targets))
    command = [options.ttt, "render", options.scene, "--random-weights", "--model-config", config,
               "--size", f"{options.size}x{options.size}", "--threads", str(options.threads),
               "--format", "jsonl", "--dtype", dtype, "--quiet", "--overwrite",
               "--input-views", ",".join(map(str, views[:inputs])),
               "--target-views", ",".join(map(str, views[inputs:]))]
    best = {"reconstruct": float("inf"), "render": float("inf"), "peak": 0.0, "all": 0.0}
    for _ in range(options.repeat):
        rows = subprocess.run([*command, "--metrics", str(folder / "m.json")], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        summary = json.loads(rows.strip().splitlines()[-1])
        scene = summary["scenes"][0]
        best["reconstruct"] = min(best["reconstruct"], scene["reconstruct_ms"])
        best["render"] = min(best["render"], scene["render_ms_per_view"])
        memory = summary["memory_mib"]
        best["peak"] = max(best["peak"], memory["peak_above_loaded"])
        best["all"] = max(best["all"], memory["peak_above_loaded"] + memory["loaded"])
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ttt")
    parser.add_argument("scene")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--inputs", default="4,16,32")
    parser.add_argument("--targets", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--eager-only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.eager_only:
        return eager(options, options.eager_only)
    print("| inputs | what | reconstruct, ms | render, ms a view | peak MiB above the loaded model "
          "| in all |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = folder / "config.yaml"
        config.write_text(CONFIG.format(dim=options.dim, layers=options.layers))
        for inputs in map(int, options.inputs.split(",")):
            base = json.loads(subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--eager-only", str(inputs)], check=True,
                stdout=subprocess.PIPE, text=True).stdout)
            rows = [("eager fp32", base)]
            for dtype in ("fp32", "bf16"):
                rows.append((f"ttt {dtype}", ours(options, str(config), folder, inputs, dtype)))
            for what, row in rows:
                ratios = [f" ({base[key] / row[key]:.2f}x)" if row is not base else ""
                          for key in ("reconstruct", "render")]
                print(f"| {inputs} | {what} | {row['reconstruct']:.0f}{ratios[0]} "
                      f"| {row['render']:.1f}{ratios[1]} | {row['peak']:.0f} | {row['all']:.0f} |",
                      flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
