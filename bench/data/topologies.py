# ruff: noqa
# fmt: off
# pyright: basic
"""Neural-network-like topology generators (CSR, undirected, integer weights).

Every generator emits *directed* synapses (src, dst, weight = expected spikes of src per
time window, so all out-edges of one neuron share a weight unless noted), then
symmetrises: w(u,v) = w(u->v)+w(v->u), self loops dropped.  Vertex ids are either in
layer order ("ordered") or randomly permuted ("shuffled") - shuffled is the hard case
for delta/varint coding and for cache locality, ordered the natural one.

usage: python topologies.py NAME [--seed S] [--shuffle] [--out DIR]
"""
import argparse, os, sys, time
import numpy as np
from numba import njit

# ------------------------------------------------------------------ CSR building
@njit(cache=True)
def _count(src, dst, n):
    deg = np.zeros(n + 1, np.int64)
    for i in range(src.size):
        if src[i] != dst[i]:
            deg[src[i] + 1] += 1
            deg[dst[i] + 1] += 1
    for i in range(n):
        deg[i + 1] += deg[i]
    return deg

@njit(cache=True)
def _fill(src, dst, w, xadj):
    n = xadj.size - 1
    pos = xadj[:-1].copy()
    adj = np.empty(xadj[n], np.int32)
    ew = np.empty(xadj[n], np.int32)
    for i in range(src.size):
        a = src[i]; b = dst[i]
        if a != b:
            adj[pos[a]] = b; ew[pos[a]] = w[i]; pos[a] += 1
            adj[pos[b]] = a; ew[pos[b]] = w[i]; pos[b] += 1
    return adj, ew

@njit(cache=True)
def _merge(xadj, adj, ew):
    """merge parallel edges, in place, sorted by neighbour"""
    n = xadj.size - 1
    nx = np.zeros(n + 1, np.int64)
    out = 0
    for u in range(n):
        s = xadj[u]; e = xadj[u + 1]
        if e > s:
            o = np.argsort(adj[s:e])
            ta = adj[s:e][o]; tw = ew[s:e][o]
            last = -1
            for j in range(e - s):
                if ta[j] == last:
                    ew[out - 1] += tw[j]
                else:
                    adj[out] = ta[j]; ew[out] = tw[j]; last = ta[j]; out += 1
        nx[u + 1] = out
    return nx, out

def build(n, src, dst, w):
    xadj = _count(src, dst, n)
    adj, ew = _fill(src, dst, w, xadj)
    nx, out = _merge(xadj, adj, ew)
    return nx, adj[:out].copy(), ew[:out].copy()

def rates(rng, n, kind="lognormal"):
    if kind == "lognormal":
        return np.clip(np.round(np.exp(rng.normal(2.0, 1.0, n))), 1, 1000).astype(np.int32)
    return np.ones(n, np.int32)

# ------------------------------------------------------------------ generators
@njit(cache=True)
def _sheet_layers(L, H, W, K, sig, plong, seed):
    np.random.seed(seed)
    n = L * H * W
    m = (L - 1) * H * W * K
    src = np.empty(m, np.int32); dst = np.empty(m, np.int32)
    p = 0
    for l in range(L - 1):
        for y in range(H):
            for x in range(W):
                u = (l * H + y) * W + x
                for k in range(K):
                    if np.random.random() < plong:
                        yy = np.random.randint(0, H); xx = np.random.randint(0, W)
                    else:
                        yy = int(round(y + np.random.normal(0, sig))) % H
                        xx = int(round(x + np.random.normal(0, sig))) % W
                    src[p] = u; dst[p] = ((l + 1) * H + yy) * W + xx; p += 1
    return src, dst

def sheet(L, H, W, K, sig, plong, seed):
    """retinotopic feed-forward sheets: L layers of HxW, K synapses to the next layer"""
    rng = np.random.default_rng(seed)
    s, d = _sheet_layers(L, H, W, K, sig, plong, seed)
    r = rates(rng, L * H * W)
    return L * H * W, s, d, r[s]

@njit(cache=True)
def _cortex(H, W, K, sig, plong, seed):
    np.random.seed(seed)
    n = H * W; m = n * K
    src = np.empty(m, np.int32); dst = np.empty(m, np.int32); p = 0
    for y in range(H):
        for x in range(W):
            for k in range(K):
                if np.random.random() < plong:
                    yy = np.random.randint(0, H); xx = np.random.randint(0, W)
                else:
                    r = -sig * np.log(1 - np.random.random())
                    a = 2 * np.pi * np.random.random()
                    yy = int(round(y + r * np.sin(a))) % H; xx = int(round(x + r * np.cos(a))) % W
                src[p] = y * W + x; dst[p] = yy * W + xx; p += 1
    return src, dst

def cortex(H, W, K, sig, plong, seed):
    """recurrent sheet, exponential distance kernel + long-range fraction"""
    rng = np.random.default_rng(seed)
    s, d = _cortex(H, W, K, sig, plong, seed)
    r = rates(rng, H * W)
    return H * W, s, d, r[s]

@njit(cache=True)
def _conv(src0, dst0, ci, hi, wi, co, ho, wo, kh, kw, st, pad, groups, src, dst, p):
    cig = ci // groups; cog = co // groups
    for o in range(co):
        g = o // cog
        for y in range(ho):
            for x in range(wo):
                v = dst0 + (o * ho + y) * wo + x
                for c in range(g * cig, (g + 1) * cig):
                    for a in range(kh):
                        iy = y * st + a - pad
                        if iy < 0 or iy >= hi: continue
                        for b in range(kw):
                            ix = x * st + b - pad
                            if ix < 0 or ix >= wi: continue
                            src[p] = src0 + (c * hi + iy) * wi + ix; dst[p] = v; p += 1
    return p

@njit(cache=True)
def _fc(s0, ni, d0, no, src, dst, p):
    for i in range(ni):
        for j in range(no):
            src[p] = s0 + i; dst[p] = d0 + j; p += 1
    return p

class Net:
    def __init__(self): self.n = 0; self.parts = []; self.shapes = []
    def inp(self, c, h, w): self.cur = (self.n, c, h, w); self.n += c*h*w; return self.cur
    def conv(self, co, k, st=1, pad=None, groups=1, frm=None):
        b, c, h, w = frm or self.cur
        pad = k // 2 if pad is None else pad
        ho = (h + 2*pad - k)//st + 1; wo = (w + 2*pad - k)//st + 1
        m = co*ho*wo*(c//groups)*k*k
        src = np.empty(m, np.int32); dst = np.empty(m, np.int32)
        d0 = self.n; self.n += co*ho*wo
        p = _conv(b, d0, c, h, w, co, ho, wo, k, k, st, pad, groups, src, dst, 0)
        self.parts.append((src[:p], dst[:p])); self.cur = (d0, co, ho, wo); return self.cur
    def pool(self, k=2, st=None):
        b, c, h, w = self.cur
        return self.conv(c, k, st or k, 0, groups=c)
    def add(self, a, b):
        # residual join: element-wise edge a -> b's neurons
        n = a[1]*a[2]*a[3]
        self.parts.append((np.arange(a[0], a[0]+n, dtype=np.int32), np.arange(b[0], b[0]+n, dtype=np.int32)))
    def fc(self, no):
        b, c, h, w = self.cur; ni = c*h*w
        src = np.empty(ni*no, np.int32); dst = np.empty(ni*no, np.int32)
        d0 = self.n; self.n += no
        _fc(b, ni, d0, no, src, dst, 0)
        self.parts.append((src, dst)); self.cur = (d0, no, 1, 1); return self.cur
    def done(self, seed):
        rng = np.random.default_rng(seed)
        s = np.concatenate([p[0] for p in self.parts]); d = np.concatenate([p[1] for p in self.parts])
        r = rates(rng, self.n)
        return self.n, s, d, r[s]

def lenet(seed, scale=1):
    N = Net(); N.inp(1, 28*scale, 28*scale); N.conv(6,5,1,0); N.pool(); N.conv(16,5,1,0); N.pool(); N.fc(120); N.fc(84); N.fc(10)
    return N.done(seed)
def alexnet(seed, hw=64, d=8):
    """AlexNet with channels divided by d, input hw x hw"""
    N = Net(); N.inp(3, hw, hw); N.conv(96//d,7,2,3); N.pool(); N.conv(256//d,5); N.pool(); N.conv(384//d,3); N.conv(384//d,3); N.conv(256//d,3); N.pool(); N.fc(4096//d//2); N.fc(4096//d//2); N.fc(100)
    return N.done(seed)
def vgg16(seed, hw=32, d=8):
    N = Net(); N.inp(3, hw, hw)
    for blk, c in ((2,64),(2,128),(3,256),(3,512),(3,512)):
        for _ in range(blk): N.conv(max(c//d,4),3)
        N.pool()
    N.fc(4096//d//2); N.fc(4096//d//2); N.fc(100)
    return N.done(seed)
def resnet(seed, hw=32, c=8, nb=3):
    N = Net(); N.inp(3, hw, hw); x = N.conv(c,3)
    for st, ch in enumerate((c,2*c,4*c)):
        for b in range(nb):
            s = 2 if (st and b == 0) else 1
            x0 = N.cur; N.conv(ch,3,s); y = N.conv(ch,3)
            if s == 1: N.add(x0, y)
            else: N.conv(ch,1,s,0,frm=x0); a = N.cur; N.add(a, y); N.cur = y
    N.pool(N.cur[2]); N.fc(10)
    return N.done(seed)
def mobilenet(seed, hw=64, c=16, blocks=8):
    N = Net(); N.inp(3, hw, hw); N.conv(c,3,2,1)
    ch = c
    for b in range(blocks):
        s = 2 if b in (1,3,5) else 1
        N.conv(ch,3,s,1,groups=ch)
        if b in (0,1,3,5): ch *= 2
        N.conv(ch,1,1,0)
    N.fc(100)
    return N.done(seed)
def mlp(seed, layers):
    N = Net(); N.inp(layers[0],1,1)
    for l in layers[1:]: N.fc(l)
    return N.done(seed)

def tiles(seed, L=24, T=16, S=32):
    """operator tiles of a transformer: L blocks, S sequence tiles x T feature tiles per GEMM;
    heavy-tailed edge weights (KiB of activations), vertex sizes vary.  Directed tile DAG."""
    rng = np.random.default_rng(seed)
    src=[];dst=[];w=[];vs=[]; n=0
    def layer(cnt, size):
        nonlocal n
        ids=np.arange(n,n+cnt); n+=cnt; vs.append(np.full(cnt,size)); return ids
    def link(a,b,wt):
        src.append(a); dst.append(b); w.append(np.full(len(a),wt))
    x=layer(S*T,4).reshape(S,T)
    for l in range(L):
        qkv=layer(S*T*3,6).reshape(3,S,T)
        for q in range(3):
            for s in range(S):
                a=np.repeat(x[s],T); b=np.tile(qkv[q,s],T); link(a,b,8)
        att=layer(S*T,8).reshape(S,T)
        for h in range(T):
            for s in range(S):
                link(np.array([qkv[0,s,h]]),np.array([att[s,h]]),64)
                ks=np.arange(0,s+1)
                link(qkv[1,ks,h],np.full(len(ks),att[s,h]),32); link(qkv[2,ks,h],np.full(len(ks),att[s,h]),32)
        o=layer(S*T,4).reshape(S,T)
        for s in range(S): link(np.repeat(att[s],T),np.tile(o[s],T),8)
        link(x.ravel(),o.ravel(),128)
        f1=layer(S*T*4,6).reshape(S,T*4); f2=layer(S*T,6).reshape(S,T)
        for s in range(S):
            link(np.repeat(o[s],4*T),np.tile(f1[s],T),8); link(np.repeat(f1[s],T),np.tile(f2[s],4*T),8)
        link(o.ravel(),f2.ravel(),128)
        x=f2
    s=np.concatenate(src).astype(np.int32); d=np.concatenate(dst).astype(np.int32); ww=np.concatenate(w)
    ww=np.maximum(1,(ww*rng.uniform(.8,1.2,len(ww)))).astype(np.int32)
    return n,s,d,ww,np.concatenate(vs).astype(np.int32)

SPECS = {  # name: (callable(seed), mesh W, mesh H)
 "lenet":      (lambda s: lenet(s), 6, 6),
 "mlp":        (lambda s: mlp(s, [784, 1000, 1000, 500, 10]), 6, 6),
 "alexnet8":   (lambda s: alexnet(s, 64, 8), 12, 12),
 "vgg8":       (lambda s: vgg16(s, 32, 8), 12, 12),
 "vgg4":       (lambda s: vgg16(s, 32, 4), 16, 16),
 "resnet20":   (lambda s: resnet(s, 32, 16, 3), 16, 16),
 "mobilenet":  (lambda s: mobilenet(s), 16, 16),
 "sheet10k":   (lambda s: sheet(10, 32, 32, 16, 1.5, .02, s), 8, 8),
 "sheet100k":  (lambda s: sheet(10, 100, 100, 32, 2.5, .02, s), 16, 16),
 "sheet1M":    (lambda s: sheet(16, 250, 250, 24, 3.0, .02, s), 32, 32),
 "cortex10k":  (lambda s: cortex(100, 100, 20, 2.0, .05, s), 8, 8),
 "cortex100k": (lambda s: cortex(320, 320, 50, 4.0, .05, s), 16, 16),
 "cortex1M":   (lambda s: cortex(1000, 1000, 20, 4.0, .05, s), 32, 32),
 "cortex1Md":  (lambda s: cortex(1000, 1000, 100, 6.0, .05, s), 32, 32),
 "cortex1Mx":  (lambda s: cortex(1000, 1000, 120, 16.0, .05, s), 32, 32),
 "tiles":      (lambda s: tiles(s, 12, 8, 16), 16, 16),
 "tilesL":     (lambda s: tiles(s, 24, 16, 32), 32, 32),
}

def directed(n, src, dst, w):
    """CSR by source of the directed synapses, self loops dropped (parallel ones kept)."""
    keep = src != dst
    src, dst, w = src[keep], dst[keep], w[keep]
    order = np.argsort(src, kind="stable")
    ptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(src, minlength=n), out=ptr[1:])
    return ptr, dst[order].astype(np.int32), w[order].astype(np.int32)

def make(name, seed=1, shuffle=False):
    f, W, H = SPECS[name]
    r = f(seed)
    n, s, d, w = r[:4]
    vw = r[4] if len(r) > 4 else np.ones(n, np.int32)
    if shuffle:
        p = np.random.default_rng(seed + 7).permutation(n).astype(np.int32)
        s = p[s]; d = p[d]; v2 = np.empty_like(vw); v2[p] = vw; vw = v2
    s = s.astype(np.int32); d = d.astype(np.int32); w = w.astype(np.int32)
    x, a, e = build(n, s, d, w)
    return x, a, e, vw, W, H, directed(n, s, d, w)

if __name__ == "__main__":
    ap = argparse.ArgumentParser(); ap.add_argument("name", choices=sorted(SPECS)); ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--shuffle", action="store_true"); ap.add_argument("--out", default="topologies")
    A = ap.parse_args(); t = time.time()
    x, a, e, vw, W, H, (sp, si, sw) = make(A.name, A.seed, A.shuffle)
    d = os.path.join(A.out, A.name + (f"_s{A.seed}" if A.seed != 1 else "") + ("_sh" if A.shuffle else "")); os.makedirs(d, exist_ok=True)
    np.savez(f"{d}/graph.npz", indptr=x, indices=a, data=e, size=vw, src_indptr=sp, src_indices=si, spikes=sw)
    with open(f"{d}/mesh.txt", "w") as out: out.write(f"{W}x{H}\n")
    print(A.name, "n", x.size-1, "undirected m", a.size//2, "avg deg", round(a.size/(x.size-1),1), "max deg", int(np.diff(x).max()), "totw", int(e.sum()//2), f"{W}x{H}", f"{time.time()-t:.1f}s", flush=True)
