# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""python -m tutti: shows that it works here, and how fast."""

from __future__ import annotations

import argparse
import array
import sys
import time
from collections.abc import Sequence

from . import Communicator, __version__, run


_BATCH_S = 0.1


def _measure(comm: Communicator, largest: int) -> list[tuple[int, float, bool]]:
    """Bytes, microseconds of one all_reduce, and whether its result was right."""
    rows = []
    size = 8
    while size <= largest:
        n = size // 4
        x = array.array("f", [float(comm.rank + 1)]) * n
        out = array.array("f", [0.0]) * n
        begin = time.perf_counter()
        for _ in range(5):
            comm.all_reduce(x, out=out)
        # The same number on all ranks, and so many that a batch is short even where ranks outnumber the free cores.
        times = max(5, min(20000, int(5 * _BATCH_S / comm.all_reduce(time.perf_counter() - begin, "max"))))
        best = float("inf")
        for _ in range(3):
            comm.barrier()
            begin = time.perf_counter()
            for _ in range(times):
                comm.all_reduce(x, out=out)
            best = min(best, (time.perf_counter() - begin) / times)
        want = float(comm.size * (comm.size + 1) // 2)
        right = comm.all_reduce(int(out[0] == want and out[n - 1] == want and out[n // 2] == want), "min") == 1
        rows.append((size, comm.all_reduce(best * 1e6, "max"), right))
        size *= 8
    return rows


def _demo(ranks: int, largest: int) -> int:
    print(f"Tutti {__version__}: all_reduce of float32 between {ranks} processes of this machine, which tutti.run has started.\n")
    rows = run(_measure, ranks=ranks, args=(largest,))[0]
    print(f"{'bytes':>12} {'microseconds':>13} {'GB/s':>8}")
    for size, us, _ in rows:
        print(f"{size:>12} {us:>13.2f} {size / us / 1e3:>8.2f}")
    if not all(right for _, _, right in rows):
        print("\nResults were wrong; please report this, with the output of `tutti doctor`.", file=sys.stderr)
        return 1
    print("\nTime is that of the slowest rank; every result was right. In a program: import tutti; comm = tutti.init()")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tutti", description="Collective communication between processes.",
                                     epilog="example: python -m tutti demo --ranks 4")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="starts ranks on this machine and measures all_reduce between them")
    demo.add_argument("--ranks", type=int, default=4, help="how many (default 4)")
    demo.add_argument("--largest", type=int, default=16 << 20, help="bytes of the largest array (default 16 MiB)")
    options = parser.parse_args(arguments)
    return _demo(options.ranks, options.largest)


if __name__ == "__main__":
    sys.exit(main())
