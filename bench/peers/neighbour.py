# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Another program on the machine, which wants half of one core."""

import subprocess
import sys

# As a service under load does: a few milliseconds of work, then as long asleep. So its period is twice that.
WORK_S = 0.005
PROGRAM = f"""
import ctypes, signal, time
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
while True:
    end = time.monotonic() + {WORK_S}
    while time.monotonic() < end:
        pass
    time.sleep({WORK_S})
"""


class Neighbour:
    """Works from the beginning to the end of a `with`. Ends with its starter, however that ends."""

    def __enter__(self):
        self.child = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
