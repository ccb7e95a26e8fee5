#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Draws the plots in docs/plots from the files beside this one, as the programs that measured would.

    python3 bench/results/plots.py            draws them again
    python3 bench/results/plots.py --check    changes nothing; fails where a plot differs from the measurements
"""

import argparse
import contextlib
import importlib.util
import io
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import results  # noqa: E402

FOLDER = os.path.join(results.ROOT, "docs", "plots")
HOST = "2026-11-22-epyc-2-cores/peers.json"
GPUS = "2026-11-27-h200-4-gpus/compare_72d3153.json"


def program(name):
    """bench/NAME/run.py."""
    spec = importlib.util.spec_from_file_location(f"{name}_run", os.path.join(HERE, "..", name, "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(folder):
    host, gpus = results.load(HOST), results.load(GPUS)
    times = {}
    for point in host.points:
        times.setdefault((point.ranks, point.op, point.bytes), {})[point.library] = point.us
    program("peers").write_plots(folder, host.data, times, list(dict.fromkeys(point.library for point in host.points)))
    program("gpu").write_plots(folder, {**gpus.data, "machine": gpus.machine_text}, gpus.rows)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a plot differs from the measurements")
    options = parser.parse_args(arguments)
    if not options.check:
        draw(FOLDER)
        return 0
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        draw(folder)
        wrong = []
        names = sorted(os.listdir(folder))
        for name in names:
            shown = os.path.join(FOLDER, name)
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                wanted = file.read()
            if not os.path.exists(shown) or open(shown, encoding="utf-8").read() != wanted:
                wrong.append(name)
    for name in wrong:
        print(f"docs/plots/{name}: differs from bench/results; python3 bench/results/plots.py draws it again")
    if not wrong:
        print(f"check_plots: {len(names)} plots show the measurements")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
