#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of measurements on the pages, from the files beside this one.

    python3 bench/results/tables.py            brings the pages up to date
    python3 bench/results/tables.py --check    changes nothing; fails where a page differs from the measurements

A page of docs/ holds a table between `<!-- results: NAME -->` and `<!-- end -->`. NAME is one of TABLES below. What stands
between the two lines is overwritten, so what is to be said about a table stands outside.
"""

import argparse
import difflib
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import diagnosis_tables as diagnosis  # noqa: E402
import gpu_tables as gpu  # noqa: E402
import host_tables as host  # noqa: E402
import python_tables as python  # noqa: E402
import results  # noqa: E402
from measured import Measured  # noqa: E402
from results import ResultsError  # noqa: E402

MARKED = re.compile(r"(<!-- results: (\S+) -->\n)(.*?)(<!-- end -->)", re.S)
TABLES = {
    "host-goals": host.host_goals, "host-ratios": host.host_ratios, "host-runs": host.host_runs, "choice": host.choice,
    "choice-runs": host.choice_runs, "c-interface": host.c_interface, "hosts-goals": host.hosts_goals,
    "hosts-ratios": host.hosts_ratios, "hosts-sizes": host.hosts_sizes, "hosts-gpu-sizes": host.hosts_gpu_sizes,
    "init": host.init, "walks": host.walks, "cards": host.cards, "gpu-ratios": gpu.ratios_in_graphs, "gpu-ratios-whole": gpu.ratios_whole,
    "gpu-goals": gpu.goals_missed, "gpu-beside-products": gpu.beside_products, "gpu-groups": gpu.groups,
    "jax": python.jax, "torch": python.torch, "diagnosis-hosts": diagnosis.hosts, "diagnosis-misses": diagnosis.misses, "diagnosis-shapes": diagnosis.shapes,
    "diagnosis-model": lambda measured: diagnosis.others(measured, "model"),
    "diagnosis-real": lambda measured: diagnosis.others(measured, "real"), "diagnosis-sentences": diagnosis.sentences,
    "diagnosis-tools": diagnosis.tools, "diagnosis-gpus": diagnosis.gpus, "diagnosis-soak": diagnosis.soak, "diagnosis-hours": diagnosis.hours,
    "gpu-windows": gpu.windows, "gpu-blocks": gpu.blocks_of_relays,
}


def filled(text, measured, way):
    """A page's text with its tables as they should be. `way`: from the page to this folder."""
    def fill(match):
        if match[2] not in TABLES:
            raise ResultsError(f"there is no table '{match[2]}'; tables: {' '.join(TABLES)}")
        return match[1] + TABLES[match[2]](measured).replace("{results}", way) + match[4]

    if text.count("<!-- results:") != len(MARKED.findall(text)):
        raise ResultsError("a line '<!-- results: NAME -->' has no '<!-- end -->' below it")
    return MARKED.sub(fill, text)


def pages(root):
    return sorted(glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True))


def main(arguments=None, root=results.ROOT, folder=HERE):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a page differs from the measurements")
    options = parser.parse_args(arguments)
    try:
        measured = Measured(results.load_all(folder))
    except ResultsError as error:
        print(error)
        return 1
    wrong, tables = 0, 0
    for path in pages(root):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        name = os.path.relpath(path, root).replace(os.sep, "/")
        try:
            wanted = filled(text, measured, os.path.relpath(folder, os.path.dirname(path)).replace(os.sep, "/"))
        except ResultsError as error:
            print(f"{name}: {error}")
            wrong += 1
            continue
        tables += len(MARKED.findall(text))
        if wanted == text:
            continue
        if options.check:
            wrong += 1
            difference = list(difflib.unified_diff(text.splitlines(), wanted.splitlines(), name, "the measurements", n=0, lineterm=""))
            print("\n".join(difference[:20]))
            print(f"{name}: differs from bench/results; python3 bench/results/tables.py brings it up to date")
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(wanted)
            print(f"{name}: brought up to date")
    if options.check and not wrong:
        print(f"check_results: {len(measured.runs)} files of results, {tables} tables on the pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
