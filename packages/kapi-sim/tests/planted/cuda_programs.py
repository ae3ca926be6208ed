"""Programs in the words of numba.cuda."""

from __future__ import annotations

import numpy as np

from planted.program import BARRIER, BOUNDS, DEADLOCK, RACE, UNWRITTEN, Program

__all__ = ["PROGRAMS"]

PROGRAMS = {
    "tree-sum": Program(
        (2, 8),
        lambda: (np.ones(16), np.zeros(2)),
        """
def f(a,out):
    s=cuda.shared.array(8,np.float64)
    t=cuda.threadIdx.x
    i=cuda.grid(1)
    s[t]=a[i]
    cuda.syncthreads() #B1
    n=4
    while n>0:
        if t<n:
            s[t]+=s[t+n]
        cuda.syncthreads() #B2
        n//=2
    if t==0:
        out[cuda.blockIdx.x]=s[0]
""",
        {
            "no first barrier": ("cuda.syncthreads() #B1", "pass", RACE),
            "no second barrier": ("cuda.syncthreads() #B2", "pass", RACE),
            "some alone": ("cuda.syncthreads() #B2", "if t<n: cuda.syncthreads()", BARRIER),
            "beyond": ("s[t+n]", "s[t+n+4]", BOUNDS),
            "nobody wrote": ("s[t]=a[i]", "pass", UNWRITTEN),
            "before the first": ("a[i]", "a[i-1]", BOUNDS),
        },
    ),
    "scan": Program(
        (1, 8),
        lambda: (np.arange(8.0), np.zeros(8)),
        """
def f(a,out):
    s=cuda.shared.array((2,8),np.float64)
    t=cuda.threadIdx.x
    s[0,t]=a[t]
    cuda.syncthreads() #B1
    p=0
    d=1
    while d<8:
        if t>=d:
            s[1-p,t]=s[p,t]+s[p,t-d]
        else:
            s[1-p,t]=s[p,t]
        cuda.syncthreads() #B2
        p=1-p
        d*=2
    out[t]=s[p,t]
""",
        {
            "no first barrier": ("cuda.syncthreads() #B1", "pass", RACE),
            "no second barrier": ("cuda.syncthreads() #B2", "pass", RACE),
            "in place": ("s[1-p,t]=s[p,t]+", "s[p,t]=s[p,t]+", RACE),
            "one side only": ("            s[1-p,t]=s[p,t]\n        cuda", "            pass\n        cuda", UNWRITTEN),
            "before the first": ("if t>=d:", "if t>=0:", BOUNDS),
        },
    ),
    "transpose": Program(
        ((2, 2), (4, 4)),
        lambda: (np.arange(64.0).reshape(8, 8), np.zeros((8, 8))),
        """
def f(a,out):
    s=cuda.shared.array((4,5),np.float64)
    x,y=cuda.grid(2)
    s[cuda.threadIdx.y,cuda.threadIdx.x]=a[y,x]
    cuda.syncthreads() #B1
    bx,by=cuda.blockIdx.x*4,cuda.blockIdx.y*4
    out[bx+cuda.threadIdx.y,by+cuda.threadIdx.x]=s[cuda.threadIdx.x,cuda.threadIdx.y]
""",
        {
            "no first barrier": ("cuda.syncthreads() #B1", "pass", RACE),
            "blocks write one": ("by+cuda.threadIdx.x", "cuda.threadIdx.x", RACE),
            "the padding": (
                "s[cuda.threadIdx.x,cuda.threadIdx.y]",
                "s[cuda.threadIdx.x,cuda.threadIdx.y+2]",
                (BOUNDS, UNWRITTEN),
            ),
        },
    ),
    "histogram": Program(
        (2, 8),
        lambda: (np.arange(16, dtype=np.int32) % 4, np.zeros(4, np.int32)),
        """
def f(a,h):
    s=cuda.shared.array(4,np.int32)
    t=cuda.threadIdx.x
    if t<4:
        s[t]=0
    cuda.syncthreads() #B1
    cuda.atomic.add(s,a[cuda.grid(1)],1)
    cuda.syncthreads() #B2
    if t<4:
        cuda.atomic.add(h,t,s[t])
""",
        {
            "no first barrier": ("cuda.syncthreads() #B1", "pass", RACE),
            "no second barrier": ("cuda.syncthreads() #B2", "pass", RACE),
            "counted plainly": ("cuda.atomic.add(s,a[cuda.grid(1)],1)", "s[a[cuda.grid(1)]]+=1", RACE),
            "added plainly": ("cuda.atomic.add(h,t,s[t])", "h[t]+=s[t]", RACE),
            "nobody wrote": ("        s[t]=0", "        pass", UNWRITTEN),
            "beyond": ("a[cuda.grid(1)],1", "a[cuda.grid(1)]+1,1", BOUNDS),
        },
    ),
    "shuffles": Program(
        (1, 32),
        lambda: (np.arange(32, dtype=np.int32), np.zeros(1, np.int32)),
        """
def f(a,out):
    t=cuda.threadIdx.x
    v=a[t]
    d=16
    while d>0:
        v+=cuda.shfl_down_sync(0xffffffff,v,d)
        d//=2
    if t==0:
        out[0]=v
""",
        {
            "some alone": ("v+=cuda", "if t<d: v+=cuda", BARRIER),
            "all write": ("    if t==0:\n        out[0]=v", "    out[t//16]=v", (BOUNDS, RACE)),
            "all write one": ("    if t==0:\n        out[0]=v", "    out[0]=v", RACE),
        },
    ),
    "last-block": Program(
        (3, 4),
        lambda: (np.ones(12), np.zeros(3), np.zeros(1, np.int32), np.zeros(1)),
        """
def f(a,part,count,out):
    s=cuda.shared.array(4,np.float64)
    last=cuda.shared.array(1,np.int32)
    t=cuda.threadIdx.x
    s[t]=a[cuda.grid(1)]
    cuda.syncthreads() #B0
    if t==0:
        part[cuda.blockIdx.x]=s[0]+s[1]+s[2]+s[3]
        cuda.threadfence()
        last[0]=cuda.atomic.add(count,0,1)
    cuda.syncthreads() #B1
    if last[0]==cuda.gridDim.x-1:
        cuda.threadfence()
        if t==0:
            out[0]=part[0]+part[1]+part[2]
""",
        {
            "no barrier after the copy": ("cuda.syncthreads() #B0", "pass", RACE),
            "no first barrier": ("cuda.syncthreads() #B1", "pass", RACE),
            "no fence before": ("        cuda.threadfence()\n        last", "        last", RACE),
            "no fence after": ("        cuda.threadfence()\n        if t==0", "        if t==0", RACE),
            "counted plainly": ("last[0]=cuda.atomic.add(count,0,1)", "last[0]=count[0]; count[0]+=1", RACE),
        },
    ),
    "last-block-of-threads": Program(
        (3, 4),
        lambda: (np.ones(12), np.zeros(12), np.zeros(1, np.int32), np.zeros(4)),
        """
def f(a,part,count,out):
    last=cuda.shared.array(1,np.int32)
    t=cuda.threadIdx.x
    part[cuda.grid(1)]=a[cuda.grid(1)]
    cuda.threadfence() #F0
    cuda.syncthreads() #B0
    if t==0:
        last[0]=cuda.atomic.add(count,0,1)
    cuda.syncthreads() #B1
    if last[0]==cuda.gridDim.x-1:
        cuda.threadfence() #F1
        out[t]=part[t]+part[t+4]+part[t+8]
""",
        {
            "no fence before": ("cuda.threadfence() #F0", "pass", RACE),
            "no fence after": ("cuda.threadfence() #F1", "pass", RACE),
            "a fence before for the block": ("cuda.threadfence() #F0", "cuda.threadfence_block()", RACE),
            "a fence after for the block": ("cuda.threadfence() #F1", "cuda.threadfence_block()", RACE),
            "one thread's fence before": ("cuda.threadfence() #F0", "if t==0: cuda.threadfence()", RACE),
            "one thread's fence after": ("cuda.threadfence() #F1", "if t==0: cuda.threadfence()", RACE),
            "fence before the write": (
                "    part[cuda.grid(1)]=a[cuda.grid(1)]\n    cuda.threadfence() #F0",
                "    cuda.threadfence()\n    part[cuda.grid(1)]=a[cuda.grid(1)]",
                RACE,
            ),
            "fence of another thread behind the barrier": (
                "    cuda.threadfence() #F0\n    cuda.syncthreads() #B0",
                "    cuda.syncthreads()\n    if t==1: cuda.threadfence()",
                RACE,
            ),
            "no barrier before": ("cuda.syncthreads() #B0", "pass", RACE),
            "no barrier after": ("cuda.syncthreads() #B1", "pass", (RACE, UNWRITTEN)),
            "counted plainly": ("last[0]=cuda.atomic.add(count,0,1)", "last[0]=count[0]; count[0]+=1", RACE),
        },
    ),
    "last-block-fenced-once": Program(
        (3, 4),
        lambda: (np.zeros(12), np.zeros(1, np.int32), np.zeros(4)),
        """
def f(part,count,out):
    last=cuda.shared.array(1,np.int32)
    t=cuda.threadIdx.x
    part[cuda.grid(1)]=t
    cuda.syncthreads() #B0
    if t==1:
        cuda.threadfence() #F0
    cuda.threadfence_block()
    cuda.syncwarp() #B1
    if t==0:
        last[0]=cuda.atomic.add(count,0,1)
    cuda.syncwarp() #B2
    if t==2:
        cuda.threadfence() #F1
    cuda.syncthreads() #B3
    if last[0]==cuda.gridDim.x-1:
        out[t]=part[t]+part[t+4]+part[t+8]
""",
        {
            "no barrier ahead of the fence": ("cuda.syncthreads() #B0", "pass", RACE),
            "no barrier behind the fence": ("cuda.syncwarp() #B1", "pass", RACE),
            "no barrier ahead of the other fence": ("cuda.syncwarp() #B2", "pass", RACE),
            "no barrier behind the other fence": ("cuda.syncthreads() #B3", "pass", RACE),
            "no first fence": ("cuda.threadfence() #F0", "pass", RACE),
            "no second fence": ("cuda.threadfence() #F1", "pass", RACE),
        },
    ),
    "lock": Program(
        (4, 1),
        lambda: (np.zeros(1, np.int32), np.zeros(1)),
        """
def f(m,t):
    while cuda.atomic.cas(m,0,0,1)!=0:
        pass
    cuda.threadfence() #F1
    t[0]+=1
    cuda.threadfence() #F2
    cuda.atomic.exch(m,0,0)
""",
        {
            "no first fence": ("cuda.threadfence() #F1", "pass", RACE),
            "no second fence": ("cuda.threadfence() #F2", "pass", RACE),
            "never given back": ("cuda.atomic.exch(m,0,0)", "pass", DEADLOCK),
            "waits for another block": (
                "while cuda.atomic.cas(m,0,0,1)!=0:",
                "while cuda.atomic.cas(m,0,cuda.blockIdx.x,1)!=cuda.blockIdx.x:",
                DEADLOCK,
            ),
        },
    ),
    "stencil": Program(
        (2, 4),
        lambda: (np.arange(10.0), np.zeros(8)),
        """
def f(a,out):
    s=cuda.shared.array(6,np.float64)
    t=cuda.threadIdx.x
    i=cuda.grid(1)
    s[t+1]=a[i+1]
    if t==0:
        s[0]=a[i]
    if t==3:
        s[5]=a[i+2]
    cuda.syncthreads() #B1
    out[i]=s[t]+s[t+1]+s[t+2]
""",
        {
            "no first barrier": ("cuda.syncthreads() #B1", "pass", RACE),
            "no edge": ("if t==3:", "if t==4:", UNWRITTEN),
            "beyond": ("s[t+2]", "s[t+3]", BOUNDS),
            "no edge of the first": ("if t==0:", "if t==0 and i>0:", UNWRITTEN),
        },
    ),
    "flag": Program(
        (2, 1),
        lambda: (np.zeros(1, np.int32), np.zeros(1), np.zeros(1)),
        """
def f(flag,d,out):
    if cuda.blockIdx.x==0:
        d[0]=1
        cuda.threadfence() #F1
        cuda.atomic.exch(flag,0,1)
    else:
        if cuda.atomic.add(flag,0,0)==1:
            cuda.threadfence() #F2
            out[0]=d[0]
""",
        {
            "no first fence": ("cuda.threadfence() #F1", "pass", RACE),
            "no second fence": ("cuda.threadfence() #F2", "pass", RACE),
            "waits for another block": (
                "if cuda.atomic.add(flag,0,0)==1:",
                "while cuda.atomic.add(flag,0,0)!=1:\n            pass\n        if True:",
                DEADLOCK,
            ),
            "plain flag": ("cuda.atomic.exch(flag,0,1)", "flag[0]=1", RACE),
            "sent too early": (
                "        d[0]=1\n        cuda.threadfence() #F1\n        cuda.atomic.exch(flag,0,1)",
                "        cuda.threadfence()\n        cuda.atomic.exch(flag,0,1)\n        d[0]=1",
                RACE,
            ),
        },
    ),
    "local-array": Program(
        (1, 4),
        lambda: (np.zeros(4),),
        """
def f(a):
    p=cuda.local.array(4,np.float64)
    for j in range(4):
        p[j]=j
    a[cuda.threadIdx.x]=p[cuda.threadIdx.x]
""",
        {
            "filled in part": ("range(4)", "range(3)", UNWRITTEN),
            "beyond": ("p[cuda.threadIdx.x]", "p[cuda.threadIdx.x+1]", BOUNDS),
            "one result": ("a[cuda.threadIdx.x]=", "a[0]=", RACE),
        },
    ),
}
"""By name; of each it is known that nothing is wrong with it."""
