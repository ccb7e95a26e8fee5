#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer with DDP and with FSDP, from a fixed seed, on Tutti twice and on NVIDIA's NCCL once.

    python3 torch_training.py --tutti BUNDLE/bin/tutti [--ranks N] [--steps N]

What must hold: the two runs on Tutti end with the same losses and parameters, bit for bit. Against NCCL's run: bit for
bit with at most 2 ranks, since a sum of two numbers has one order only; with more ranks losses within 1e-4 of each
other, since the libraries add in different orders. --no-nccl leaves that run out (NVIDIA's takes one rank per GPU).
--cpu tries the script on Gloo. --run MODE is one run's rank; it prints its result as JSON.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys

from common import Checks, LeftOut, count_gpus, from_environment, start_ranks, RANK, WORLD

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 256, 128, 4, 2, 64, 8
MODES = ("ddp", "fsdp")
LOSS_TOLERANCE = 1e-4


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tutti", help="the tool of that name")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--no-nccl", action="store_true")
    parser.add_argument("--run", choices=MODES)
    parser.add_argument("--seconds", type=float, default=120, help="limit of each run")
    parser.add_argument("--result", help="with --run: the file for its result")
    return parser.parse_args()


def make_model(torch):
    from torch import nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.wide = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

        def forward(self, x):
            batch, length, _ = x.shape
            parts = self.mix(self.before(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            scores = parts[0] @ parts[1].transpose(-2, -1) / (WIDTH // HEADS) ** 0.5
            hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
            mixed = scores.masked_fill(hidden, float("-inf")).softmax(-1) @ parts[2]
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
            return x + self.wide(self.between(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(torch.zeros(LENGTH, WIDTH))
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.end = nn.Linear(WIDTH, VOCABULARY)

        def forward(self, words):
            x = self.words(words) + self.places
            for layer in self.layers:
                x = layer(x)
            return self.end(x)

    return Model()


def mapped_libraries():
    """The files of the libnccl that this process maps."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) == 6}
    return sorted(f for f in files if os.path.basename(f).startswith("libnccl.so"))


def run_rank(options):
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch
    import torch.distributed as dist
    torch.use_deterministic_algorithms(True)
    torch.backends.cuda.matmul.allow_tf32 = False
    rank, ranks = from_environment(RANK), from_environment(WORLD)
    device = torch.device("cpu")
    if not options.cpu:
        device = torch.device("cuda", rank % torch.cuda.device_count())
        torch.cuda.set_device(device)
    bound = {} if options.cpu else {"device_id": device}
    dist.init_process_group("gloo" if options.cpu else "nccl", rank=rank, world_size=ranks, **bound)
    torch.manual_seed(7)
    model = make_model(torch).to(device)
    if options.run == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=None if options.cpu else [device.index],
                                                          bucket_cap_mb=0.5)
    else:
        from torch.distributed.fsdp import fully_shard
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    numbers = torch.Generator().manual_seed(100 + rank)
    losses = []
    for _ in range(options.steps):
        begin = torch.randint(VOCABULARY, (BATCH, 1), generator=numbers)
        words = ((begin + 5 * torch.arange(LENGTH + 1)) % 97).to(device)
        scores = model(words[:, :-1])
        loss = torch.nn.functional.cross_entropy(scores.reshape(-1, VOCABULARY), words[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().double()
        dist.all_reduce(total)
        losses.append(total.item() / ranks)
    digest = hashlib.sha256()
    for name, parameter in sorted(model.named_parameters()):
        whole = parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter
        digest.update(name.encode() + whole.detach().cpu().numpy().tobytes())
    digests = [None] * ranks
    dist.all_gather_object(digests, digest.hexdigest())
    if rank == 0:
        with open(options.result, "w", encoding="utf-8") as file:
            json.dump({"losses": losses, "parameters": digest.hexdigest(), "alike": len(set(digests)) == 1,
                       "libraries": mapped_libraries()}, file)
    dist.destroy_process_group()


def run_job(options, mode, ranks, on_tutti, folder):
    """One run of all ranks; its result. Raises LeftOut or RuntimeError."""
    result = os.path.join(folder, "result.json")
    if os.path.exists(result):
        os.remove(result)
    command = [sys.executable, os.path.abspath(__file__)]
    if on_tutti:
        command = [options.tutti, "preload", "--require", *command]
    environment = {} if on_tutti else {"LD_PRELOAD": "", "LD_AUDIT": "", "LD_LIBRARY_PATH": ""}
    arguments = ["--run", mode, "--steps", str(options.steps), "--result", result] + (["--cpu"] if options.cpu else [])
    if not start_ranks(ranks, options.seconds, arguments, command, environment) or not os.path.exists(result):
        raise RuntimeError("the run failed")
    with open(result, encoding="utf-8") as file:
        return json.load(file)


def difference(first, second, tolerance):
    """What differs between two runs, or None. Tolerance 0: bit for bit."""
    if tolerance == 0:
        if first["losses"] != second["losses"]:
            step = next(i for i, (a, b) in enumerate(zip(first["losses"], second["losses"])) if a != b)
            return f"the loss of step {step} is {first['losses'][step]!r} and {second['losses'][step]!r}"
        return None if first["parameters"] == second["parameters"] else "the parameters differ"
    worst = max(abs(a - b) / abs(b) for a, b in zip(first["losses"], second["losses"]))
    print(f"          largest relative difference of a loss: {worst:.2e}")
    return None if worst <= tolerance else f"losses differ by {worst:.2e}, more than {tolerance:.0e}"


def check_mode(options, checks, mode, ranks, folder):
    runs = {}

    def run(name, on_tutti):
        runs[name] = run_job(options, mode, ranks, on_tutti, folder)
        losses = runs[name]["losses"]
        libraries = runs[name]["libraries"]
        print(f"          losses {losses[0]:.6f} ... {losses[-1]:.6f}, parameters {runs[name]['parameters'][:16]}, "
              f"{' and '.join(libraries) or 'no libnccl'}")
        if name == "nccl" and set(libraries) & set(runs.get("first", {}).get("libraries", [])) and not options.cpu:
            return "this run was on the same library"
        if not runs[name]["alike"]:
            return "ranks end with different parameters"
        return None if losses[-1] < losses[0] else "it does not learn"

    def compare(first, second, tolerance):
        if first not in runs or second not in runs:
            raise LeftOut("there is no such run")
        return difference(runs[first], runs[second], tolerance)

    checks.run(f"{mode}, {ranks} ranks: a run on Tutti", lambda: run("first", options.tutti is not None))
    checks.run(f"{mode}, {ranks} ranks: again", lambda: run("second", options.tutti is not None))
    checks.run(f"{mode}, {ranks} ranks: bit for bit the same", lambda: compare("first", "second", 0))
    if options.no_nccl:
        return
    checks.run(f"{mode}, {ranks} ranks: a run on NVIDIA's NCCL", lambda: run("nccl", False))
    tolerance = 0 if ranks <= 2 else LOSS_TOLERANCE
    how = f"within {tolerance:.0e}" if tolerance else "bit for bit"
    checks.run(f"{mode}, {ranks} ranks: as on NCCL, {how}", lambda: compare("first", "nccl", tolerance))


def main():
    options = parse()
    if options.run:
        run_rank(options)
        return
    ranks = options.ranks or (2 if options.cpu else count_gpus())
    if ranks == 0:
        sys.exit("there is no GPU here; --cpu tries the script without one")
    if options.tutti is None and not options.cpu:
        sys.exit("--tutti says where the tool of that name is")
    if options.tutti and subprocess.run([options.tutti, "version"], check=False).returncode != 0:
        sys.exit(f"{options.tutti} does not run")
    import tempfile
    checks = Checks("training")
    with tempfile.TemporaryDirectory() as folder:
        for mode in MODES:
            check_mode(options, checks, mode, ranks, folder)
    sys.exit(checks.end())


if __name__ == "__main__":
    main()
