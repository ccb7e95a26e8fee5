#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's torchfrtrace on flight records of a campaign, and notes whom it names.

    diag_campaign --hosts 100 --flights FOLDER ...
    python3 tests/diag/torchfrtrace.py FOLDER > flights_1.json     # by a Python that has torch

FOLDER has a folder for each case, by its seed. torchfrtrace is run as it is, first as a user would and, where it does not go on without
the records of all ranks, with --allow-incomplete-ranks. Named is who is in its lines "missing ranks: {...}" and "Culprit rank N". The file is
one for bench/results.
"""

import contextlib
import datetime
import io
import json
import logging
import os
import re
import sys

import torch
from torch.distributed.flight_recorder import fr_trace


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return f"{line.split(': ', 1)[1].strip()}, {os.cpu_count()} cores"
    return "an unknown machine"


def run(folder, more):
    """What it writes, and the error that it ends with, or None."""
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    logger = logging.getLogger("Flight Recorder")
    logger.addHandler(handler)
    error = None
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            fr_trace.main([folder, "-p", "rank_", *more])
    except SystemExit as end:
        error = None if not end.code else f"exit code {end.code}"
    except Exception as failed:  # whatever it is, it is what a user would see
        error = f"{type(failed).__name__}: {failed}"
    finally:
        logger.removeHandler(handler)
    return output.getvalue(), error


def named(text):
    ranks = set()
    for found in re.findall(r"missing ranks: \{([^}]*)\}", text):
        ranks.update(int(rank) for rank in found.split(","))
    ranks.update(int(rank) for rank in re.findall(r"Culprit rank (\d+)", text))
    return sorted(ranks)


def row(folder):
    path = os.path.join(sys.argv[1], folder)
    if not os.listdir(path):
        return {"seed": int(folder), "named": [], "error": "there is no flight record"}
    text, error = run(path, [])
    incomplete = error is not None or "--allow-incomplete-ranks" in text
    if incomplete:
        text, error = run(path, ["--allow-incomplete-ranks"])
    result = {"seed": int(folder), "named": named(text)}
    if incomplete:
        result["incomplete"] = True
    if error:
        result["error"] = error
    return result


def main():
    logging.getLogger("Flight Recorder").handlers.clear()
    folders = sorted((name for name in os.listdir(sys.argv[1]) if name.isdigit()), key=int)
    head = {"kind": "flights", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M"),
            "machine": machine(), "command": "tests/diag/torchfrtrace.py FOLDER", "revision": None,
            "recorded_in": "the commit that has this file", "versions": {"torch": torch.__version__}}
    print(json.dumps(head, indent=1)[:-2] + ',\n "rows": [')
    print(",\n".join("  " + json.dumps(row(folder)) for folder in folders))
    print(" ]\n}")


if __name__ == "__main__":
    main()
