// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations on device memory against what they must give: every collective, type, operator, algorithm and protocol, at
// odd sizes, misaligned, in place; random bits against the CPU executor; CUDA graphs; ends of kernels that wait in vain.
//
//   gpu_conformance [--threads N] [--quick]     N ranks as threads of this process, on its GPUs in turn
//   tutti run -n N gpu_conformance              ranks as processes
//
// Where the ranks count as being on several hosts (NCCL_HOSTID), those parts run that do not look into kernels, and each operation
// goes the way that the library chooses; NCCL_PROTO makes it choose another protocol.
//
// Prints a summary; exit status 1 when anything was wrong.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "algo/algorithm.h"
#include "comm/gpu/groups.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/runner.h"
#include "exec/gpu/format/program.h"
#include "exec/gpu/launch/executor.h"
#include "exec/gpu/lower/compile.h"
#include "tests/gpu/device.h"
#include "tests/gpu/queues.h"
#include "tests/support/ranks.h"
#include "transport/p2p/fabric.h"
#include "tune/gpu_model.h"

namespace tutti::tests {
namespace {

using Kind = Collective;
using sys::cuda::Check;

constexpr std::size_t kBufferBytes = std::size_t{48} << 20;
constexpr std::size_t kLargeCount = 700001;

struct Tally {
  std::atomic<long> cases{0};
  std::atomic<long> wrong{0};
};
Tally g_tally;

struct Bench {
  Communicator& communicator;
  GpuCommunicator& gpu;
  Device& device;
  bool quick;
  int rank() const { return communicator.rank(); }
  int ranks() const { return communicator.ranks(); }
  bool several_hosts() const { return gpu.impl()->several_hosts; }
};

// What happened on the rank with the first error, the same on all ranks, so that all go on alike.
Status Agree(Bench& b, const Status& own) {
  const int bad = own.ok() ? 0 : 1;
  int any = 0;
  TUTTI_RETURN_IF_ERROR(b.communicator.Run(AllReduce(std::span(&bad, 1), std::span(&any, 1), ReduceOp::kMax)));
  if (!own.ok()) return own;
  return any != 0 ? Status(Code::kRemote, "another rank found an error") : Status::Ok();
}

// Null: the way that the library chooses.
Status RunWay(Bench& b, const Case& c, const tune::GpuChoice* way, std::uint64_t seed) {
  ++g_tally.cases;
  const Status status =
      RunCaseOn(b.rank(), b.ranks(), c, seed, [&](const Operation& o, std::span<std::byte> x, std::span<std::byte> y) {
        return b.device.Mirror(o, x, y, [&](const Operation& moved) {
          return way == nullptr ? b.gpu.Run(moved, b.device.stream())
                                : b.gpu.impl()->runner.RunAs(moved, *way, b.device.stream());
        });
      });
  if (status.ok()) return status;
  ++g_tally.wrong;
  fmt::print("rank {}: {}: {}\n", b.rank(), way == nullptr ? "chosen" : tune::ToString(*way), status.ToString());
  std::fflush(stdout);
  return status;
}

std::vector<std::size_t> Counts(const Bench& b, bool reduces, int type_index, bool common) {
  std::vector<std::size_t> counts = {1, 2, 7, 129, 1003, 5009};
  if (common && !b.quick) counts.insert(counts.end(), {31, 4096, 65537, kLargeCount / b.ranks()});
  if (!reduces && type_index > 1) counts = {3, 1003};
  return counts;
}

int MostChannels(const Bench& b) {
  const auto& fabric = *b.gpu.impl()->fabric;
  const transport::p2p::Sections& sections = fabric.sections();
  int channels = sections.At(sections.count() - 1).collectives.channels;
  for (int r = 0; r < b.ranks(); ++r) {
    channels = std::min(channels, fabric.multiprocessors(r) / fabric.RanksOnGpuOf(r));
  }
  return std::max(channels, 1);
}

// LL128 needs links on which lines arrive whole, on all ranks: then it is among the chooser's ways.
bool IsUsed(const Bench& b, int protocol) {
  const std::vector<tune::GpuChoice> ways = b.gpu.impl()->planner.chooser().Candidates(Collective::kAllReduce, 8);
  return std::ranges::any_of(ways, [&](const auto& way) { return static_cast<int>(way.protocol) == protocol; });
}

// Whether there is a way to do a collective: step by step, where `steps`. Among more ranks than a kernel can name not every
// algorithm has one.
bool HasWay(const Bench& b, const algo::Entry& entry, Collective collective, int protocol, bool steps) {
  GpuCommunicator::Impl& gpu = *b.gpu.impl();
  if (!gpu.fabric->sections().many()) return entry.supports(collective, b.ranks());
  if (!entry.few_links(collective) && !entry.supports(collective, b.ranks())) return false;
  const auto which = static_cast<proto::Protocol>(protocol);
  const Result<const exec::gpu::PreparedPlan*> plan = gpu.planner.FindPlan(entry.algorithm, collective, 0);
  if (!plan.ok()) return false;
  const bool by_teams = !steps && which == proto::Protocol::kSimple && (*plan)->forms.ForTeams();
  return by_teams || gpu.executor.CanRunSteps(**plan, which).ok();
}

// All cases of one way to do a collective; null: each as the library chooses.
Status RunCollective(Bench& b, Collective collective, const algo::Entry* entry, proto::Protocol protocol) {
  const bool reduces = Reduces(collective);
  const int algorithm = entry == nullptr ? 0 : static_cast<int>(entry->algorithm);
  std::mt19937 random(static_cast<unsigned>(static_cast<int>(collective) * 100 + algorithm));
  std::uint64_t seed = 1;
  for (int type = 0; type < kNcclDataTypes; ++type) {
    for (int op = 0; op < (reduces ? kNcclReduceOps : 1); ++op) {
      const bool common =
          (type == static_cast<int>(DataType::kFloat32) || type == static_cast<int>(DataType::kBfloat16)) &&
          op == static_cast<int>(ReduceOp::kSum);
      for (const std::size_t count : Counts(b, reduces, type, common)) {
        Case c{.kind = static_cast<Kind>(collective),
               .count = count,
               .type = static_cast<DataType>(type),
               .op = static_cast<ReduceOp>(op),
               .root = static_cast<int>(random() % b.ranks())};
        c.in_place = collective != Collective::kAllToAll && random() % 3 == 0;
        c.misalign = random() % 3 == 0 ? SizeOf(c.type) : 0;
        if (entry == nullptr) {
          TUTTI_RETURN_IF_ERROR(Agree(b, RunWay(b, c, nullptr, seed++)));
          continue;
        }
        const int channels = static_cast<int>(random() % std::min(MostChannels(b), 12)) + 1;
        const int threads = 32 * (1 << random() % 5);
        const tune::GpuChoice way{
            .algorithm = entry->algorithm, .protocol = protocol, .channels = channels, .threads = threads};
        TUTTI_RETURN_IF_ERROR(Agree(b, RunWay(b, c, &way, seed++)));
      }
    }
  }
  return Status::Ok();
}

Status RunEverything(Bench& b) {
  for (int c = 0; c <= static_cast<int>(Collective::kAllToAll); ++c) {
    const auto collective = static_cast<Collective>(c);
    if (b.several_hosts()) {
      TUTTI_RETURN_IF_ERROR(RunCollective(b, collective, nullptr, proto::Protocol::kSimple));
      continue;
    }
    for (const algo::Entry& entry : algo::Registry()) {
      const long before = g_tally.cases;
      for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
        if (!IsUsed(b, protocol) || !HasWay(b, entry, collective, protocol, false)) continue;
        TUTTI_RETURN_IF_ERROR(RunCollective(b, collective, &entry, static_cast<proto::Protocol>(protocol)));
      }
      if (b.rank() == 0 && g_tally.cases > before) {
        fmt::print("{} {}: {} cases so far, {} here\n", Name(collective), entry.name, g_tally.cases.load(),
                   g_tally.cases.load() - before);
        std::fflush(stdout);
      }
    }
  }
  return Status::Ok();
}

bool IsNan(DataType type, const std::byte* p) {
  switch (type) {
    case DataType::kFloat16:
    case DataType::kBfloat16: {
      std::uint16_t v;
      std::memcpy(&v, p, 2);
      return (v & 0x7fff) > (type == DataType::kFloat16 ? 0x7c00 : 0x7f80);
    }
    case DataType::kFloat32: {
      std::uint32_t v;
      std::memcpy(&v, p, 4);
      return (v & 0x7fffffff) > 0x7f800000;
    }
    case DataType::kFloat64: {
      std::uint64_t v;
      std::memcpy(&v, p, 8);
      return (v & 0x7fffffffffffffff) > 0x7ff0000000000000;
    }
    case DataType::kFloat8E4M3:
      return (static_cast<unsigned>(*p) & 0x7f) > 0x7e;
    case DataType::kFloat8E5M2:
      return (static_cast<unsigned>(*p) & 0x7f) > 0x7c;
    default:
      return false;
  }
}

// Runs `o` on the GPU, into o.out; null: as the library chooses.
Status CheckBits(Bench& b, const Operation& o, std::span<std::byte> in, std::span<const std::byte> expected,
                 const tune::GpuChoice* way) {
  ++g_tally.cases;
  const std::size_t size = SizeOf(o.type);
  const std::span got(static_cast<std::byte*>(o.out), expected.size());
  TUTTI_RETURN_IF_ERROR(b.device.Mirror(o, in, got, [&](const Operation& moved) {
    return way == nullptr ? b.gpu.Run(moved, b.device.stream())
                          : b.gpu.impl()->runner.RunAs(moved, *way, b.device.stream());
  }));
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = o.count; i-- > 0;) {
    const std::byte *x = expected.data() + i * size, *y = got.data() + i * size;
    if (std::memcmp(x, y, size) == 0 || (IsNan(o.type, x) && IsNan(o.type, y))) continue;
    ++wrong;
    first = i;
  }
  if (wrong == 0) return Status::Ok();
  ++g_tally.wrong;
  std::uint64_t x = 0, y = 0;
  std::memcpy(&x, expected.data() + first * size, size);
  std::memcpy(&y, got.data() + first * size, size);
  fmt::print("rank {}: random bits, {} {} {}: {} of {} elements differ from the CPU's, first {}: {:x}, CPU {:x}\n",
             b.rank(), Name(o.type), Name(o.op), way == nullptr ? "chosen" : tune::ToString(*way), wrong, o.count,
             first, y, x);
  return Status::Ok();
}

// Random bit patterns, so infinities, NaNs, subnormals too: the same bits as the CPU executor gives, any NaN for a NaN.
Status RunRandomBits(Bench& b) {
  constexpr std::size_t kCount = 20011;
  std::mt19937_64 random(static_cast<unsigned>(b.rank()) + 99);
  for (int type = 0; type < kNcclDataTypes; ++type) {
    const std::size_t size = SizeOf(static_cast<DataType>(type));
    for (int op = 0; op < kNcclReduceOps; ++op) {
      std::vector<std::byte> in(kCount * size), expected(kCount * size), got(kCount * size);
      for (std::byte& byte : in) byte = static_cast<std::byte>(random());
      Operation o{.kind = Kind::kAllReduce,
                  .in = in.data(),
                  .out = expected.data(),
                  .count = kCount,
                  .type = static_cast<DataType>(type),
                  .op = static_cast<ReduceOp>(op),
                  .scalar = 1.7 + b.rank()};
      TUTTI_RETURN_IF_ERROR(b.communicator.Run(o));
      o.out = got.data();
      if (b.several_hosts()) {
        // Averages in stages are divided in stages, which rounds twice where that is by no power of 2.
        if (o.op == ReduceOp::kAvg && (b.ranks() & (b.ranks() - 1)) != 0) continue;
        TUTTI_RETURN_IF_ERROR(CheckBits(b, o, in, expected, nullptr));
        continue;
      }
      for (const algo::Algorithm algorithm : {algo::Algorithm::kOneShot, algo::Algorithm::kTwoShot}) {
        for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
          if (!IsUsed(b, protocol) || !HasWay(b, algo::Get(algorithm), o.kind, protocol, false)) continue;
          const tune::GpuChoice way{.algorithm = algorithm,
                                    .protocol = static_cast<proto::Protocol>(protocol),
                                    .channels = 4,
                                    .threads = 128};
          TUTTI_RETURN_IF_ERROR(CheckBits(b, o, in, expected, &way));
        }
      }
    }
  }
  return Status::Ok();
}

// A factor of PreMulSum as an element: 3 or 5 for integers, 1.5 or 2 for floating types.
std::uint64_t FactorBits(DataType type, bool second) {
  switch (type) {
    case DataType::kFloat16:
      return second ? 0x4000 : 0x3e00;
    case DataType::kBfloat16:
      return second ? 0x4000 : 0x3fc0;
    case DataType::kFloat32:
      return second ? 0x40000000 : 0x3fc00000;
    case DataType::kFloat64:
      return second ? 0x4000000000000000 : 0x3ff8000000000000;
    case DataType::kFloat8E4M3:
      return second ? 0x40 : 0x3c;
    case DataType::kFloat8E5M2:
      return second ? 0x40 : 0x3e;
    default:
      return second ? 5 : 3;
  }
}

// Up to here sums are folded in the order of ranks, as on the CPU (docs/decisions/0014-many-ranks.md).
constexpr int kMostInRankOrder = 16;

// PreMulSum of `o` with the factor by value: by the CPU executor, or where that folds in another order, by the GPU.
Status RunScalarByValue(Bench& b, Operation o, double scalar, std::vector<std::byte>& in,
                        std::vector<std::byte>& expected) {
  const bool integer = static_cast<int>(o.type) <= static_cast<int>(DataType::kUint64);
  o.device_scalar = nullptr;
  o.scalar = scalar;
  if (integer || b.ranks() <= kMostInRankOrder) {
    o.in = in.data();
    o.out = expected.data();
    return b.communicator.Run(o);
  }
  TUTTI_RETURN_IF_ERROR(b.gpu.Run(o, b.device.stream()));
  TUTTI_RETURN_IF_ERROR(b.device.Synchronize());
  return Check(
      b.device.driver(),
      b.device.driver().MemcpyDtoH(expected.data(), reinterpret_cast<sys::cuda::Address>(o.out), expected.size()),
      "copying");
}

// PreMulSum with factors in device memory, replayed by a graph after the factor has changed; against the same factors by
// value.
Status RunScalars(Bench& b) {
  constexpr std::size_t kCount = 3001;
  const sys::cuda::Driver& d = b.device.driver();
  const auto address = [](std::byte* p) { return reinterpret_cast<sys::cuda::Address>(p); };
  for (int type = 0; type < kNcclDataTypes; ++type) {
    const std::size_t size = SizeOf(static_cast<DataType>(type));
    const bool integer = type <= static_cast<int>(DataType::kUint64);
    std::vector<std::byte> in(kCount * size), expected(kCount * size), got(kCount * size);
    std::mt19937 random(static_cast<unsigned>(b.rank()) + 3);
    for (std::byte& byte : in) byte = static_cast<std::byte>(integer ? random() : random() & 0x3f);
    std::byte* factor = b.device.second() + kBufferBytes / 2;
    Operation o{.kind = Kind::kAllReduce,
                .in = b.device.first(),
                .out = b.device.second(),
                .count = kCount,
                .type = static_cast<DataType>(type),
                .op = ReduceOp::kPreMulSum,
                .scalar = -7,  // wrong, and not to be used
                .device_scalar = factor};
    TUTTI_RETURN_IF_ERROR(Check(d, d.MemcpyHtoD(address(b.device.first()), in.data(), in.size()), "copying"));
    TUTTI_RETURN_IF_ERROR(b.gpu.impl()->runner.Prepare(o));
    sys::cuda::Graph graph = nullptr;
    sys::cuda::GraphExec exec = nullptr;
    TUTTI_RETURN_IF_ERROR(
        Check(d, d.StreamBeginCapture(b.device.stream(), sys::cuda::kThreadLocalCapture), "capturing"));
    const Status captured = b.gpu.Run(o, b.device.stream());
    TUTTI_RETURN_IF_ERROR(Check(d, d.StreamEndCapture(b.device.stream(), &graph), "ending a capture"));
    TUTTI_RETURN_IF_ERROR(captured);
    TUTTI_RETURN_IF_ERROR(Check(d, d.GraphInstantiate(&exec, graph, 0), "a graph"));
    for (const bool second : {false, true}) {
      ++g_tally.cases;
      const std::uint64_t bits = FactorBits(o.type, second);
      TUTTI_RETURN_IF_ERROR(Check(d, d.MemcpyHtoD(address(factor), &bits, size), "copying"));
      TUTTI_RETURN_IF_ERROR(Check(d, d.StreamSynchronize(nullptr), "copying"));
      TUTTI_RETURN_IF_ERROR(Check(d, d.GraphLaunch(exec, b.device.stream()), "replaying a graph"));
      TUTTI_RETURN_IF_ERROR(b.device.Synchronize());
      TUTTI_RETURN_IF_ERROR(Check(d, d.MemcpyDtoH(got.data(), address(b.device.second()), got.size()), "copying"));
      const double scalar = integer ? (second ? 5 : 3) : (second ? 2 : 1.5);
      TUTTI_RETURN_IF_ERROR(RunScalarByValue(b, o, scalar, in, expected));
      if (got != expected) {
        ++g_tally.wrong;
        fmt::print("rank {}: PreMulSum of {} with the {} factor in device memory differs from that by value\n",
                   b.rank(), Name(o.type), second ? "second" : "first");
      }
    }
    d.GraphExecDestroy(exec);
    d.GraphDestroy(graph);
  }
  return Status::Ok();
}

constexpr int kTransferGroups = 150, kTransferGroupsQuick = 40;
Status RunTransfers(Bench& b);
constexpr int kRandomGroups = 120, kRandomGroupsQuick = 30, kRandomGroupsLimited = 8;
Status RunRandomGroups(Bench& b, int groups);

// Communicators with limits: right results, and no kernel with more blocks.
Status RunLimits(Bench& b) {
  for (const int limit : {1, 2, 3, 8, 16}) {
    Result<GpuCommunicator> gpu = GpuCommunicator::Create(
        b.communicator,
        {.device = b.gpu.impl()->options.device, .max_channels = limit, .overlap_launches = limit != 2});
    if (!gpu.ok()) return gpu.status();
    Bench limited{b.communicator, *gpu, b.device, true};
    const std::uint64_t before = gpu->impl()->executor.blocks_launched();
    const std::uint64_t kernels_before = gpu->impl()->executor.kernels_launched();
    std::vector<std::size_t> counts = {5, 1003, 300001, kLargeCount};
    constexpr int kMostRanks = 8;                 // whose pieces fit the buffers
    if (limit == 8 && b.ranks() <= kMostRanks) {  // a rank's own block goes by a copy engine
      counts.push_back((gpu->impl()->machine->own_beside_bytes / sizeof(float) + 1) *
                       static_cast<std::size_t>(b.ranks()));
    }
    for (int c = 0; c <= static_cast<int>(Collective::kAllToAll); ++c) {
      for (const std::size_t count : counts) {
        ++g_tally.cases;
        const Case test{.kind = static_cast<Kind>(c), .count = count / b.ranks(), .type = DataType::kFloat32};
        const Status status = RunCaseOn(
            b.rank(), b.ranks(), test, count, [&](const Operation& o, std::span<std::byte> x, std::span<std::byte> y) {
              return b.device.Mirror(o, x, y,
                                     [&](const Operation& moved) { return gpu->Run(moved, b.device.stream()); });
            });
        if (!status.ok()) ++g_tally.wrong;
        TUTTI_RETURN_IF_ERROR(Agree(b, status));
      }
    }
    const std::uint64_t kernels = gpu->impl()->executor.kernels_launched() - kernels_before;
    if (gpu->impl()->executor.blocks_launched() - before > kernels * limit) {
      ++g_tally.wrong;
      return Status(Code::kInternal, fmt::format("limits: {} kernels had {} blocks, the limit is {}", kernels,
                                                 gpu->impl()->executor.blocks_launched() - before, limit));
    }
    const std::uint64_t transfers = gpu->impl()->executor.blocks_launched(),
                        before_transfers = gpu->impl()->executor.kernels_launched();
    TUTTI_RETURN_IF_ERROR(RunTransfers(limited));
    // Among many ranks a group takes several launches.
    const std::uint64_t group_launches = b.ranks() <= kMostInRankOrder
                                             ? kTransferGroupsQuick
                                             : gpu->impl()->executor.kernels_launched() - before_transfers;
    if (gpu->impl()->executor.blocks_launched() - transfers > group_launches * static_cast<std::uint64_t>(limit)) {
      ++g_tally.wrong;
      return Status(Code::kInternal,
                    fmt::format("limits: {} groups had {} blocks, the limit is {}", kTransferGroupsQuick,
                                gpu->impl()->executor.blocks_launched() - transfers, limit));
    }
    const std::uint64_t blocks = gpu->impl()->executor.blocks_launched(),
                        launches = gpu->impl()->executor.kernels_launched();
    TUTTI_RETURN_IF_ERROR(RunRandomGroups(limited, kRandomGroupsLimited));
    const std::uint64_t most =
        (gpu->impl()->executor.kernels_launched() - launches) * static_cast<std::uint64_t>(limit);
    if (gpu->impl()->executor.blocks_launched() - blocks > most) {
      ++g_tally.wrong;
      return Status(Code::kInternal, fmt::format("limits: groups had {} blocks, {} are allowed",
                                                 gpu->impl()->executor.blocks_launched() - blocks, most));
    }
  }
  return Status::Ok();
}

// Counts beyond 2^31: 3 GiB and a bit of int8, in zones of a value each.
Status RunHuge(Bench& b) {
  constexpr std::size_t kZone = std::size_t{64} << 20, kCount = (std::size_t{3} << 30) + 12347;
  const sys::cuda::Driver& d = b.device.driver();
  const auto value = [](int rank, std::size_t zone) { return static_cast<std::uint8_t>(rank * 101 + zone * 7 + 1); };
  sys::cuda::Address in = 0, out = 0;
  const int fits = d.MemAlloc(&in, kCount) == 0 && d.MemAlloc(&out, kCount) == 0 ? 1 : 0;
  int all_fit = 0;
  TUTTI_RETURN_IF_ERROR(b.communicator.Run(AllReduce(std::span(&fits, 1), std::span(&all_fit, 1), ReduceOp::kMin)));
  if (all_fit == 0) {
    for (const sys::cuda::Address buffer : {in, out}) {
      if (buffer != 0) d.MemFree(buffer);
    }
    if (b.rank() == 0) std::puts("part huge: not run: the ranks of a GPU have no room for 6 GiB each");
    return Status::Ok();
  }
  Status status;
  for (std::size_t at = 0; at < kCount; at += kZone) {
    d.MemsetD8(in + at, value(b.rank(), at / kZone), std::min(kZone, kCount - at));
  }
  std::vector<std::uint8_t> got(kZone);
  const int next = (b.rank() + 1) % b.ranks(), previous = (b.rank() + b.ranks() - 1) % b.ranks();
  auto* from = reinterpret_cast<std::byte*>(in);
  auto* to = reinterpret_cast<std::byte*>(out);
  const std::vector<Operation> groups[] = {
      {{.kind = Kind::kAllReduce, .in = from, .out = to, .count = kCount, .type = DataType::kInt8}},
      {{.kind = Kind::kBroadcast,
        .in = from,
        .out = to,
        .count = kCount,
        .type = DataType::kInt8,
        .root = b.ranks() - 1}},
      {{.kind = Kind::kSend, .in = from, .count = kCount, .type = DataType::kInt8, .root = next},
       {.kind = Kind::kRecv, .out = to, .count = kCount, .type = DataType::kInt8, .root = previous}}};
  for (const std::vector<Operation>& group : groups) {
    ++g_tally.cases;
    d.MemsetD8(out, 0, kCount);
    d.StreamSynchronize(nullptr);
    status = b.gpu.RunGroup(group, b.device.stream());
    if (status.ok()) status = b.device.Synchronize();
    for (std::size_t at = 0; at < kCount && status.ok(); at += kZone) {
      const std::size_t bytes = std::min(kZone, kCount - at);
      status = Check(d, d.MemcpyDtoH(got.data(), out + at, bytes), "copying");
      std::uint8_t expected = 0;
      for (int r = 0; r < b.ranks(); ++r) {
        const bool counts = group[0].kind == Kind::kAllReduce ||
                            (group[0].kind == Kind::kBroadcast ? r == b.ranks() - 1 : r == previous);
        if (counts) expected = static_cast<std::uint8_t>(expected + value(r, at / kZone));
      }
      for (std::size_t i = 0; i < bytes && status.ok(); ++i) {
        if (got[i] == expected) continue;
        ++g_tally.wrong;
        status = Status(Code::kInternal, fmt::format("huge: operation kind {}: byte {} is {}, not {}",
                                                     static_cast<int>(group[0].kind), at + i, got[i], expected));
      }
    }
    TUTTI_RETURN_IF_ERROR(Agree(b, status));
  }
  d.MemFree(in);
  d.MemFree(out);
  return Status::Ok();
}

// Groups of sends and receives of random sizes, several per pair, to self too, in an order that differs from rank to
// rank; every byte is known from sender, receiver, number and place.
Status RunTransfers(Bench& b) {
  const sys::cuda::Driver& d = b.device.driver();
  const auto value = [](int from, int to, int k, std::size_t i) {
    return static_cast<std::byte>(from * 89 + to * 37 + k * 11 + i * 131 + (i >> 8));
  };
  std::mt19937 shared(5);  // the same on all ranks
  const int groups = b.quick ? kTransferGroupsQuick : kTransferGroups;
  for (int group = 0; group < groups; ++group) {
    ++g_tally.cases;
    struct Piece {
      int from, to, k;
      std::size_t bytes, at;
    };
    std::vector<Piece> mine_out, mine_in;
    std::size_t in_bytes = 0, out_bytes = 0;
    for (int from = 0; from < b.ranks(); ++from) {
      for (int to = 0; to < b.ranks(); ++to) {
        const int pieces = static_cast<int>(shared() % 4);
        for (int k = 0; k < pieces; ++k) {
          const unsigned kind = shared() % 8, size = shared();
          const std::size_t bytes = kind == 0 ? 0 : kind < 4 ? size % 300 : kind < 7 ? size % 40000 : size % 3000000;
          if (from == b.rank()) mine_out.push_back({from, to, k, bytes, in_bytes});
          if (from == b.rank()) in_bytes += bytes + kind;
          if (to == b.rank()) mine_in.push_back({from, to, k, bytes, out_bytes});
          if (to == b.rank()) out_bytes += bytes + kind;
        }
      }
    }
    std::vector<std::byte> in(in_bytes + 1), out(out_bytes + 1, std::byte{0x5a}), got(out_bytes + 1);
    std::vector<Operation> operations;
    for (const Piece& p : mine_out) {
      for (std::size_t i = 0; i < p.bytes; ++i) in[p.at + i] = value(p.from, p.to, p.k, i);
      operations.push_back({.kind = Kind::kSend, .in = b.device.first() + p.at, .count = p.bytes, .root = p.to});
    }
    for (const Piece& p : mine_in) {
      operations.push_back({.kind = Kind::kRecv, .out = b.device.second() + p.at, .count = p.bytes, .root = p.from});
      for (std::size_t i = 0; i < p.bytes; ++i) out[p.at + i] = value(p.from, p.to, p.k, i);
    }
    // Another order of peers on every rank; pieces of a pair stay in order.
    std::ranges::stable_sort(operations, {}, [&](const Operation& o) { return (o.root * 7 + group + b.rank()) % 5; });
    const auto address = [](std::byte* p) { return reinterpret_cast<sys::cuda::Address>(p); };
    TUTTI_RETURN_IF_ERROR(Check(d, d.MemcpyHtoD(address(b.device.first()), in.data(), in.size()), "copying"));
    TUTTI_RETURN_IF_ERROR(Check(d, d.MemsetD8(address(b.device.second()), 0x5a, out.size()), "filling"));
    TUTTI_RETURN_IF_ERROR(Check(d, d.StreamSynchronize(nullptr), "filling"));
    Status status = b.gpu.RunGroup(operations, b.device.stream());
    if (status.ok()) status = b.device.Synchronize();
    if (status.ok()) {
      status = Check(d, d.MemcpyDtoH(got.data(), address(b.device.second()), got.size()), "copying");
    }
    if (status.ok() && got != out) {
      ++g_tally.wrong;
      const std::size_t at = static_cast<std::size_t>(std::ranges::mismatch(got, out).in1 - got.begin());
      status =
          Status(Code::kInternal, fmt::format("transfers: group {}: wrong byte at {} of {}", group, at, got.size()));
    }
    TUTTI_RETURN_IF_ERROR(Agree(b, status));
  }
  return Status::Ok();
}

// A graph of operations of many sizes, replayed with eager ones between.
Status RunGraphs(Bench& b) {
  const sys::cuda::Driver& d = b.device.driver();
  constexpr int kOperations = 24, kReplays = 6;
  constexpr std::size_t kMost = 40000;
  auto* data = reinterpret_cast<float*>(b.device.first());
  std::vector<float> host(kMost * kOperations);
  const auto count_of = [](int i) { return static_cast<std::size_t>(1 + i * i * i * 3 % kMost); };
  const auto enqueue = [&](int i) {
    return b.gpu.Run({.kind = Kind::kAllReduce,
                      .in = data + i * kMost,
                      .out = data + i * kMost,
                      .count = count_of(i),
                      .type = DataType::kFloat32},
                     b.device.stream());
  };
  for (int i = 0; i < kOperations; ++i) TUTTI_RETURN_IF_ERROR(enqueue(i));  // loads kernels, makes plans
  TUTTI_RETURN_IF_ERROR(b.device.Synchronize());
  for (float& x : host) x = 1.0f;
  TUTTI_RETURN_IF_ERROR(
      Check(d, d.MemcpyHtoD(reinterpret_cast<sys::cuda::Address>(data), host.data(), host.size() * 4), "copying"));
  TUTTI_RETURN_IF_ERROR(Check(d, d.StreamSynchronize(nullptr), "copying"));
  sys::cuda::Graph graph = nullptr;
  sys::cuda::GraphExec exec = nullptr;
  TUTTI_RETURN_IF_ERROR(Check(d, d.StreamBeginCapture(b.device.stream(), sys::cuda::kThreadLocalCapture), "capturing"));
  Status captured = Status::Ok();
  for (int i = 0; i < kOperations && captured.ok(); ++i) captured = enqueue(i);
  TUTTI_RETURN_IF_ERROR(Check(d, d.StreamEndCapture(b.device.stream(), &graph), "ending a capture"));
  TUTTI_RETURN_IF_ERROR(captured);
  TUTTI_RETURN_IF_ERROR(Check(d, d.GraphInstantiate(&exec, graph, 0), "a graph"));
  float expected = 1.0f;
  for (int r = 0; r < kReplays; ++r) {
    TUTTI_RETURN_IF_ERROR(Check(d, d.GraphLaunch(exec, b.device.stream()), "replaying a graph"));
    if (r % 2 == 1) {
      for (int i = 0; i < kOperations; ++i) TUTTI_RETURN_IF_ERROR(enqueue(i));
      expected *= static_cast<float>(b.ranks());
    }
    expected *= static_cast<float>(b.ranks());
  }
  TUTTI_RETURN_IF_ERROR(b.device.Synchronize());
  TUTTI_RETURN_IF_ERROR(
      Check(d, d.MemcpyDtoH(host.data(), reinterpret_cast<sys::cuda::Address>(data), host.size() * 4), "copying"));
  d.GraphExecDestroy(exec);
  d.GraphDestroy(graph);
  ++g_tally.cases;
  for (int i = 0; i < kOperations; ++i) {
    for (std::size_t e = 0; e < kMost; ++e) {
      if (host[i * kMost + e] == (e < count_of(i) ? expected : 1.0f)) continue;
      ++g_tally.wrong;
      return Status(Code::kInternal, fmt::format("graphs: operation {} of {} elements: element {} is {}, not {}", i,
                                                 count_of(i), e, host[i * kMost + e], expected));
    }
  }
  return Status::Ok();
}

// A rank whose driver maps no memory of others: all ranks go over host memory then, and results are right.
Status RunFallback(Bench& b) {
  static const sys::cuda::Driver refusing = [&] {
    sys::cuda::Driver driver = b.device.driver();
    constexpr int kNotSupported = 801;
    driver.MemImportFromShareableHandle = [](sys::cuda::Allocation*, void*, int) { return kNotSupported; };
    driver.IpcOpenMemHandle = [](sys::cuda::Address*, sys::cuda::IpcHandle, unsigned) { return kNotSupported; };
    return driver;
  }();
  if (b.ranks() == 1) return Status::Ok();
  const bool refuses = b.rank() == b.ranks() - 1;
  GpuCommunicator::Impl gpu(b.communicator, {.device = b.gpu.impl()->options.device},
                            refuses ? &refusing : &b.device.driver());
  TUTTI_RETURN_IF_ERROR(gpu.Connect());
  ++g_tally.cases;
  if (!gpu.fabric->staged() || gpu.fabric->LinesArriveWhole()) {
    ++g_tally.wrong;
    return Status(Code::kInternal, "fallback: peers that can not be reached are used all the same");
  }
  for (int c = 0; c <= static_cast<int>(Collective::kAllToAll); ++c) {
    for (const std::size_t count : {std::size_t{5}, std::size_t{1003}, kLargeCount}) {
      ++g_tally.cases;
      const Case test{.kind = static_cast<Kind>(c), .count = count / b.ranks() + 1, .type = DataType::kFloat32};
      const Status status = RunCaseOn(
          b.rank(), b.ranks(), test, count, [&](const Operation& o, std::span<std::byte> x, std::span<std::byte> y) {
            return b.device.Mirror(o, x, y,
                                   [&](const Operation& moved) { return gpu.runner.Run(moved, b.device.stream()); });
          });
      if (!status.ok()) ++g_tally.wrong;
      TUTTI_RETURN_IF_ERROR(Agree(b, status));
    }
  }
  return Status::Ok();
}

// A group of cases on the device: each has its storage behind that of the one before.
struct CaseGroup {
  std::vector<Case> cases;
  struct Placed {
    Operation operation;
    std::span<std::byte> storage[2];
    std::size_t at[2];  // in the device's buffers
  };
  std::vector<Placed> placed;
  std::size_t end[2] = {0, 0};
  Status failure;  // the first: those around it add words of their own
};

// Puts the group's cases on the device, one within the other, and runs `enqueue` on all of them; every one compares its
// results on the way out. Twice: a graph must be replayed on fresh data.
Status RunCases(Bench& b, CaseGroup& group, std::uint64_t seed, const std::function<Status()>& enqueue) {
  const sys::cuda::Driver& d = b.device.driver();
  std::byte* const buffers[2] = {b.device.first(), b.device.second()};
  const auto address = [&](const CaseGroup::Placed& p, int i) {
    return reinterpret_cast<sys::cuda::Address>(buffers[i] + p.at[i]);
  };
  if (group.placed.size() < group.cases.size()) {
    const Case& c = group.cases[group.placed.size()];
    const std::uint64_t own = seed + group.placed.size();
    const Status status = RunCaseOn(b.rank(), b.ranks(), c, own, [&](const Operation& o, auto first, auto second) {
      CaseGroup::Placed p{o, {first, second}, {group.end[0], group.end[1]}};
      const auto move = [&](const void* from) -> std::byte* {
        for (int i = 0; i < 2; ++i) {
          const std::byte* begin = p.storage[i].data();
          if (from == nullptr || from < begin || from > begin + p.storage[i].size()) continue;
          return buffers[i] + p.at[i] + (static_cast<const std::byte*>(from) - begin);
        }
        return nullptr;
      };
      p.operation.in = move(o.in);
      p.operation.out = move(o.out);
      for (int i = 0; i < 2; ++i) group.end[i] += (p.storage[i].size() + 255) / 256 * 256;
      group.placed.push_back(p);
      return RunCases(b, group, seed, enqueue);
    });
    if (group.failure.ok()) group.failure = status;
    return status;
  }
  if (std::max(group.end[0], group.end[1]) > kBufferBytes) return Status(Code::kInternal, "a group is too large");
  for (int time = 0; time < 2; ++time) {
    for (const CaseGroup::Placed& p : group.placed) {
      for (int i = 0; i < 2; ++i) {
        TUTTI_RETURN_IF_ERROR(
            Check(d, d.MemcpyHtoD(address(p, i), p.storage[i].data(), p.storage[i].size()), "copying to a GPU"));
      }
    }
    TUTTI_RETURN_IF_ERROR(Check(d, d.StreamSynchronize(nullptr), "copying to a GPU"));
    TUTTI_RETURN_IF_ERROR(enqueue());
    TUTTI_RETURN_IF_ERROR(b.device.Synchronize());
  }
  for (const CaseGroup::Placed& p : group.placed) {
    for (int i = 0; i < 2; ++i) {
      TUTTI_RETURN_IF_ERROR(
          Check(d, d.MemcpyDtoH(p.storage[i].data(), address(p, i), p.storage[i].size()), "copying from a GPU"));
    }
  }
  return Status::Ok();
}

std::vector<Operation> OperationsOf(const CaseGroup& group) {
  std::vector<Operation> operations;
  for (const CaseGroup::Placed& p : group.placed) operations.push_back(p.operation);
  return operations;
}

// Runs a group by `enqueue`, which gets its operations; directly or as a graph, the second time replayed.
Status RunCaseGroup(Bench& b, CaseGroup& group, std::uint64_t seed, bool in_graph,
                    const std::function<Status(std::span<const Operation>)>& enqueue) {
  const sys::cuda::Driver& d = b.device.driver();
  sys::cuda::Graph graph = nullptr;
  sys::cuda::GraphExec exec = nullptr;
  const Status status = RunCases(b, group, seed, [&]() -> Status {
    const std::vector<Operation> operations = OperationsOf(group);
    if (!in_graph) return enqueue(operations);
    if (exec == nullptr) {
      TUTTI_RETURN_IF_ERROR(b.gpu.impl()->groups.Prepare(operations));
      TUTTI_RETURN_IF_ERROR(
          Check(d, d.StreamBeginCapture(b.device.stream(), sys::cuda::kThreadLocalCapture), "capturing"));
      const Status captured = enqueue(operations);
      TUTTI_RETURN_IF_ERROR(Check(d, d.StreamEndCapture(b.device.stream(), &graph), "ending a capture"));
      TUTTI_RETURN_IF_ERROR(captured);
      TUTTI_RETURN_IF_ERROR(Check(d, d.GraphInstantiate(&exec, graph, 0), "a graph"));
    }
    return Check(d, d.GraphLaunch(exec, b.device.stream()), "replaying a graph");
  });
  if (exec != nullptr) d.GraphExecDestroy(exec);
  if (graph != nullptr) d.GraphDestroy(graph);
  ++g_tally.cases;
  if (!status.ok()) ++g_tally.wrong;
  return group.failure;
}

// Counts of a group's members, none so large that all together do not fit.
std::size_t MemberCount(std::mt19937& random, int members, int ranks, std::size_t element) {
  const std::size_t most = kBufferBytes / 4 / static_cast<std::size_t>(members * ranks) / element;
  const unsigned kind = random() % 8, size = random();
  return std::min<std::size_t>(kind == 0 ? 1 : kind < 4 ? size % 300 : kind < 7 ? size % 20000 : size % 700000, most);
}

// Every way to run groups that are alike in one launch, on few and on many channels.
Status RunBatches(Bench& b) {
  constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kBfloat16, DataType::kInt32, DataType::kUint8};
  std::mt19937 random(11);
  for (int c = 0; c <= static_cast<int>(Collective::kAllToAll); ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const algo::Entry& entry : algo::Registry()) {
      for (int protocol = 0; protocol < proto::kProtocols; ++protocol) {
        if (!IsUsed(b, protocol) || !HasWay(b, entry, collective, protocol, true)) continue;
        for (const int members : {1, exec::gpu::kFewItems, exec::gpu::kFewItems + 1, 70, exec::gpu::kMaxItems}) {
          if (b.quick && members > 16 && members < exec::gpu::kMaxItems) continue;
          const tune::GpuChoice way{.algorithm = entry.algorithm,
                                    .protocol = static_cast<proto::Protocol>(protocol),
                                    .channels = static_cast<int>(random() % MostChannels(b)) + 1};
          Case common{.kind = static_cast<Kind>(c), .type = kTypes[random() % std::size(kTypes)]};
          const bool mixes = !Reduces(collective) && random() % 2 == 0;
          common.op = random() % 3 == 0 ? ReduceOp::kAvg : ReduceOp::kSum;
          common.root = static_cast<int>(random() % b.ranks());
          CaseGroup group;
          for (int i = 0; i < members; ++i) {
            Case member = common;
            if (mixes) member.type = kTypes[random() % std::size(kTypes)];
            member.count = std::max<std::size_t>(MemberCount(random, members, b.ranks(), SizeOf(member.type)), 1);
            member.in_place = collective != Collective::kAllToAll && random() % 3 == 0;
            member.misalign = random() % 3 == 0 ? SizeOf(member.type) : 0;
            group.cases.push_back(member);
          }
          const std::uint64_t before = b.gpu.impl()->executor.kernels_launched();
          Status status = RunCaseGroup(b, group, random(), false, [&](std::span<const Operation> operations) {
            return b.gpu.impl()->groups.RunAs(operations, way, b.device.stream());
          });
          if (status.ok() && b.gpu.impl()->executor.kernels_launched() - before != 2) {
            status = Status(Code::kInternal, "a batch took more than one launch");
          }
          if (!status.ok()) {
            status = Status(status.code(), fmt::format("batch of {} by {} on {} channels: {}", members,
                                                       tune::ToString(way), way.channels, status.message()));
          }
          TUTTI_RETURN_IF_ERROR(Agree(b, status));
        }
      }
    }
  }
  return Status::Ok();
}

// Groups of collectives at random, alike and not, empty ones among them; every second one in a graph.
Status RunRandomGroups(Bench& b, int groups) {
  std::mt19937 random(13);
  for (int number = 0; number < groups; ++number) {
    constexpr int kMembers[] = {1, 2, 5, 8, 30, 64, 65, 100};
    const int members = kMembers[random() % std::size(kMembers)], kinds = 1 + static_cast<int>(random() % 3);
    std::vector<Case> common(kinds);
    for (Case& c : common) {
      c.kind = static_cast<Kind>(random() % (static_cast<int>(Collective::kAllToAll) + 1));
      c.type = static_cast<DataType>(random() % kNcclDataTypes);
      c.op = static_cast<ReduceOp>(random() % 2 == 0 ? 0 : random() % kNcclReduceOps);
      c.root = static_cast<int>(random() % b.ranks());
    }
    CaseGroup group;
    for (int i = 0; i < members; ++i) {
      Case member = common[random() % kinds];
      member.count = random() % 10 == 0 ? 0 : MemberCount(random, members, b.ranks(), SizeOf(member.type));
      member.in_place = member.kind != Kind::kAllToAll && random() % 3 == 0;
      member.misalign = random() % 3 == 0 ? SizeOf(member.type) : 0;
      group.cases.push_back(member);
    }
    Status status = RunCaseGroup(b, group, random(), number % 2 == 1, [&](std::span<const Operation> operations) {
      return b.gpu.RunGroup(operations, b.device.stream());
    });
    if (!status.ok()) status = Status(status.code(), fmt::format("group {}: {}", number, status.message()));
    TUTTI_RETURN_IF_ERROR(Agree(b, status));
  }
  return Status::Ok();
}

// Rows of large operations over the same rings, none waited for before the next one is enqueued: sends and receives, relays,
// and chains, to which all those rings are lent. Every second row in a graph; in the others a rank comes late, when its rings are
// full already.
Status RunRows(Bench& b) {
  struct Way {
    Kind kind;
    algo::Algorithm algorithm;
  };
  const bool many = b.gpu.impl()->fabric->sections().many();  // then there are no relays, but trees
  const algo::Algorithm line = many ? algo::Algorithm::kTree : algo::Algorithm::kRing,
                        shots = many ? algo::Algorithm::kDoubleTree : algo::Algorithm::kTwoShot;
  const Way ways_of_rows[] = {{Kind::kBroadcast, line},
                              {Kind::kReduce, line},
                              {Kind::kAllReduce, shots},
                              {Kind::kReduce, shots},
                              {Kind::kAllToAll, algo::Algorithm::kPairwise},
                              {Kind::kAllGather, algo::Algorithm::kOneShot},
                              {Kind::kGather, algo::Algorithm::kOneShot},
                              {Kind::kScatter, algo::Algorithm::kOneShot}};
  constexpr int kRows = 80;
  std::mt19937 random(17);
  for (int number = 0; number < kRows; ++number) {
    const int members = 2 + static_cast<int>(random() % 5);
    const std::size_t most = kBufferBytes / 2 / static_cast<std::size_t>(members * b.ranks()) / sizeof(float);
    CaseGroup group;
    std::vector<tune::GpuChoice> ways;
    for (int i = 0; i < members; ++i) {
      const Way& way = ways_of_rows[random() % std::size(ways_of_rows)];
      Case member{.kind = way.kind, .count = random() % most + 1, .type = DataType::kFloat32};
      member.root = static_cast<int>(random() % b.ranks());
      member.in_place = member.kind != Kind::kAllToAll && random() % 3 == 0;
      group.cases.push_back(member);
      ways.push_back({.algorithm = way.algorithm, .protocol = proto::Protocol::kSimple});
    }
    const bool in_graph = number % 2 == 1, late = static_cast<int>(random() % b.ranks()) == b.rank();
    Status status = RunCaseGroup(b, group, random(), in_graph, [&](std::span<const Operation> operations) {
      if (late && !in_graph) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      for (std::size_t i = 0; i < operations.size(); ++i) {
        TUTTI_RETURN_IF_ERROR(b.gpu.impl()->runner.RunAs(operations[i], ways[i], b.device.stream()));
      }
      return Status::Ok();
    });
    if (!status.ok()) status = Status(status.code(), fmt::format("row {}: {}", number, status.message()));
    TUTTI_RETURN_IF_ERROR(Agree(b, status));
  }
  return Status::Ok();
}

// How many launches a group of `members` takes whose i-th is as `vary` makes it.
Status CheckLaunches(Bench& b, const char* what, int members, std::uint64_t expected,
                     const std::function<void(int i, Operation& o)>& vary) {
  std::vector<Operation> operations;
  for (int i = 0; i < members; ++i) {
    std::byte* data = b.device.first() + static_cast<std::ptrdiff_t>(i) * 8192;
    Operation o{.kind = Kind::kAllReduce,
                .in = data,
                .out = data,
                .count = 100 + static_cast<std::size_t>(i),
                .type = DataType::kFloat32};
    vary(i, o);
    operations.push_back(o);
  }
  ++g_tally.cases;
  const std::uint64_t before = b.gpu.impl()->executor.kernels_launched();
  TUTTI_RETURN_IF_ERROR(b.gpu.RunGroup(operations, b.device.stream()));
  TUTTI_RETURN_IF_ERROR(b.device.Synchronize());
  const std::uint64_t launches = b.gpu.impl()->executor.kernels_launched() - before;
  if (launches == expected) return Status::Ok();
  // Among many ranks a plan may be too long for a launch of several, or take rounds.
  if (b.ranks() > kMostInRankOrder && launches > expected) return Status::Ok();
  ++g_tally.wrong;
  return Status(Code::kInternal,
                fmt::format("a group of {} {} took {} launches, not {}", members, what, launches, expected));
}

// What shares a launch, and what does not.
Status RunLaunchCounts(Bench& b) {
  constexpr auto kLaunchesOf = [](int items) {
    return static_cast<std::uint64_t>((items - 1) / exec::gpu::kMaxItems + 1);
  };
  for (const int members : {2, exec::gpu::kFewItems + 1, 100, exec::gpu::kMaxItems, 300}) {
    TUTTI_RETURN_IF_ERROR(CheckLaunches(b, "sums", members, kLaunchesOf(members), [](int, Operation&) {}));
  }
  TUTTI_RETURN_IF_ERROR(CheckLaunches(b, "sums of two types", 40, 2, [](int i, Operation& o) {
    o.type = i % 2 == 0 ? DataType::kFloat32 : DataType::kInt32;
  }));
  TUTTI_RETURN_IF_ERROR(CheckLaunches(
      b, "sums and averages", 40, 2, [](int i, Operation& o) { o.op = i % 2 == 0 ? ReduceOp::kSum : ReduceOp::kAvg; }));
  TUTTI_RETURN_IF_ERROR(CheckLaunches(b, "products", 3, 3, [](int, Operation& o) { o.op = ReduceOp::kProd; }));
  TUTTI_RETURN_IF_ERROR(CheckLaunches(b, "scaled sums", 3, 3, [&](int i, Operation& o) {
    o.op = ReduceOp::kPreMulSum;
    o.scalar = i % 2 == 0 ? 1 : b.rank();  // no rank knows whether those of the others are equal
  }));
  TUTTI_RETURN_IF_ERROR(CheckLaunches(b, "broadcasts of two types", 10, 1, [](int i, Operation& o) {
    o.kind = Kind::kBroadcast;
    o.type = i % 2 == 0 ? DataType::kFloat32 : DataType::kInt8;
  }));
  const auto roots = static_cast<std::uint64_t>(std::min(b.ranks(), 20));
  TUTTI_RETURN_IF_ERROR(CheckLaunches(b, "broadcasts from all ranks", 20, roots, [&](int i, Operation& o) {
    o.kind = Kind::kBroadcast;
    o.root = i % b.ranks();
  }));
  return CheckLaunches(b, "sums, half of them empty", 10, 1, [](int i, Operation& o) { o.count *= i % 2; });
}

// The estimate for a group knows that small operations share a launch.
Status RunEstimate(Bench& b) {
  constexpr std::size_t kMembers = 100;
  const std::vector<Operation> operations(kMembers, {.kind = Kind::kAllReduce,
                                                     .in = b.device.first(),
                                                     .out = b.device.second(),
                                                     .count = 100,
                                                     .type = DataType::kFloat32});
  const Result<double> all_us = b.gpu.impl()->groups.PredictCollectivesUs(operations);
  if (!all_us.ok()) return all_us.status();
  const Result<double> one_us = b.gpu.impl()->groups.PredictCollectivesUs(std::span(operations).first(1));
  if (!one_us.ok()) return one_us.status();
  ++g_tally.cases;
  if (*one_us > 0 && *all_us >= *one_us && *all_us < *one_us * kMembers / 2) return Status::Ok();
  ++g_tally.wrong;
  return Status(Code::kInternal, fmt::format("a group of {} small all_reduces is to take {} us, one of them {}",
                                             kMembers, *all_us, *one_us));
}

Status RunGroups(Bench& b) {
  TUTTI_RETURN_IF_ERROR(RunRandomGroups(b, b.quick ? kRandomGroupsQuick : kRandomGroups));
  if (b.several_hosts()) return Status::Ok();
  TUTTI_RETURN_IF_ERROR(Agree(b, RunLaunchCounts(b)));
  TUTTI_RETURN_IF_ERROR(Agree(b, RunEstimate(b)));
  return RunBatches(b);
}

// All ranks but the last start an all_reduce that the last never joins; its Abort must end them all within a second.
Status RunAbort(Bench& b) {
  const auto ms_since = [](std::chrono::steady_clock::time_point then) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - then).count();
  };
  const bool absent = b.rank() == b.ranks() - 1;
  auto* data = b.device.first();
  // Another communicator of the same ranks, which is destroyed while a kernel of the first one waits.
  Result<GpuCommunicator> created = GpuCommunicator::Create(b.communicator, {.device = b.gpu.impl()->options.device});
  if (!created.ok()) return created.status();
  auto other = std::make_unique<GpuCommunicator>(std::move(*created));
  TUTTI_RETURN_IF_ERROR(
      other->Run({.kind = Kind::kAllReduce, .in = data, .out = data, .count = 100, .type = DataType::kFloat32},
                 b.device.stream()));
  TUTTI_RETURN_IF_ERROR(b.communicator.Run(Barrier()));
  if (!absent) {
    TUTTI_RETURN_IF_ERROR(
        b.gpu.Run({.kind = Kind::kAllReduce, .in = data, .out = data, .count = 1000, .type = DataType::kFloat32},
                  b.device.stream()));
  }
  const auto destroyed = std::chrono::steady_clock::now();
  other.reset();
  const double destroy_ms = ms_since(destroyed);
  ++g_tally.cases;
  fmt::print("rank {}: destroying another communicator took {:.1f} ms\n", b.rank(), destroy_ms);
  if (destroy_ms > 1000) {
    ++g_tally.wrong;
    fmt::print("rank {}: destroying a communicator waited for another one's kernel\n", b.rank());
  }
  TUTTI_RETURN_IF_ERROR(b.communicator.Run(Barrier()));
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (absent) b.gpu.Abort("the test says so");
  Status status;
  while ((status = b.gpu.Check()).ok()) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(5)) {
      return Status(Code::kInternal, "nobody was told of an abort");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  b.device.driver().StreamSynchronize(b.device.stream());
  const double ms = ms_since(begin);
  ++g_tally.cases;
  fmt::print("rank {}: an abort 200 ms after the start ended it after {:.0f} ms: {}\n", b.rank(), ms, status.message());
  if (ms < 1200) return Status::Ok();
  ++g_tally.wrong;
  return Status(Code::kInternal, "an abort took longer than a second");
}

Status RunRank(Communicator& communicator, bool quick, const std::string& only) {
  const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
  if (!driver.ok()) return driver.status();
  int devices = 1;
  (*driver)->DeviceGetCount(&devices);
  const auto begin = std::chrono::steady_clock::now();
  Result<GpuCommunicator> gpu = GpuCommunicator::Create(communicator, {.device = communicator.rank() % devices});
  if (!gpu.ok()) return gpu.status();
  if (communicator.rank() == 0) {
    constexpr double kMiB = 1 << 20;
    fmt::print("{} ranks on {} GPUs, init {:.0f} ms, {:.1f} MiB of device and {:.1f} MiB of host memory per rank\n",
               communicator.ranks(), devices,
               std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count(),
               static_cast<double>(gpu->device_bytes()) / kMiB, static_cast<double>(gpu->host_bytes()) / kMiB);
  }
  Result<Device> device = Device::Create(*gpu, kBufferBytes);
  if (!device.ok()) return device.status();
  Bench bench{communicator, *gpu, *device, quick};
  struct Part {
    const char* name;
    Status (*run)(Bench&);
    bool of_kernels = false;  // it looks into them
  };
  const Part parts[] = {{"graphs", RunGraphs},           {"transfers", RunTransfers}, {"groups", RunGroups},
                        {"rows", RunRows, true},         {"scalars", RunScalars},     {"limits", RunLimits, true},
                        {"fallback", RunFallback, true}, {"huge", RunHuge},           {"bits", RunRandomBits},
                        {"all", RunEverything},          {"abort", RunAbort}};
  for (const auto& [name, part, of_kernels] : parts) {
    if (!only.empty() && only.find(name) == std::string::npos) continue;
    if (of_kernels && bench.several_hosts()) continue;
    const auto start = std::chrono::steady_clock::now();
    TUTTI_RETURN_IF_ERROR(part(bench));
    if (communicator.rank() == 0) {
      fmt::print("part {}: {} cases so far, {:.1f} s\n", name, g_tally.cases.load(),
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      std::fflush(stdout);
    }
  }
  return Status::Ok();
}

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  using namespace tutti;
  int threads = 0;
  bool quick = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") {
      quick = true;
    } else if (argument == "--threads" && i + 1 < argc) {
      threads = std::stoi(argv[++i]);
    } else if (argument == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else {
      fmt::print(stderr,
                 "usage: {} [--threads N] [--quick] [--only "
                 "graphs,transfers,groups,rows,scalars,limits,fallback,huge,bits,all,abort]\n",
                 argv[0]);
      return 2;
    }
  }
  if (threads > 0) tests::AskForQueuePerStream();
  Settings settings = Settings::FromEnvironment();
  settings.timeout_ms = std::min<std::int64_t>(settings.timeout_ms, 8000);
  Status status;
  if (threads > 0) {
    const std::string error = tests::RunRanks(
        threads, settings, [&](Communicator& communicator) { return tests::RunRank(communicator, quick, only); });
    if (!error.empty()) status = Status(Code::kInternal, error);
  } else {
    Result<Communicator> communicator = Communicator::FromEnvironment(settings);
    status = communicator.ok() ? tests::RunRank(*communicator, quick, only) : communicator.status();
  }
  if (!status.ok()) fmt::print("failed: {}\n", status.ToString());
  fmt::print("gpu_conformance: {} cases, {} wrong{}\n", tests::g_tally.cases.load(), tests::g_tally.wrong.load(),
             status.ok() ? "" : ", not finished");
  return status.ok() && tests::g_tally.wrong == 0 ? 0 : 1;
}
