# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""ViT3 and H-ViT3 as their description reads, with the operations that PyTorch offers: what a
researcher would write. Parameters have the names of the official checkpoints."""
import torch
from torch import nn
from torch.nn import functional as F


class TttBlock(nn.Module):
    """One gradient step on two small inner models, then their use."""

    def __init__(self, dim, heads):
        super().__init__()
        d = dim // heads
        self.dim, self.heads, self.d = dim, heads, d
        self.w1 = nn.Parameter(0.02 * torch.randn(1, heads, d, d))
        self.w2 = nn.Parameter(0.02 * torch.randn(1, heads, d, d))
        self.w3 = nn.Parameter(0.02 * torch.randn(d, 1, 3, 3))
        self.qkv = nn.Linear(dim, 3 * dim + 3 * d)
        self.proj = nn.Linear(dim + d, dim)

    def gated(self, q, k, v):
        z1, z2 = k @ self.w1, k @ self.w2
        s = torch.sigmoid(z2)
        e = -v / v.shape[2] / 3
        kt = k.transpose(-2, -1)
        g1 = kt @ (e * z2 * s)
        g2 = kt @ (e * z1 * s * (1 + z2 * (1 - s)))
        w1 = self.w1 - g1 / (g1.norm(dim=-2, keepdim=True) + 1)
        w2 = self.w2 - g2 / (g2.norm(dim=-2, keepdim=True) + 1)
        return (q @ w1) * F.silu(q @ w2)

    def depthwise(self, q, k, v):
        b, c, h, w = k.shape
        e, padded = -v / (h * w) / 3, F.pad(k, (1, 1, 1, 1))
        taps = [(padded[:, :, i:i + h, j:j + w] * e).sum((2, 3))
                for i in range(3) for j in range(3)]
        g = torch.stack(taps, -1).view(b, c, 3, 3)
        g = g / (g.flatten(2).norm(dim=-1)[..., None, None] + 1)
        kernels = (self.w3[:, 0] - g).view(b * c, 1, 3, 3)
        out = F.conv2d(q.reshape(1, b * c, h, w), kernels, padding=1, groups=b * c)
        return out.view(b, c, h * w).transpose(1, 2)

    def forward(self, x, h, w, rope=None):
        b, n, _ = x.shape
        sizes = [self.dim] * 3 + [self.d] * 3
        q1, k1, v1, q2, k2, v2 = self.qkv(x).split(sizes, 2)
        if rope is not None:
            q1, k1 = rope(q1, h, w), rope(k1, h, w)
        heads = [t.reshape(b, n, self.heads, self.d).transpose(1, 2) for t in (q1, k1, v1)]
        maps = [t.transpose(1, 2).reshape(b, self.d, h, w) for t in (q2, k2, v2)]
        x1 = self.gated(*heads).transpose(1, 2).reshape(b, n, self.dim)
        return self.proj(torch.cat([x1, self.depthwise(*maps)], 2))


class Rope(nn.Module):
    """Rotates neighbouring channels, half of them by the row and half by the column. In real
    numbers: torch.compile has no code for complex ones."""

    def __init__(self, dim):
        super().__init__()
        self.quarter = dim // 4
        self.tables = {}

    def table(self, h, w, device):
        if (h, w) not in self.tables:
            theta = 1 / 10000 ** (torch.arange(self.quarter) / self.quarter)
            y = (torch.arange(h)[:, None] * theta)[:, None].expand(h, w, -1)
            x = (torch.arange(w)[:, None] * theta)[None].expand(h, w, -1)
            angles = torch.cat([y, x], -1).reshape(h * w, 2 * self.quarter)
            self.tables[h, w] = angles.cos().to(device), angles.sin().to(device)
        return self.tables[h, w]

    def forward(self, x, h, w):
        cos, sin = self.table(h, w, x.device)
        a, b = x.float().unflatten(2, (-1, 2)).unbind(-1)
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(2).to(x.dtype)


def on_grid(conv, x, h, w):
    """A convolution of tokens [B,N,C]."""
    b, n, c = x.shape
    return conv(x.transpose(1, 2).reshape(b, c, h, w)).flatten(2).transpose(1, 2)


def depthwise3x3(channels, stride=1):
    return nn.Conv2d(channels, channels, 3, stride, 1, groups=channels)


class Mlp(nn.Module):
    def __init__(self, dim, convolved):
        super().__init__()
        self.fc1 = nn.Linear(dim, 4 * dim)
        self.dwc = depthwise3x3(4 * dim) if convolved else None
        self.fc2 = nn.Linear(4 * dim, dim)

    def forward(self, x, h, w):
        x = F.gelu(self.fc1(x))
        if self.dwc is not None:
            x = F.gelu(x + on_grid(self.dwc, x, h, w))
        return self.fc2(x)


class Block(nn.Module):
    def __init__(self, dim, heads, hierarchical=False):
        super().__init__()
        epsilon = 1e-5 if hierarchical else 1e-6
        self.cpe = depthwise3x3(dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim, epsilon), nn.LayerNorm(dim, epsilon)
        self.attn = TttBlock(dim, heads)
        self.mlp = Mlp(dim, hierarchical)
        self.rope = Rope(dim) if hierarchical else None

    def forward(self, x, h, w):
        x = x + on_grid(self.cpe, x, h, w)
        x = x + self.attn(self.norm1(x), h, w, self.rope)
        return x + self.mlp(self.norm2(x), h, w)


class PatchEmbedding(nn.Module):
    def __init__(self, dim, patch):
        super().__init__()
        self.proj = nn.Conv2d(3, dim, patch, patch)

    def forward(self, images):
        return self.proj(images)


class Vit3(nn.Module):
    def __init__(self, dim, depth, heads, patch=16, classes=1000):
        super().__init__()
        self.patch_embed = PatchEmbedding(dim, patch)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim, 1e-6), nn.Linear(dim, classes)

    def forward(self, images):
        x = self.patch_embed(images)
        h, w = x.shape[2:]
        x = x.flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x, h, w)
        return self.head(self.norm(x).mean(1))


class ConvLayer(nn.Module):
    """Convolution, batch norm and ReLU, of which the latter two may be absent."""

    def __init__(self, conv, norm, relu):
        super().__init__()
        self.conv, self.relu = conv, relu
        self.norm = nn.BatchNorm2d(conv.out_channels) if norm else None

    def forward(self, x):
        x = self.conv(x)
        if self.norm is not None:
            x = self.norm(x)
        return F.relu(x) if self.relu else x


class Convolutions(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        return self.conv(x)


def stem(dim):
    half = dim // 2
    shapes = [(3, half, 3, 2), (half, half, 3, 1), (half, half, 3, 1), (half, 4 * dim, 3, 2),
              (4 * dim, dim, 1, 1)]
    return Convolutions(*(ConvLayer(nn.Conv2d(a, b, k, s, k // 2, bias=False), True, i < 4)
                          for i, (a, b, k, s) in enumerate(shapes)))


def merging(dim, following):
    wide = 4 * following
    return Convolutions(ConvLayer(nn.Conv2d(dim, wide, 1), False, True),
                        ConvLayer(depthwise3x3(wide, 2), False, True),
                        ConvLayer(nn.Conv2d(wide, following, 1), True, False))


class Stage(nn.Module):
    def __init__(self, dim, depth, heads, following):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim, heads, True) for _ in range(depth))
        self.downsample = merging(dim, following) if following else None

    def forward(self, x):
        b, c, h, w = x.shape
        x = x.flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x, h, w)
        x = x.transpose(1, 2).reshape(b, c, h, w)
        return self.downsample(x) if self.downsample is not None else x


class HVit3(nn.Module):
    def __init__(self, dims, depths, heads, classes=1000):
        super().__init__()
        self.patch_embed = stem(dims[0])
        self.layers = nn.ModuleList(map(Stage, dims, depths, heads, [*dims[1:], None]))
        self.norm, self.head = nn.BatchNorm1d(dims[-1]), nn.Linear(dims[-1], classes)

    def forward(self, images):
        x = self.patch_embed(images)
        for stage in self.layers:
            x = stage(x)
        return self.head(self.norm(x.flatten(2)).mean(2))


def build(name, size=224):
    """A model by name: vit3_t, vit3_s, hvit3_t, or one of timm's."""
    if name.startswith("deit"):
        import timm
        return timm.create_model(name, img_size=size)
    if name.startswith("hvit3"):
        return HVit3([64, 128, 320, 512], [1, 3, 9, 4], [2, 4, 10, 16])
    return Vit3(*{"vit3_t": (192, 12, 6), "vit3_s": (384, 12, 6)}[name])
