#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles every header alone, and twice in one file: each must include what it uses and have a guard.

    scripts/check_headers.py [regex]      only headers whose path matches

A header that passed is not compiled again until something it includes changes (build/check_headers.json).
"""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
CACHE = os.path.join(ROOT, "build", "check_headers.json")
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-fvisibility=hidden", "-I", "include", "-I", "src", "-I", "."]
COMPILER = os.environ.get("CXX", "g++")


def headers(pattern):
    for top in ("include", "src", "tools", "tests", "bench"):
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if name.endswith(".h") and re.search(pattern, path):
                    yield path


def digest(paths):
    """Of the contents of files; None when one is gone."""
    total = hashlib.sha256()
    for path in paths:
        try:
            with open(os.path.join(ROOT, path), "rb") as file:
                total.update(hashlib.sha256(file.read()).digest())
        except OSError:
            return None
    return total.hexdigest()


def compile_alone(header):
    """Compiler output (empty when all is well) and the project's files that were read."""
    source = f'#include "{header}"\n#include "{header}"\n'
    command = [COMPILER, *FLAGS, "-fsyntax-only", "-MD", "-MF", "/dev/stdout", "-x", "c++", "-"]
    done = subprocess.run(command, input=source, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        return done.stderr or f"{COMPILER} failed with status {done.returncode}", []
    read = [word for word in done.stdout.replace("\\\n", " ").split()[1:] if not os.path.isabs(word)]
    return "", sorted({os.path.normpath(path) for path in read if path != "-"})


def main():
    wanted = list(headers(sys.argv[1] if len(sys.argv) > 1 else ""))
    try:
        with open(CACHE, encoding="utf-8") as file:
            cache = json.load(file)
    except (OSError, ValueError):
        cache = {}
    key = " ".join([COMPILER, *FLAGS])
    if cache.get("key") != key:
        cache = {"key": key, "passed": {}}
    passed = cache["passed"]
    todo = [h for h in wanted if h not in passed or digest(passed[h]["read"]) != passed[h]["digest"]]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 2)) as pool:
        for header, (output, read) in zip(todo, pool.map(compile_alone, todo)):
            passed.pop(header, None)
            if output:
                failed += 1
                print(f"{header}: does not compile alone, or twice:\n{output}")
            else:
                passed[header] = {"read": read, "digest": digest(read)}
    os.makedirs(os.path.dirname(CACHE), exist_ok=True)
    with open(CACHE, "w", encoding="utf-8") as file:
        json.dump(cache, file)
    if failed:
        print(f"check_headers: {failed} of {len(wanted)} headers fail")
        return 1
    print(f"check_headers: {len(wanted)} headers compile alone ({len(wanted) - len(todo)} unchanged since they did)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
