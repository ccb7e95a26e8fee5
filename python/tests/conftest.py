# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package: `./dev test python`. Ranks are processes, started by tutti.run."""

import os

import pytest

os.environ.setdefault("TUTTI_INIT_TIMEOUT_MS", "60000")
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(params=[1, 2, 3])
def ranks(request):
    return request.param
