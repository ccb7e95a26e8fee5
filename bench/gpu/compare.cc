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

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/gpu/nccl.h"
#include "bench/gpu/operations.h"
#include "comm/gpu_impl.h"
#include "sys/clock.h"

namespace tutti::bench {
namespace {

using sys::cuda::Check;

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

using Enqueue = std::function<Status(sys::cuda::Stream)>;

// One GPU's side of the measurement.
class Timer {
 public:
  Timer(Communicator& communicator, const sys::cuda::Driver& driver) : communicator_(communicator), d_(driver) {
    d_.StreamCreate(&stream_, sys::cuda::kNonBlocking);
    d_.EventCreate(&begin_, 0);
    d_.EventCreate(&end_, 0);
  }

  sys::cuda::Stream stream() const { return stream_; }

  // Prepares a batch: in graph mode captured once. Runs it once to warm up.
  struct Batch {
    Enqueue enqueue;
    int operations = 1;
    sys::cuda::GraphExec graph = nullptr;
  };
  Result<Batch> Prepare(Enqueue enqueue, int operations, bool graph) {
    Batch batch{.enqueue = std::move(enqueue), .operations = operations};
    for (int i = 0; i < 2; ++i) TUTTI_RETURN_IF_ERROR(batch.enqueue(stream_));
    TUTTI_RETURN_IF_ERROR(Check(d_, d_.StreamSynchronize(stream_), "warming up"));
    if (!graph) return batch;
    sys::cuda::Graph captured = nullptr;
    TUTTI_RETURN_IF_ERROR(Check(d_, d_.StreamBeginCapture(stream_, sys::cuda::kThreadLocalCapture), "capturing"));
    Status status = Status::Ok();
    for (int i = 0; i < operations && status.ok(); ++i) status = batch.enqueue(stream_);
    TUTTI_RETURN_IF_ERROR(Check(d_, d_.StreamEndCapture(stream_, &captured), "ending a capture"));
    TUTTI_RETURN_IF_ERROR(status);
    TUTTI_RETURN_IF_ERROR(Check(d_, d_.GraphInstantiate(&batch.graph, captured, 0), "a graph"));
    d_.GraphDestroy(captured);
    return batch;
  }
  void Forget(Batch& batch) {
    if (batch.graph != nullptr) d_.GraphExecDestroy(batch.graph);
    batch.graph = nullptr;
  }

  // Microseconds per operation, of the slowest rank.
  struct Timing {
    double us = 0;
    double call_us = 0;  // the CPU's time in stream mode
  };
  Result<Timing> Time(const Batch& batch) {
    TUTTI_RETURN_IF_ERROR(communicator_.Run(Barrier()));
    d_.EventRecord(begin_, stream_);
    const std::int64_t begin_ns = sys::NowNs();
    if (batch.graph != nullptr) {
      TUTTI_RETURN_IF_ERROR(Check(d_, d_.GraphLaunch(batch.graph, stream_), "replaying a graph"));
    } else {
      for (int i = 0; i < batch.operations; ++i) TUTTI_RETURN_IF_ERROR(batch.enqueue(stream_));
    }
    const std::int64_t called_ns = sys::NowNs() - begin_ns;
    d_.EventRecord(end_, stream_);
    TUTTI_RETURN_IF_ERROR(Check(d_, d_.EventSynchronize(end_), "timing"));
    float ms = 0;
    d_.EventElapsedTime(&ms, begin_, end_);
    const double own[] = {1000.0 * ms / batch.operations, static_cast<double>(called_ns) / 1000.0 / batch.operations};
    double slowest[2] = {};
    TUTTI_RETURN_IF_ERROR(communicator_.Run(AllReduce(std::span(own), std::span(slowest), ReduceOp::kMax)));
    return Timing{.us = slowest[0], .call_us = slowest[1]};
  }

 private:
  Communicator& communicator_;
  const sys::cuda::Driver& d_;
  sys::cuda::Stream stream_ = nullptr;
  sys::cuda::Event begin_ = nullptr, end_ = nullptr;
};

int OperationsFor(std::size_t bytes) {
  if (bytes <= std::size_t{1} << 20) return 50;
  if (bytes <= std::size_t{16} << 20) return 20;
  return bytes <= std::size_t{64} << 20 ? 8 : 3;
}

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
Status CompareOne(Setting& s, const std::string& op, std::size_t bytes, bool graph, nlohmann::json* rows) {
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
  nlohmann::json row = {{"op", op},          {"mode", graph ? "graph" : "stream"},
                        {"bytes", bytes},    {"ranks", s.communicator.ranks()},
                        {"tutti_us", tutti}, {"nccl_us", nccl},
                        {"way", way}};
  if (graph) {
    fmt::print("{:16}", "");
  } else {
    row["tutti_call_us"] = Median(call_us[0]);
    row["nccl_call_us"] = us.size() > 1 ? Median(call_us[1]) : 0;
    fmt::print("{:>8.2f}{:>8.2f}", row["tutti_call_us"].get<double>(), row["nccl_call_us"].get<double>());
  }
  fmt::print("   {}\n", way);
  std::fflush(stdout);
  rows->push_back(std::move(row));
  return Status::Ok();
}

// Every way to do an operation, in graph mode.
Status SweepWay(Setting& s, const Operation& o, const tune::GpuChoice& way, std::size_t bytes, nlohmann::json& rows) {
  Result<Timer::Batch> batch = s.timer.Prepare(
      [&](sys::cuda::Stream stream) { return s.gpu.impl()->RunAs(o, way, stream); }, OperationsFor(bytes), true);
  if (!batch.ok()) return batch.status();
  std::vector<double> us;
  for (int round = 0; round < s.options.rounds; ++round) {
    const Result<Timer::Timing> time = s.timer.Time(*batch);
    if (!time.ok()) return time.status();
    us.push_back(time->us);
  }
  s.timer.Forget(*batch);
  rows.push_back({{"op", Name(static_cast<Collective>(o.kind))},
                  {"bytes", bytes},
                  {"algorithm", algo::Get(way.algorithm).name},
                  {"protocol", proto::Name(way.protocol)},
                  {"channels", way.channels},
                  {"threads", way.threads},
                  {"chunk", way.chunk_bytes},
                  {"us", Median(us)}});
  return Status::Ok();
}

Status SweepOne(Setting& s, const std::string& op, std::size_t bytes, nlohmann::json& rows) {
  constexpr std::size_t kMostLl = std::size_t{1} << 20, kLeastSimple = std::size_t{256} << 10;
  const Operation o = MakeOperations(op, bytes, s.communicator, s.buffers)[0];
  for (tune::GpuChoice way :
       s.gpu.impl()->chooser.Candidates(static_cast<Collective>(o.kind), o.count * SizeOf(o.type))) {
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

Status RunAll(Setting& s, nlohmann::json& rows) {
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
  nlohmann::json rows = nlohmann::json::array();
  const Status status = RunAll(setting, rows);
  if (communicator.rank() == 0 && !options.json.empty()) std::ofstream(options.json) << rows.dump(0) << "\n";
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
  CLI::App app("Times operations of Tutti and of NCCL, in turns.", "gpu_compare");
  app.add_option("--ops", options.ops, "as all_reduce, 8xall_reduce, send_recv")->delimiter(',');
  app.add_option("--sizes", sizes, "FIRST:LAST:FACTOR");
  app.add_option("--tutti", options.tutti, "our libnccl.so.2; without it C++'s GpuCommunicator");
  app.add_option("--nccl", options.nccl, "the other libnccl.so.2");
  app.add_option("--modes", options.modes, "graph, stream or both");
  app.add_option("--rounds", options.rounds, "for the medians");
  app.add_option("--json", options.json, "a file for the figures");
  app.add_option("--most-channels", options.most_channels, "of GpuCommunicator");
  app.add_flag("--no-overlap", no_overlap, "GpuCommunicator's launches do not overlap");
  app.add_flag("--sweep", options.sweep, "time the listed ways of Tutti instead");
  app.add_option("--channels", options.channels, "of the sweep")->delimiter(',');
  app.add_option("--threads", options.threads, "of the sweep")->delimiter(',');
  app.add_option("--chunks", options.chunks, "of the sweep")->delimiter(',');
  if (const std::optional<int> code = tutti::bench::ParseArguments(app, argc, argv)) return *code;
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
