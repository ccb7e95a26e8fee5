// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Times operations of Tutti and of NCCL on the same GPUs, in the same process, in turns.
//
//   tutti run -n 2 gpu_compare [--tutti FILE] [--nccl FILE] [--ops LIST] [--sizes FIRST:LAST:FACTOR]
//                              [--modes graph,stream] [--rounds N] [--json FILE] [--most-channels N] [--no-overlap]
//                              [--sweep] [--channels LIST] [--threads LIST] [--chunks LIST]
//
// --tutti: our libnccl.so.2, measured through the same C interface as NVIDIA's; without it, C++'s GpuCommunicator.
// An operation NxOP of the list, as 64xall_reduce, is a group of N of them, each of the size and with buffers of its own.
// Sizes count as nccl-tests does: the larger of the two buffers. A round is a batch of operations back to back, in one
// CUDA graph or in stream launches, between two events; its time is that of the slowest rank. A figure is the median of
// the rounds; "call" is the CPU time of a call that enqueues, in stream mode. --sweep times the listed ways of Tutti
// instead, with every algorithm and protocol that NCCL_ALGO and NCCL_PROTO allow, for the cost model.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/gpu/nccl.h"
#include "bench/gpu/operations.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/runner.h"
#include "tools/command_line.h"
#include "tools/gpu_timer.h"
#include "tools/json.h"
#include "tune/gpu_model.h"

namespace tutti::bench {
namespace {

using sys::cuda::Check;
using tools::Json;

struct Options {
  std::vector<std::string> ops = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast",
                                  "reduce",     "gather",     "scatter",        "send_recv"};
  std::string tutti, nccl = "libnccl.so.2";  // files
  std::size_t first = 8, last = std::size_t{256} << 20, factor = 4;
  std::string modes = "graph,stream";
  int rounds = 5;
  std::string json;
  bool sweep = false;
  std::vector<std::string> channels = {"1", "2", "4", "8", "16", "32", "64"}, threads = {"128", "256", "512"},
                           chunks = {"0"};
  int most_channels = 128;
  bool overlap = true;
};

using Timer = tools::GpuTimer;
using tools::OperationsFor;

// How a library runs operations as one.
using Library = std::function<Status(std::span<const Operation>, sys::cuda::Stream)>;

struct Setting {
  Communicator& communicator;
  GpuCommunicator& gpu;
  std::vector<Library> libraries;  // Tutti first
  Timer& timer;
  Buffers buffers;
  const Options& options;
};

// `rows` null: a rehearsal, of which nothing is kept.
Status CompareOne(Setting& s, const std::string& op, std::size_t bytes, bool graph, Json* rows) {
  const std::vector<Operation> o = MakeOperations(op, bytes, s.communicator, s.buffers);
  const int operations = OperationsFor(bytes * o.size());
  std::vector<Timer::Batch> batches;
  for (const Library& library : s.libraries) {
    Result<Timer::Batch> batch =
        s.timer.Prepare([&](sys::cuda::Stream stream) { return library(o, stream); }, operations, graph);
    if (!batch.ok() && batch.status().code() == Code::kUnsupported) continue;  // an older NCCL
    if (!batch.ok()) return batch.status();
    batches.push_back(std::move(*batch));
  }
  std::vector<std::vector<double>> us(s.libraries.size()), call_us(s.libraries.size());
  for (int round = 0; round < s.options.rounds; ++round) {
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const Result<Timer::Timing> time = s.timer.Time(batches[i]);
      if (!time.ok()) return time.status();
      us[i].push_back(time->us);
      call_us[i].push_back(time->call_us);
    }
  }
  for (Timer::Batch& batch : batches) s.timer.Forget(batch);
  TUTTI_RETURN_IF_ERROR(s.gpu.Check());
  if (s.communicator.rank() != 0 || rows == nullptr) return Status::Ok();
  const double tutti = Median(us[0]), nccl = us.size() > 1 ? Median(us[1]) : 0;
  const std::string way = s.gpu.Explain(o[0]);
  fmt::print("{:<19}{:<7}{:>11}{:>10.2f}{:>10.2f}{:>7.2f}", op, graph ? "graph" : "stream", bytes, tutti, nccl,
             nccl / tutti);
  Json row = {{"op", op},          {"mode", graph ? "graph" : "stream"},
              {"bytes", bytes},    {"ranks", s.communicator.ranks()},
              {"tutti_us", tutti}, {"nccl_us", nccl},
              {"way", way}};
  if (graph) {
    fmt::print("{:16}", "");
  } else {
    const double tutti_call = Median(call_us[0]), nccl_call = us.size() > 1 ? Median(call_us[1]) : 0;
    row["tutti_call_us"] = tutti_call;
    row["nccl_call_us"] = nccl_call;
    fmt::print("{:>8.2f}{:>8.2f}", tutti_call, nccl_call);
  }
  fmt::print("   {}\n", way);
  std::fflush(stdout);
  rows->Append(std::move(row));
  return Status::Ok();
}

// Every way to do an operation, in graph mode.
Status SweepWay(Setting& s, const Operation& o, const tune::GpuChoice& way, std::size_t bytes, Json& rows) {
  Result<Timer::Batch> batch = s.timer.Prepare(
      [&](sys::cuda::Stream stream) { return s.gpu.impl()->runner.RunAs(o, way, stream); }, OperationsFor(bytes), true);
  if (!batch.ok()) return batch.status();
  std::vector<double> us;
  for (int round = 0; round < s.options.rounds; ++round) {
    const Result<Timer::Timing> time = s.timer.Time(*batch);
    if (!time.ok()) return time.status();
    us.push_back(time->us);
  }
  s.timer.Forget(*batch);
  rows.Append({{"op", Name(o.kind)},
               {"bytes", bytes},
               {"algorithm", algo::Get(way.algorithm).name},
               {"protocol", proto::Name(way.protocol)},
               {"channels", way.channels},
               {"threads", way.threads},
               {"chunk", way.chunk_bytes},
               {"us", Median(us)}});
  return Status::Ok();
}

Status SweepOne(Setting& s, const std::string& op, std::size_t bytes, Json& rows) {
  constexpr std::size_t kMostLl = std::size_t{1} << 20, kLeastSimple = std::size_t{256} << 10;
  const Operation o = MakeOperations(op, bytes, s.communicator, s.buffers)[0];
  for (tune::GpuChoice way : s.gpu.impl()->planner.chooser().Candidates(o.kind, o.count * SizeOf(o.type))) {
    if (way.protocol == proto::Protocol::kLl && bytes > kMostLl) continue;
    if (way.protocol == proto::Protocol::kSimple && bytes < kLeastSimple) continue;
    for (const std::string& channels : s.options.channels) {
      for (const std::string& threads : s.options.threads) {
        for (const std::string& chunk : s.options.chunks) {
          way.channels = std::stoi(channels);
          way.threads = std::stoi(threads);
          way.chunk_bytes = ParseSize(chunk);
          if (way.protocol != proto::Protocol::kSimple && chunk != s.options.chunks[0]) continue;
          TUTTI_RETURN_IF_ERROR(SweepWay(s, o, way, bytes, rows));
        }
      }
    }
  }
  return s.gpu.Check();
}

Status RunAll(Setting& s, Json& rows) {
  if (s.communicator.rank() == 0 && !s.options.sweep) {
    fmt::print("{:<19}{:<7}{:>11}{:>10}{:>10}{:>7}{:>8}{:>8}   {}\n", "operation", "mode", "bytes", "Tutti us",
               "NCCL us", "ratio", "call", "call", "Tutti's way");
  }
  // Clocks rise with work: some tens of milliseconds of it first.
  const Operation warm =
      MakeOperations("all_reduce", std::min(s.options.last, std::size_t{4} << 20), s.communicator, s.buffers)[0];
  constexpr int kWarmUps = 2000;
  for (int i = 0; i < kWarmUps; ++i) TUTTI_RETURN_IF_ERROR(s.gpu.Run(warm, s.timer.stream()));
  // The first figures of a process were seen twice as large as the same figures later.
  const auto modes = Split(s.options.modes, ',');
  for (const std::string& mode : modes) {
    if (s.options.sweep) break;
    TUTTI_RETURN_IF_ERROR(CompareOne(s, s.options.ops[0], s.options.first, mode == "graph", nullptr));
  }
  for (const std::string& op : s.options.ops) {
    for (std::size_t bytes = s.options.first; bytes <= s.options.last; bytes *= s.options.factor) {
      if (s.options.sweep) {
        TUTTI_RETURN_IF_ERROR(SweepOne(s, op, bytes, rows));
        continue;
      }
      for (const std::string& mode : modes) {
        TUTTI_RETURN_IF_ERROR(CompareOne(s, op, bytes, mode == "graph", &rows));
      }
    }
  }
  return Status::Ok();
}

Status Main(const Options& options) {
  Result<Place> place = FindPlace();
  if (!place.ok()) return place.status();
  Communicator& communicator = place->communicator;
  const sys::cuda::Driver& d = *place->driver;
  Result<GpuCommunicator> gpu = GpuCommunicator::Create(
      communicator,
      {.device = place->gpu(), .max_channels = options.most_channels, .overlap_launches = options.overlap});
  if (!gpu.ok()) return gpu.status();
  // NVIDIA's first: once ours is loaded, a search for its bare name finds ours.
  std::optional<Nccl> nccl, tutti;
  if (!options.sweep) {
    Result<Nccl> made = Nccl::Create(communicator, options.nccl);
    if (communicator.rank() == 0) {
      fmt::print("{} ranks on {} GPUs; NCCL: {}\n", communicator.ranks(), place->gpus,
                 made.ok() ? fmt::format("{}, {}", made->version(), made->file()) : made.status().ToString());
    }
    if (made.ok()) nccl = std::move(*made);
  }
  if (!options.tutti.empty()) {
    Result<Nccl> made = Nccl::Create(communicator, options.tutti);
    if (!made.ok()) return made.status();
    if (communicator.rank() == 0) fmt::print("Tutti: {}\n", made->file());
    tutti = std::move(*made);
  }
  sys::cuda::Address in = 0, out = 0;
  std::size_t bytes = options.last;
  for (const std::string& op : options.ops) {
    bytes = std::max(bytes, std::max(options.last, kLeastStride) * static_cast<std::size_t>(ParseSeveral(op).items));
  }
  TUTTI_RETURN_IF_ERROR(Check(d, d.MemAlloc(&in, bytes), "device memory"));
  TUTTI_RETURN_IF_ERROR(Check(d, d.MemAlloc(&out, bytes), "device memory"));
  // Ordinary numbers rather than zeros.
  TUTTI_RETURN_IF_ERROR(Check(d, d.MemsetD8(in, 0x3b, bytes), "filling"));
  TUTTI_RETURN_IF_ERROR(Check(d, d.MemsetD8(out, 0x3b, bytes), "filling"));
  Timer timer(communicator, d);
  std::vector<Library> libraries;
  if (tutti) {
    libraries.emplace_back([&](auto operations, auto stream) { return tutti->RunGroup(operations, stream); });
  } else {
    libraries.emplace_back([&](auto operations, auto stream) { return gpu->RunGroup(operations, stream); });
  }
  if (nccl) {
    libraries.emplace_back([&](auto operations, auto stream) { return nccl->RunGroup(operations, stream); });
  }
  Setting setting{
      communicator, *gpu, libraries, timer, {reinterpret_cast<std::byte*>(in), reinterpret_cast<std::byte*>(out)},
      options};
  Json rows = Json::Array();
  const Status status = RunAll(setting, rows);
  if (communicator.rank() == 0 && !options.json.empty()) std::ofstream(options.json) << rows.Dump(0) << "\n";
  d.MemFree(in);
  d.MemFree(out);
  return status;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  tutti::bench::Options options;
  std::string sizes;
  bool no_overlap = false;
  tutti::tools::CommandLine line("Times operations of Tutti and of NCCL, in turns.", "gpu_compare");
  line.Add("--ops", options.ops, "as all_reduce, 8xall_reduce, send_recv").SplitAtCommas();
  line.Add("--sizes", sizes, "FIRST:LAST:FACTOR");
  line.Add("--tutti", options.tutti, "our libnccl.so.2; without it C++'s GpuCommunicator");
  line.Add("--nccl", options.nccl, "the other libnccl.so.2");
  line.Add("--modes", options.modes, "graph, stream or both");
  line.Add("--rounds", options.rounds, "for the medians");
  line.Add("--json", options.json, "a file for the figures");
  line.Add("--most-channels", options.most_channels, "of GpuCommunicator");
  line.AddFlag("--no-overlap", no_overlap, "GpuCommunicator's launches do not overlap");
  line.AddFlag("--sweep", options.sweep, "time the listed ways of Tutti instead");
  line.Add("--channels", options.channels, "of the sweep").SplitAtCommas();
  line.Add("--threads", options.threads, "of the sweep").SplitAtCommas();
  line.Add("--chunks", options.chunks, "of the sweep").SplitAtCommas();
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  options.overlap = !no_overlap;
  if (!sizes.empty()) {
    const std::vector<std::string> parts = tutti::bench::Split(sizes, ':');
    options.first = tutti::bench::ParseSize(parts[0]);
    options.last = tutti::bench::ParseSize(parts.size() > 1 ? parts[1] : parts[0]);
    options.factor = parts.size() > 2 ? tutti::bench::ParseSize(parts[2]) : 4;
  }
  for (const std::string& op : options.ops) {
    if (tutti::bench::IsOperation(op)) continue;
    fmt::print(stderr, "--ops: there is no operation {}; say all_reduce, 8xall_reduce, send_recv or the like\n", op);
    return 2;
  }
  const tutti::Status status = tutti::bench::Main(options);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}
