// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Several communicators at work at the same time, each on a stream of its own, called by the ranks in different orders: do
// they end, and how long does a round of one operation on each take?
//
//   tutti run -n 2 gpu_orders [--library FILE] [--ops all_reduce:64M,all_reduce:64M] [--orders same,reversed]
//                             [--rounds N] [--in-a-row N]
//
// One communicator for each operation of the list, with its size. Orders: same, that of the list on all ranks; reversed,
// on every second rank the other way round; rotated, rank r begins with the r-th; shuffled, each rank another one each time. A
// round is a row of calls, --in-a-row of them on each communicator, and a wait for all; its time is that of the slowest
// rank, and a figure the median of the rounds, per row. Where something has not ended after 10 s that is said, and the
// program stops with exit code 3. --library: any libnccl.so.2; TUTTI_TIMEOUT_MS above 10000 keeps ours from ending first.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/gpu/nccl.h"
#include "bench/gpu/operations.h"
#include "sys/cuda/cuda.h"
#include "sys/os/clock.h"
#include "tools/command_line.h"

namespace tutti::bench {
namespace {

using sys::cuda::Check;

constexpr std::int64_t kDeadlineNs = 10 * sys::kNsPerSecond;
constexpr int kNotEnded = 3;  // exit code

struct Options {
  std::string library = "libnccl.so.2";
  std::vector<std::string> ops = {"all_reduce:64M", "all_reduce:64M"};
  std::vector<std::string> orders = {"same", "reversed"};
  int rounds = 20;
  int in_a_row = 1;
};

// A communicator with what it does.
struct Work {
  Nccl nccl;
  std::vector<Operation> operations;
  sys::cuda::Stream stream = nullptr;
};

// The order in which a rank calls.
std::vector<std::size_t> OrderOf(const std::string& name, int rank, std::size_t works, int round) {
  std::vector<std::size_t> order(works);
  std::iota(order.begin(), order.end(), 0);
  if (name == "reversed" && rank % 2 == 1) std::ranges::reverse(order);
  if (name == "rotated") {
    std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) % works));
  }
  if (name == "shuffled") std::ranges::shuffle(order, std::mt19937(static_cast<unsigned>(round * 1000 + rank)));
  return order;
}

// Whether all that was called has ended.
Result<bool> Ended(const sys::cuda::Driver& d, const std::vector<Work>& works) {
  const std::int64_t end_ns = sys::NowNs() + kDeadlineNs;
  for (const Work& work : works) {
    int code = 0;
    while ((code = d.StreamQuery(work.stream)) == sys::cuda::kNotReady) {
      if (sys::NowNs() > end_ns) return false;
    }
    TUTTI_RETURN_IF_ERROR(Check(d, code, "a stream"));
  }
  return true;
}

Status RunOrder(Communicator& communicator, const sys::cuda::Driver& d, std::vector<Work>& works,
                const Options& options, const std::string& name) {
  std::vector<double> us;
  for (int round = -2; round < options.rounds; ++round) {  // two to warm up, in the same order
    const std::vector<std::size_t> order = OrderOf(round < 0 ? "same" : name, communicator.rank(), works.size(), round);
    TUTTI_RETURN_IF_ERROR(communicator.Run(Barrier()));
    const std::int64_t begin_ns = sys::NowNs();
    for (int i = 0; i < options.in_a_row; ++i) {
      for (const std::size_t k : order) {
        TUTTI_RETURN_IF_ERROR(works[k].nccl.RunGroup(works[k].operations, works[k].stream));
      }
    }
    const Result<bool> ended = Ended(d, works);
    if (!ended.ok()) return ended.status();
    if (!*ended) {
      fmt::print("{:<10}rank {}: not ended after {} s, round {}\n", name, communicator.rank(),
                 kDeadlineNs / sys::kNsPerSecond, round);
      std::fflush(stdout);
      std::_Exit(kNotEnded);
    }
    const double own = static_cast<double>(sys::NowNs() - begin_ns) / 1000.0 / options.in_a_row;
    double slowest = 0;
    TUTTI_RETURN_IF_ERROR(communicator.Run(AllReduce(std::span(&own, 1), std::span(&slowest, 1), ReduceOp::kMax)));
    if (round >= 0) us.push_back(slowest);
  }
  if (communicator.rank() == 0) {
    fmt::print("{:<10}{:>10.1f} us\n", name, Median(us));
    std::fflush(stdout);
  }
  return Status::Ok();
}

Status Main(const Options& options) {
  Result<Place> place = FindPlace();
  if (!place.ok()) return place.status();
  Communicator& communicator = place->communicator;
  const sys::cuda::Driver& d = *place->driver;
  std::vector<Work> works;
  for (const std::string& text : options.ops) {
    const std::vector<std::string> parts = Split(text, ':');
    const std::size_t bytes = ParseSize(parts[1]);
    Result<Nccl> nccl = Nccl::Create(communicator, options.library);
    if (!nccl.ok()) return nccl.status();
    sys::cuda::Address addresses[2] = {};
    Buffers buffers{};
    std::byte** const places[2] = {&buffers.in, &buffers.out};
    const std::size_t all = std::max(bytes, kLeastStride) * static_cast<std::size_t>(ParseSeveral(parts[0]).items);
    for (int i = 0; i < 2; ++i) {
      TUTTI_RETURN_IF_ERROR(Check(d, d.MemAlloc(&addresses[i], all), "device memory"));
      TUTTI_RETURN_IF_ERROR(Check(d, d.MemsetD8(addresses[i], 0x3b, all), "filling"));
      *places[i] = reinterpret_cast<std::byte*>(addresses[i]);
    }
    sys::cuda::Stream stream = nullptr;
    TUTTI_RETURN_IF_ERROR(Check(d, d.StreamCreate(&stream, sys::cuda::kNonBlocking), "a stream"));
    works.push_back({std::move(*nccl), MakeOperations(parts[0], bytes, communicator, buffers), stream});
  }
  if (communicator.rank() == 0) {
    fmt::print("{} ranks on {} GPUs; {}; {}\n", communicator.ranks(), place->gpus, fmt::join(options.ops, " "),
               works[0].nccl.file());
  }
  for (const std::string& name : options.orders) {
    TUTTI_RETURN_IF_ERROR(RunOrder(communicator, d, works, options, name));
  }
  return communicator.Run(Barrier());
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  tutti::bench::Options options;
  tutti::tools::CommandLine line("How long rounds take on several communicators that ranks call in different orders.",
                                 "gpu_orders");
  line.Add("--library", options.library, "any libnccl.so.2");
  line.Add("--ops", options.ops, "a communicator for each, as all_reduce:64M").SplitAtCommas();
  line.Add("--orders", options.orders, "of the calls")
      .SplitAtCommas()
      .OneOf({"same", "reversed", "rotated", "shuffled"});
  line.Add("--rounds", options.rounds, "for the median").Between(1, 1 << 20);
  line.Add("--in-a-row", options.in_a_row, "calls on each communicator in a round").Between(1, 1 << 20);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  for (const std::string& op : options.ops) {
    const std::vector<std::string> parts = tutti::bench::Split(op, ':');
    if (parts.size() == 2 && tutti::bench::IsOperation(parts[0]) && std::atoi(parts[1].c_str()) > 0) continue;
    fmt::print(stderr, "--ops: {} is not an operation with its size; say all_reduce:64M or the like\n", op);
    return 2;
  }
  const tutti::Status status = tutti::bench::Main(options);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.ToString());
  return status.ok() ? 0 : 1;
}
