"""Programs for the stock delegates, and what PyTorch computes: for check.py.

Each model is exported as torch.export does it and called eagerly, with its
state, on the same arguments.
"""

import copy

import torch
from torch import nn
import torch.nn.functional as F


class Mlp(nn.Module):
    """Weights inside of payloads, two results, one input used twice."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 16)
        self.b = nn.Linear(16, 4)

    def forward(self, x, y):
        return torch.sigmoid(self.b(F.gelu(self.a(x)))) + y, x * y.sum()


class KeyCache(nn.Module):
    """A row of a 4-d cache is replaced at a position that varies."""

    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.arange(64.0).reshape(1, 2, 8, 4))

    def forward(self, x, position):
        self.k.index_copy_(2, position, x)
        return (self.k * x.sum()).sum(-1)


class Decay(nn.Module):
    """State of two dimensions, all of which changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("s", torch.full((3, 5), 2.0))

    def forward(self, x):
        self.s.mul_(0.5).add_(x)
        return self.s.sum(0)


class TwoWriters(nn.Module):
    """One cache that two regions write, in order, with a kernel between."""

    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 2, 8, 4))

    def forward(self, x, position):
        self.k.index_copy_(2, position, x)
        y = torch.sigmoid(self.k.sum(-1))
        self.k.mul_(y.sum() - 7.0)
        return y, self.k.mean()


class OldState(nn.Module):
    """The region that writes the state has a use for the old one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("s", torch.ones(2, 4))

    def forward(self, x):
        old = self.s.clone()
        self.s.copy_(self.s * 2 + x)
        return old * 3, self.s - 1


class LateReader(nn.Module):
    """The old state is read after a kernel that wants the new one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("s", torch.ones(2, 4))

    def forward(self, x):
        old = self.s.clone()
        self.s.copy_(self.s * 2 + x)
        return old * torch.sigmoid(self.s.sum())


class Batch(nn.Module):
    """A size that varies within bounds."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.a(x)) * x


class Twice(nn.Module):
    """One computation in two places: equal regions, one payload."""

    def forward(self, x):
        y = torch.relu(x * 2.0 + 1.0)
        z = torch.sigmoid(y)
        return torch.relu(z * 2.0 + 1.0)


class Swapped(nn.Module):
    """Two inputs of one type that don't commute."""

    def forward(self, a, b):
        return a * 2.0 - b


class Half(nn.Module):
    """Narrow numbers, integers and truth values at the boundary."""

    def forward(self, x, mask, rows):
        y = torch.where(mask, x, -x)
        return y * 2, rows + 1, y > 0


class Llama(nn.Module):
    """Two layers, rotary positions, a static cache per layer; one token a
    call."""

    def __init__(self, words=48, dim=16, heads=4, layers=2, length=24):
        super().__init__()
        self.heads, self.length, self.dim = heads, length, dim
        self.embed = nn.Embedding(words, dim)
        self.norms = nn.ParameterList(
            [nn.Parameter(torch.rand(dim) + 0.5) for _ in range(2 * layers + 1)])
        def matrices(rows, columns):
            return nn.ModuleList(
                [nn.Linear(rows, columns, bias=False) for _ in range(layers)])
        self.q, self.k = matrices(dim, dim), matrices(dim, dim)
        self.v, self.o = matrices(dim, dim), matrices(dim, dim)
        self.gate, self.up = matrices(dim, 2 * dim), matrices(dim, 2 * dim)
        self.down = matrices(2 * dim, dim)
        self.head = nn.Linear(dim, words, bias=False)
        for i in range(layers):
            shape = (1, heads, length, dim // heads)
            self.register_buffer(f"cache_k{i}", torch.zeros(shape))
            self.register_buffer(f"cache_v{i}", torch.zeros(shape))
        half = dim // heads // 2
        rate = 10000 ** (-torch.arange(half) / half)
        angle = torch.arange(length)[:, None] * rate[None]
        self.register_buffer("cos", torch.cat([angle.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angle.sin()] * 2, -1))

    def norm(self, x, i):
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        return x * scale * self.norms[i]

    def turn(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, token, position):
        cos = self.cos[position][None, None]
        sin = self.sin[position][None, None]
        x = self.embed(token)
        seen = torch.arange(self.length) <= position
        for i in range(len(self.q)):
            def split(t):
                return t.reshape(1, 1, self.heads, -1).transpose(1, 2)
            h = self.norm(x, 2 * i)
            q = self.turn(split(self.q[i](h)), cos, sin)
            k = self.turn(split(self.k[i](h)), cos, sin)
            cache_k = getattr(self, f"cache_k{i}")
            cache_v = getattr(self, f"cache_v{i}")
            cache_k.index_copy_(2, position, k)
            cache_v.index_copy_(2, position, split(self.v[i](h)))
            scores = q @ cache_k.transpose(2, 3) / (self.dim // self.heads)**0.5
            scores = torch.where(seen, scores, torch.full_like(scores, -1e9))
            y = (scores.softmax(-1) @ cache_v).transpose(1, 2)
            x = x + self.o[i](y.reshape(1, 1, -1))
            h = self.norm(x, 2 * i + 1)
            x = x + self.down[i](F.silu(self.gate[i](h)) * self.up[i](h))
        return self.head(self.norm(x, 2 * len(self.q)))


def decode(model, count):
    """The calls that pick the likeliest token each time."""
    model = copy.deepcopy(model)
    token, calls = torch.tensor([[7]]), []
    for i in range(count):
        calls.append((token, torch.tensor([i])))
        token = model(*calls[-1]).argmax(-1)
    return calls


def all_models():
    """name -> (module, calls, dynamic shapes or None)"""
    torch.manual_seed(3)
    rows = [(torch.randn(1, 2, 1, 4), torch.tensor([i])) for i in (3, 0, 5, 3)]
    llama = Llama().eval()
    batch = torch.export.Dim("batch", min=1, max=6)
    free = torch.export.Dim("free")
    return {
        "mlp": (Mlp().eval(), [(torch.randn(4, 8), torch.randn(1, 1))], None),
        "cache": (KeyCache(), rows, None),
        "decay": (Decay(), [(torch.randn(3, 5),) for _ in range(4)], None),
        "two_writers": (TwoWriters(), rows, None),
        "old_state": (OldState(), [(torch.randn(2, 4),) for _ in range(3)],
                      None),
        "late_reader": (LateReader(), [(torch.randn(2, 4),)] * 3, None),
        "batch": (Batch().eval(), [(torch.randn(n, 4),) for n in (3, 6, 1, 4)],
                  {"x": {0: batch}}),
        "unbounded": (Batch().eval(), [(torch.randn(3, 4),)], {"x": {0: free}}),
        "twice": (Twice(), [(torch.randn(3, 4),)], None),
        "swapped": (Swapped(), [(torch.randn(3, 4), torch.randn(3, 4))], None),
        "half": (Half(), [(torch.randn(2, 3).half(),
                           torch.tensor([[True, False, True]] * 2),
                           torch.arange(4, dtype=torch.int32))], None),
        "llama": (llama, decode(llama, 16), None),
    }


def save_all(folder):
    """Writes NAME.pt2, NAME.calls and NAME.want."""
    for name, (module, calls, shapes) in all_models().items():
        with torch.no_grad():
            program = torch.export.export(copy.deepcopy(module), calls[0],
                                          dynamic_shapes=shapes)
            torch.export.save(program, f"{folder}/{name}.pt2")
            want = []
            for call in calls:
                result = module(*call)
                if isinstance(result, torch.Tensor):
                    result = (result,)
                want.append([t.clone() for t in result])
        torch.save(calls, f"{folder}/{name}.calls")
        torch.save(want, f"{folder}/{name}.want")
