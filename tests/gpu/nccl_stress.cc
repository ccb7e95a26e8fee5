// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// A random sequence of operations, sizes, types, groups, graphs and communicators through NCCL's C interface, every
// element of every result compared. On the GPUs that there are, else in host memory (ours alone offers that).
//
//   nccl_stress [--ranks N] [--hosts N] [--threads] [--seconds S] [--seed X] [--largest BYTES] [--iterations N]
//               [--windows] [--at-once]
//
// It runs whatever libnccl.so.2 it is given: LD_PRELOAD or `tutti preload --library FILE` change that. NVIDIA's takes one
// rank per GPU; ours several. With --windows the buffers of bursts are windows of every communicator, and some
// communicators have the zero-CTA policy. With --at-once up to four communicators work at the same time, called in another
// order by each rank, from the first use of kernels on; ranks need GPUs of their own. A failure names seed and iteration;
// the same seed makes the same sequence.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/gpu/nccl_job.h"
#include "tests/gpu/queues.h"
#include "tests/support/reference.h"

namespace tutti::tests {
namespace {

using Kind = Collective;

constexpr int kSlots = 4;         // communicators at a time; the first has all ranks
constexpr int kCheckEvery = 16;   // iterations between decisions to go on
constexpr int kPieces = 6;        // most operations of a burst, as a rule
constexpr int kManyPieces = 100;  // and at times
constexpr int kMostReplays = 3;   // of a graph
constexpr std::size_t kMargin = 32768;
// Of bursts, and of several communicators at once.
constexpr Kind kKinds[] = {Kind::kAllReduce, Kind::kAllGather, Kind::kReduceScatter, Kind::kBroadcast};

struct Options {
  int ranks = 0;
  int hosts = 1;
  bool threads = false;
  bool windows = false;
  bool at_once = false;
  double seconds = 30;
  std::uint64_t seed = 1;
  std::size_t largest = std::size_t{8} << 20;
  long iterations = 1L << 40;
};

// The same numbers on every rank.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::uint64_t Below(std::uint64_t limit) { return random_() % limit; }
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }
  std::uint64_t Seed() { return random_(); }
  // From 0 to `most`, small ones far more often: every power of two alike, large ones rare.
  std::size_t Size(std::size_t most) {
    const std::size_t small = std::min<std::size_t>(most, 65536);
    const std::size_t reach = OneIn(12) ? most : small;
    std::size_t power = 1;
    for (std::uint64_t i = Below(24); i > 0 && power < reach; --i) power *= 2;
    return std::min<std::size_t>(Below(power + 1), reach);
  }

 private:
  std::mt19937_64 random_;
};

// A communicator and who is in it. Without a communicator this rank is not.
struct Slot {
  ncclComm_t comm = nullptr;
  int rank = 0;
  int ranks = 0;
  bool exists = false;  // on some rank
};

class Stress {
 public:
  Stress(Job& job, int rank, Place& place, const Options& options)
      : job_(job), rank_(rank), place_(place), options_(options), dice_(options.seed) {}

  Status Run();
  long iteration() const { return iteration_; }

 private:
  struct Piece {
    Kind kind;
    std::size_t count;    // of int32
    std::size_t in, out;  // where in the buffers, bytes
    int root;
  };

  Status Step();
  Status MakeWorld();
  Status Replace(int index);
  Status Split(Slot& slot, std::span<const int> colour, bool reverse);
  Status Close(Slot& slot);
  Status RegisterWindows(ncclComm_t comm);
  Status RunOne(Slot& slot);
  Status RunBurst(Slot& slot);
  Status RunTransfers(Slot& slot);
  Status RunAtOnce();
  Status RunFirstUses();
  Status RunFirstUse(DataType type);

  Status Call(const Slot& slot, const Operation& o, int stream);
  Status CallPieces(const Slot& slot, const std::vector<Piece>& pieces, bool group, int stream);
  // The pieces lie in `bytes` bytes of the buffers, from `begin` on.
  Status FillPieces(const Slot& slot, const std::vector<Piece>& pieces, std::size_t bytes, std::uint32_t seed,
                    std::size_t begin = 0);
  Status ComparePieces(const Slot& slot, const std::vector<Piece>& pieces, std::size_t bytes, std::uint32_t seed,
                       std::size_t begin = 0);

  Job& job_;
  const int rank_;
  Place& place_;
  const Options& options_;
  Dice dice_;
  Slot slots_[kSlots];
  int ids_ = 0;
  long iteration_ = 0;
};

// ---------------------------------------------------------------------------------------------------------------
// Communicators

Status Stress::MakeWorld() {
  const Result<ncclUniqueId> id = job_.ShareId(rank_, static_cast<int>(dice_.Below(job_.ranks())), ids_++);
  if (!id.ok()) return id.status();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = dice_.OneIn(3) ? 0 : 1;
  config.splitShare = dice_.OneIn(2) ? 1 : 0;
  if (dice_.OneIn(4)) config.maxCTAs = 2;
  if (options_.windows && dice_.OneIn(2)) config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
  Slot& world = slots_[0];
  const ncclResult_t made = ncclCommInitRankConfig(&world.comm, job_.ranks(), *id, rank_, &config);
  TUTTI_RETURN_IF_ERROR(CheckNccl(made, world.comm, "ncclCommInitRankConfig"));
  world.rank = rank_;
  world.ranks = job_.ranks();
  world.exists = true;
  return RegisterWindows(world.comm);
}

// Where bursts have their data.
Status Stress::RegisterWindows(ncclComm_t comm) {
  for (int i = 0; i < 2 && options_.windows; ++i) {
    ncclWindow_t window = nullptr;
    const ncclResult_t result =
        ncclCommWindowRegister(comm, place_.buffer(i), place_.buffer_bytes(), &window, NCCL_WIN_COLL_SYMMETRIC);
    TUTTI_RETURN_IF_ERROR(CheckNccl(result, comm, "ncclCommWindowRegister"));
  }
  return Status::Ok();
}

Status Stress::Close(Slot& slot) {
  const bool finalize = dice_.OneIn(2);
  if (slot.comm != nullptr) {
    if (finalize) TUTTI_RETURN_IF_ERROR(CheckNccl(ncclCommFinalize(slot.comm), slot.comm, "ncclCommFinalize"));
    TUTTI_RETURN_IF_ERROR(CheckNccl(ncclCommDestroy(slot.comm), nullptr, "ncclCommDestroy"));
  }
  slot = Slot{};
  return Status::Ok();
}

// Another communicator in a slot: a split of all ranks by random colours, in either order; the world now and then anew.
Status Stress::Replace(int index) {
  if (index == 0) {
    for (Slot& slot : slots_) TUTTI_RETURN_IF_ERROR(Close(slot));
    return MakeWorld();
  }
  Slot& slot = slots_[index];
  TUTTI_RETURN_IF_ERROR(Close(slot));
  const int colours = options_.at_once ? 1 : 1 + static_cast<int>(dice_.Below(2));
  const bool reverse = dice_.OneIn(2), leave_out = !options_.at_once && dice_.OneIn(4);
  std::vector<int> colour(job_.ranks());
  for (int& c : colour) c = leave_out && dice_.OneIn(4) ? NCCL_SPLIT_NOCOLOR : static_cast<int>(dice_.Below(colours));
  return Split(slot, colour, reverse);
}

Status Stress::Split(Slot& slot, std::span<const int> colour, bool reverse) {
  const ncclResult_t result =
      ncclCommSplit(slots_[0].comm, colour[rank_], reverse ? -rank_ : rank_, &slot.comm, nullptr);
  TUTTI_RETURN_IF_ERROR(CheckNccl(result, slots_[0].comm, "ncclCommSplit"));
  slot.exists = true;
  if (colour[rank_] == NCCL_SPLIT_NOCOLOR) {
    return slot.comm == nullptr ? Status::Ok() : Status(Code::kInternal, "a split without colour made a communicator");
  }
  TUTTI_RETURN_IF_ERROR(CheckNccl(ncclInProgress, slot.comm, "ncclCommSplit"));  // its own making
  for (int r = 0; r < job_.ranks(); ++r) {
    if (colour[r] != colour[rank_]) continue;
    ++slot.ranks;
    if (reverse ? r > rank_ : r < rank_) ++slot.rank;
  }
  int rank = -1, ranks = -1;
  TUTTI_RETURN_IF_ERROR(CheckNccl(ncclCommUserRank(slot.comm, &rank), slot.comm, "ncclCommUserRank"));
  TUTTI_RETURN_IF_ERROR(CheckNccl(ncclCommCount(slot.comm, &ranks), slot.comm, "ncclCommCount"));
  if (rank == slot.rank && ranks == slot.ranks) return RegisterWindows(slot.comm);
  return Status(Code::kInternal,
                fmt::format("a split gave rank {} of {}, not {} of {}", rank, ranks, slot.rank, slot.ranks));
}

// ---------------------------------------------------------------------------------------------------------------
// One collective, of any type and operator

// 1 or 2 in an element type.
std::uint64_t Encode(DataType type, double value) {
  const bool two = value == 2.0;
  std::uint64_t bits = two ? 2 : 1;
  switch (type) {
    case DataType::kFloat16:
      return two ? 0x4000 : 0x3c00;
    case DataType::kBfloat16:
      return two ? 0x4000 : 0x3f80;
    case DataType::kFloat8E4M3:
      return two ? 0x40 : 0x38;
    case DataType::kFloat8E5M2:
      return two ? 0x40 : 0x3c;
    case DataType::kFloat32: {
      const auto number = static_cast<float>(value);
      bits = 0;
      std::memcpy(&bits, &number, sizeof(number));
      return bits;
    }
    case DataType::kFloat64:
      std::memcpy(&bits, &value, sizeof(value));
      return bits;
    default:
      return bits;
  }
}

Status Stress::Call(const Slot& slot, const Operation& o, int stream_index) {
  const cudaStream_t stream = place_.stream(stream_index);
  const auto type = static_cast<ncclDataType_t>(o.type);
  auto op = static_cast<ncclRedOp_t>(o.op);
  const bool own_op = Reduces(o.kind) && o.op == ReduceOp::kPreMulSum;
  if (own_op) {
    std::uint64_t scalar = Encode(o.type, o.scalar);
    TUTTI_RETURN_IF_ERROR(CheckNccl(ncclRedOpCreatePreMulSum(&op, &scalar, type, ncclScalarHostImmediate, slot.comm),
                                    slot.comm, "ncclRedOpCreatePreMulSum"));
  }
  ncclResult_t result = ncclInvalidArgument;
  switch (o.kind) {
    case Kind::kAllReduce:
      result = ncclAllReduce(o.in, o.out, o.count, type, op, slot.comm, stream);
      break;
    case Kind::kAllGather:
      result = ncclAllGather(o.in, o.out, o.count, type, slot.comm, stream);
      break;
    case Kind::kReduceScatter:
      result = ncclReduceScatter(o.in, o.out, o.count, type, op, slot.comm, stream);
      break;
    case Kind::kBroadcast:
      result = ncclBroadcast(o.in, o.out, o.count, type, o.root, slot.comm, stream);
      break;
    case Kind::kReduce:
      result = ncclReduce(o.in, o.out, o.count, type, op, o.root, slot.comm, stream);
      break;
    case Kind::kGather:
      result = ncclGather(o.in, o.out, o.count, type, o.root, slot.comm, stream);
      break;
    case Kind::kScatter:
      result = ncclScatter(o.in, o.out, o.count, type, o.root, slot.comm, stream);
      break;
    case Kind::kAllToAll:
      result = ncclAlltoAll(o.in, o.out, o.count, type, slot.comm, stream);
      break;
    default:
      break;
  }
  TUTTI_RETURN_IF_ERROR(CheckNccl(result, slot.comm, "a collective"));
  return own_op ? CheckNccl(ncclRedOpDestroy(op, slot.comm), slot.comm, "ncclRedOpDestroy") : Status::Ok();
}

Status Stress::RunOne(Slot& slot) {
  Case c{.kind = static_cast<Kind>(dice_.Below(static_cast<int>(Kind::kAllToAll) + 1)),
         .type = static_cast<DataType>(dice_.Below(kNcclDataTypes)),
         .op = static_cast<ReduceOp>(dice_.Below(kNcclReduceOps))};
  c.count = dice_.Size(options_.largest) / SizeOf(c.type) / static_cast<std::size_t>(job_.ranks());
  const std::uint64_t root = dice_.Below(1 << 20), seed = dice_.Seed();
  c.in_place = dice_.OneIn(3) && c.kind != Kind::kAllToAll;
  c.misalign = dice_.OneIn(3) ? SizeOf(c.type) : 0;
  const int stream = static_cast<int>(dice_.Below(Place::kStreams));
  if (slot.comm == nullptr) return Status::Ok();
  c.root = static_cast<int>(root % static_cast<std::uint64_t>(slot.ranks));
  ++job_.cases();
  const int buffers = options_.windows ? 2 : 0;  // in windows, ranks' buffers would have to have the same place
  return RunCaseOn(
      slot.rank, slot.ranks, c, seed,
      [&](const Operation& o, std::span<std::byte> first, std::span<std::byte> second) -> Status {
        const std::span<std::byte> storages[2] = {first, second};
        Operation moved = o;
        const auto move = [&](const void* p) -> std::byte* {
          for (int i = 0; i < 2; ++i) {
            const std::byte* begin = storages[i].data();
            if (p != nullptr && p >= begin && p <= begin + storages[i].size()) {
              return place_.buffer(buffers + i) + (static_cast<const std::byte*>(p) - begin);
            }
          }
          return nullptr;
        };
        moved.in = move(o.in);
        moved.out = move(o.out);
        for (int i = 0; i < 2; ++i) {
          TUTTI_RETURN_IF_ERROR(place_.CopyIn(place_.buffer(buffers + i), storages[i].data(), storages[i].size()));
        }
        TUTTI_RETURN_IF_ERROR(Call(slot, moved, stream));
        TUTTI_RETURN_IF_ERROR(place_.Wait(slot.comm, stream));
        for (int i = 0; i < 2; ++i) {
          TUTTI_RETURN_IF_ERROR(place_.CopyOut(storages[i].data(), place_.buffer(buffers + i), storages[i].size()));
        }
        return Status::Ok();
      });
}

// ---------------------------------------------------------------------------------------------------------------
// Several collectives of int32 at once: called one after the other, as a group, or as a graph that is replayed with
// other data.

std::uint32_t ValueOf(int rank, std::size_t i, std::uint32_t seed) {
  return (static_cast<std::uint32_t>(i) * 2654435761u + seed) ^ (static_cast<std::uint32_t>(rank) * 40503u);
}

std::size_t OutParts(Kind kind, int ranks) { return kind == Kind::kAllGather ? static_cast<std::size_t>(ranks) : 1; }
std::size_t InParts(Kind kind, int ranks) { return kind == Kind::kReduceScatter ? static_cast<std::size_t>(ranks) : 1; }

Status Stress::CallPieces(const Slot& slot, const std::vector<Piece>& pieces, bool group, int stream) {
  if (group) TUTTI_RETURN_IF_ERROR(CheckNccl(ncclGroupStart(), nullptr, "ncclGroupStart"));
  Status status = Status::Ok();
  for (const Piece& p : pieces) {
    const void* in = place_.buffer(0) + p.in;
    void* out = place_.buffer(1) + p.out;
    ncclResult_t result = ncclSuccess;
    const cudaStream_t s = place_.stream(stream);
    switch (p.kind) {
      case Kind::kAllReduce:
        result = ncclAllReduce(in, out, p.count, ncclUint32, ncclSum, slot.comm, s);
        break;
      case Kind::kAllGather:
        result = ncclAllGather(in, out, p.count, ncclUint32, slot.comm, s);
        break;
      case Kind::kReduceScatter:
        result = ncclReduceScatter(in, out, p.count, ncclUint32, ncclSum, slot.comm, s);
        break;
      default:
        result = ncclBroadcast(in, out, p.count, ncclUint32, p.root, slot.comm, s);
        break;
    }
    // Within a group nothing has begun, so there is nothing to wait for.
    if (status.ok() && !(group && result == ncclInProgress)) status = CheckNccl(result, slot.comm, "a collective");
  }
  if (group) {
    const Status ended = CheckNccl(ncclGroupEnd(), slot.comm, "ncclGroupEnd");
    if (status.ok()) status = ended;
  }
  return status;
}

Status Stress::FillPieces(const Slot& slot, const std::vector<Piece>& pieces, std::size_t bytes, std::uint32_t seed,
                          std::size_t begin) {
  std::vector<std::uint32_t> in(bytes / 4 + 1), out(bytes / 4 + 1, 0x5a5a5a5a);
  for (const Piece& p : pieces) {
    for (std::size_t i = 0; i < p.count * InParts(p.kind, slot.ranks); ++i)
      in[(p.in - begin) / 4 + i] = ValueOf(slot.rank, i, seed);
  }
  TUTTI_RETURN_IF_ERROR(place_.CopyIn(place_.buffer(0) + begin, in.data(), bytes));
  return place_.CopyIn(place_.buffer(1) + begin, out.data(), bytes);
}

Status Stress::ComparePieces(const Slot& slot, const std::vector<Piece>& pieces, std::size_t bytes, std::uint32_t seed,
                             std::size_t begin) {
  std::vector<std::uint32_t> expected(bytes / 4 + 1, 0x5a5a5a5a), got(bytes / 4 + 1, 0x5a5a5a5a);
  const auto sum = [&](std::size_t i) {
    std::uint32_t total = 0;
    for (int r = 0; r < slot.ranks; ++r) total += ValueOf(r, i, seed);
    return total;
  };
  for (const Piece& p : pieces) {
    std::uint32_t* out = expected.data() + (p.out - begin) / 4;
    for (std::size_t i = 0; i < p.count * OutParts(p.kind, slot.ranks); ++i) {
      switch (p.kind) {
        case Kind::kAllReduce:
          out[i] = sum(i);
          break;
        case Kind::kAllGather:
          out[i] = ValueOf(static_cast<int>(i / p.count), i % p.count, seed);
          break;
        case Kind::kReduceScatter:
          out[i] = sum(static_cast<std::size_t>(slot.rank) * p.count + i);
          break;
        default:
          out[i] = ValueOf(p.root, i, seed);
          break;
      }
    }
  }
  TUTTI_RETURN_IF_ERROR(place_.CopyOut(got.data(), place_.buffer(1) + begin, bytes));
  if (got == expected) return Status::Ok();
  const std::size_t at = static_cast<std::size_t>(std::ranges::mismatch(got, expected).in1 - got.begin());
  for (const Piece& p : pieces) {
    const std::size_t first = (p.out - begin) / 4, end = first + p.count * OutParts(p.kind, slot.ranks);
    if (at < first || at >= end) continue;
    return Status(Code::kInternal, fmt::format("{} of {} uint32 among {}: element {} is {:#x}, not {:#x}", Name(p.kind),
                                               p.count, pieces.size(), at - first, got[at], expected[at]));
  }
  return Status(Code::kInternal, fmt::format("word {} of the output was written, which belongs to no operation", at));
}

Status Stress::RunBurst(Slot& slot) {
  const auto ranks_in_all = static_cast<std::size_t>(job_.ranks());
  const int most_pieces = dice_.OneIn(4) ? kManyPieces : kPieces;
  const std::size_t share = options_.largest / static_cast<std::size_t>(most_pieces) / 4 / ranks_in_all;
  const std::size_t most = std::max<std::size_t>(share, 1);
  std::vector<Piece> pieces(2 + dice_.Below(static_cast<std::size_t>(most_pieces) - 1));
  std::size_t bytes = 0;
  for (Piece& p : pieces) {
    p.kind = kKinds[dice_.Below(4)];
    p.count = 1 + dice_.Size(most * 4) / 4;
    p.in = p.out = bytes;
    p.root = static_cast<int>(dice_.Below(1 << 20) % static_cast<std::size_t>(std::max(slot.ranks, 1)));
    bytes += (p.count * ranks_in_all + dice_.Below(3)) * 4;
  }
  const bool group = dice_.OneIn(2), graph = dice_.OneIn(3) && place_.on_gpu();
  const int stream = static_cast<int>(dice_.Below(Place::kStreams));
  const auto replays = 1 + static_cast<int>(dice_.Below(kMostReplays));
  const auto seed = static_cast<std::uint32_t>(dice_.Seed());
  if (slot.comm == nullptr) return Status::Ok();
  ++job_.cases();
  sys::cuda::GraphExec exec = nullptr;
  if (graph) {
    Result<sys::cuda::GraphExec> made = place_.Capture(stream, [&] { return CallPieces(slot, pieces, group, stream); });
    if (!made.ok()) return made.status();
    exec = *made;
  }
  Status status = Status::Ok();
  for (int i = 0; i < (graph ? replays : 1) && status.ok(); ++i) {
    const std::uint32_t own_seed = seed + static_cast<std::uint32_t>(i);
    TUTTI_RETURN_IF_ERROR(FillPieces(slot, pieces, bytes, own_seed));
    status = graph ? place_.Replay(exec, stream) : CallPieces(slot, pieces, group, stream);
    if (status.ok()) status = place_.Wait(slot.comm, stream);
    if (status.ok()) status = ComparePieces(slot, pieces, bytes, own_seed);
    if (!status.ok()) {
      status = Status(status.code(), fmt::format("{}{}: {}", graph ? fmt::format("graph, replay {}", i) : "burst",
                                                 group ? ", group" : "", status.message()));
    }
  }
  if (exec != nullptr) place_.Forget(exec);
  return status;
}

// ---------------------------------------------------------------------------------------------------------------
// A group of sends and receives of sizes that differ, to oneself too, in another order on every rank

Status Stress::RunTransfers(Slot& slot) {
  struct Transfer {
    int from, to;
    std::size_t bytes, at;
  };
  const auto value = [](const Transfer& t, std::size_t i) {
    return static_cast<std::byte>(t.from * 89 + t.to * 37 + i * 131 + (i >> 8));
  };
  const std::uint64_t seed = dice_.Seed();
  const std::size_t most = options_.largest / 2 / static_cast<std::size_t>(job_.ranks());
  if (slot.comm == nullptr) return Status::Ok();
  Dice dice(seed);  // its draws depend on the communicator's size, which differs between ranks
  std::vector<Transfer> out, in;
  std::size_t out_bytes = 0, in_bytes = 0;
  for (int from = 0; from < slot.ranks; ++from) {
    for (int to = 0; to < slot.ranks; ++to) {
      if (dice.OneIn(4)) continue;
      const std::size_t bytes = dice.Size(most), gap = dice.Below(8);
      if (from == slot.rank) out.push_back({from, to, bytes, out_bytes});
      if (from == slot.rank) out_bytes += bytes + gap;
      if (to == slot.rank) in.push_back({from, to, bytes, in_bytes});
      if (to == slot.rank) in_bytes += bytes + gap;
    }
  }
  ++job_.cases();
  std::vector<std::byte> sent(out_bytes + 1), expected(in_bytes + 1, std::byte{0x5a}), got = expected;
  for (const Transfer& t : out) {
    for (std::size_t i = 0; i < t.bytes; ++i) sent[t.at + i] = value(t, i);
  }
  for (const Transfer& t : in) {
    for (std::size_t i = 0; i < t.bytes; ++i) expected[t.at + i] = value(t, i);
  }
  TUTTI_RETURN_IF_ERROR(place_.CopyIn(place_.buffer(0), sent.data(), sent.size()));
  TUTTI_RETURN_IF_ERROR(place_.CopyIn(place_.buffer(1), got.data(), got.size()));
  const int stream = static_cast<int>(seed % Place::kStreams);
  TUTTI_RETURN_IF_ERROR(CheckNccl(ncclGroupStart(), nullptr, "ncclGroupStart"));
  Status status = Status::Ok();
  const auto note = [&](ncclResult_t result) {
    if (result != ncclInProgress && status.ok()) status = CheckNccl(result, slot.comm, "a transfer");
  };
  std::ranges::rotate(out, out.begin() + static_cast<std::ptrdiff_t>(out.empty() ? 0 : seed % out.size()));
  for (const Transfer& t : in) {
    note(ncclRecv(place_.buffer(1) + t.at, t.bytes, ncclUint8, t.from, slot.comm, place_.stream(stream)));
  }
  for (const Transfer& t : out) {
    note(ncclSend(place_.buffer(0) + t.at, t.bytes, ncclUint8, t.to, slot.comm, place_.stream(stream)));
  }
  const Status ended = CheckNccl(ncclGroupEnd(), slot.comm, "ncclGroupEnd");
  if (status.ok()) status = ended;
  if (status.ok()) status = place_.Wait(slot.comm, stream);
  if (!status.ok()) return status;
  TUTTI_RETURN_IF_ERROR(place_.CopyOut(got.data(), place_.buffer(1), got.size()));
  if (got == expected) return Status::Ok();
  const std::size_t at = static_cast<std::size_t>(std::ranges::mismatch(got, expected).in1 - got.begin());
  return Status(Code::kInternal, fmt::format("transfers: byte {} of {} is wrong", at, got.size()));
}

// ---------------------------------------------------------------------------------------------------------------
// Communicators on streams of their own, which every rank calls in an order of its own; on each a row of the same collective, at
// times with a small one after each. All must find room on every GPU, whatever else of their rows waits there already
// (docs/decisions/0012-part-of-a-gpu.md).

Status Stress::RunAtOnce() {
  std::vector<int> chosen;
  for (int k = 0; k < kSlots; ++k) {
    if (slots_[k].exists) chosen.push_back(k);
  }
  const std::size_t share = options_.largest / kSlots / 64 * 64;
  const bool with_small = dice_.OneIn(2);
  std::vector<Piece> pieces[kSlots], rows[kSlots];
  for (const int k : chosen) {
    const Kind kind = kKinds[dice_.Below(4)];
    const auto root = static_cast<int>(dice_.Below(1 << 20) % static_cast<std::size_t>(std::max(slots_[k].ranks, 1)));
    const bool parts = kind == Kind::kAllGather || kind == Kind::kReduceScatter;
    const std::size_t most = share / 4 / (parts ? static_cast<std::size_t>(job_.ranks()) : 1);
    const std::size_t at = static_cast<std::size_t>(k) * share;
    const std::size_t count = dice_.OneIn(2) ? most : 1 + dice_.Below(most);
    pieces[k] = {{kind, count, at, at, root}};
    const std::size_t margin = options_.largest + static_cast<std::size_t>(k) * 64;
    for (std::uint64_t i = 1 + dice_.Below(kPieces); i > 0; --i) {
      rows[k].push_back(pieces[k][0]);
      if (with_small) rows[k].push_back({Kind::kAllReduce, 1, margin, margin, 0});
    }
  }
  const auto seed = static_cast<std::uint32_t>(dice_.Seed());
  std::erase_if(chosen, [&](int k) { return slots_[k].comm == nullptr; });
  for (const int k : chosen) TUTTI_RETURN_IF_ERROR(FillPieces(slots_[k], pieces[k], share, seed, pieces[k][0].in));
  // From now on each works on its stream; otherwise one would have to wait for what the other one does there.
  for (const int k : chosen) {
    TUTTI_RETURN_IF_ERROR(CallPieces(slots_[k], {rows[k].back()}, false, k));
    TUTTI_RETURN_IF_ERROR(place_.Wait(slots_[k].comm, k));
  }
  std::vector<int> order = chosen;
  std::ranges::shuffle(order, std::mt19937(seed + static_cast<std::uint32_t>(rank_)));
  for (const int k : order) TUTTI_RETURN_IF_ERROR(CallPieces(slots_[k], rows[k], false, k));
  for (const int k : chosen) {
    ++job_.cases();
    TUTTI_RETURN_IF_ERROR(place_.Wait(slots_[k].comm, k));
    TUTTI_RETURN_IF_ERROR(ComparePieces(slots_[k], pieces[k], share, seed, pieces[k][0].in));
  }
  return Status::Ok();
}

// The same of two with kernels that have never run: a library that loads them only now waits for those that run, of either
// communicator.
Status Stress::RunFirstUses() {
  for (int k = 1; k < kSlots; ++k) TUTTI_RETURN_IF_ERROR(Replace(k));
  for (int type = 0; type < kNcclDataTypes; ++type) TUTTI_RETURN_IF_ERROR(RunFirstUse(static_cast<DataType>(type)));
  return Status::Ok();
}

Status Stress::RunFirstUse(DataType type) {
  constexpr ReduceOp kOps[2] = {ReduceOp::kMin, ReduceOp::kMax};
  constexpr std::size_t kCount = 1000;
  const std::uint64_t one = Encode(type, 1), two = Encode(type, 2);
  const std::size_t size = SizeOf(type), bytes = kCount * size;
  std::vector<std::byte> in(bytes), expected[2] = {in, in}, got(bytes);
  for (std::size_t i = 0; i < kCount; ++i) {
    const bool mine = i % static_cast<std::size_t>(job_.ranks()) == static_cast<std::size_t>(rank_);
    std::memcpy(&in[i * size], mine ? &two : &one, size);  // every element is two on one rank
    std::memcpy(&expected[0][i * size], job_.ranks() > 1 ? &one : &two, size);
    std::memcpy(&expected[1][i * size], &two, size);
  }
  std::byte* outs[2] = {place_.buffer(1), place_.buffer(1) + kMargin / 2};
  TUTTI_RETURN_IF_ERROR(place_.CopyIn(place_.buffer(0), in.data(), bytes));
  for (int i = 0; i < 2; ++i) {
    const int k = (i + rank_) % 2;
    const Operation o{
        .kind = Kind::kAllReduce, .in = place_.buffer(0), .out = outs[k], .count = kCount, .type = type, .op = kOps[k]};
    TUTTI_RETURN_IF_ERROR(Call(slots_[k], o, k));
  }
  for (int k = 0; k < 2; ++k) {
    ++job_.cases();
    TUTTI_RETURN_IF_ERROR(place_.Wait(slots_[k].comm, k));
    TUTTI_RETURN_IF_ERROR(place_.CopyOut(got.data(), outs[k], bytes));
    if (got != expected[k]) return Status(Code::kInternal, fmt::format("first use of {}: wrong", Name(type)));
  }
  return Status::Ok();
}

// ---------------------------------------------------------------------------------------------------------------

Status Stress::Step() {
  if (dice_.OneIn(400)) return Replace(0);
  if (dice_.OneIn(40)) return Replace(1 + static_cast<int>(dice_.Below(kSlots - 1)));
  Slot* slot = &slots_[dice_.Below(kSlots)];
  if (!slot->exists) slot = &slots_[0];
  if (options_.at_once && slot != &slots_[0] && dice_.OneIn(2)) return RunAtOnce();
  switch (dice_.Below(4)) {
    case 0:
      return RunBurst(*slot);
    case 1:
      return RunTransfers(*slot);
    default:
      return RunOne(*slot);
  }
}

Status Stress::Run() {
  TUTTI_RETURN_IF_ERROR(MakeWorld());
  if (options_.at_once) TUTTI_RETURN_IF_ERROR(RunFirstUses());
  const std::int64_t end = HostNowNs() + static_cast<std::int64_t>(options_.seconds * 1e9);
  for (; iteration_ < options_.iterations; ++iteration_) {
    if (iteration_ % kCheckEvery == 0) {
      const Result<int> go_on =
          job_.Decide(rank_, static_cast<int>(iteration_ / kCheckEvery), HostNowNs() < end ? 1 : 0);
      if (!go_on.ok()) return go_on.status();
      if (*go_on == 0) break;
    }
    TUTTI_RETURN_IF_ERROR(Step());
  }
  for (int i = kSlots; i-- > 0;) TUTTI_RETURN_IF_ERROR(Close(slots_[i]));
  return Status::Ok();
}

bool RunRank(Job& job, int rank, int gpus, const Options& options) {
  Result<Place> place = Place::Open(rank, gpus, options.largest + kMargin, options.windows ? 4 : 2);
  if (!place.ok()) {
    fmt::print("rank {}: {}\n", rank, place.status().message());
    return false;
  }
  Stress stress(job, rank, *place, options);
  const Status status = stress.Run();
  if (status.ok()) return true;
  ++job.wrong();
  fmt::print("rank {}: seed {}, iteration {}: {}\n", rank, options.seed, stress.iteration(), status.message());
  std::fflush(stdout);
  return false;
}

int Main(Options options) {
  const int gpus = CountGpus();
  if (options.ranks == 0) options.ranks = gpus == 0 ? 4 : std::max(gpus, 2);
  if (options.at_once && (options.ranks > gpus || options.windows)) {
    fmt::print(stderr, "--at-once needs a GPU for every rank, and no windows\n");
    return 2;
  }
  Job job(options.ranks);
  job.SpreadOver(options.hosts);
  const auto body = [&](int rank) { return RunRank(job, rank, gpus, options); };
  const double limit = options.seconds + 2 * kWaitSeconds;
  const bool good = options.threads ? job.RunThreads(limit, body) : job.RunProcesses(limit, body);
  int version = 0;
  if (good) ncclGetVersion(&version);
  fmt::print("stress: {} ranks as {} {}, seed {}, {} cases, {} wrong: {}\n", options.ranks,
             options.threads ? "threads" : "processes",
             gpus == 0 ? std::string("in host memory") : fmt::format("on {} GPUs", gpus), options.seed,
             job.cases().load(), job.wrong().load(), good ? "passed" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  tutti::tests::Options options;
  const auto usage = [&] {
    fmt::print(
        stderr,
        "usage: {} [--ranks N] [--hosts N] [--threads] [--seconds S] [--seed X] [--largest BYTES] [--iterations N] "
        "[--windows] [--at-once]\n",
        argv[0]);
    return 2;
  };
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" || argument == "--windows" || argument == "--at-once") {
      bool& chosen = argument == "--threads"   ? options.threads
                     : argument == "--windows" ? options.windows
                                               : options.at_once;
      chosen = true;
      continue;
    }
    if (i + 1 == argc) return usage();
    const char* value = argv[++i];
    if (argument == "--ranks") {
      options.ranks = std::atoi(value);
    } else if (argument == "--hosts") {
      options.hosts = std::atoi(value);
    } else if (argument == "--seconds") {
      options.seconds = std::atof(value);
    } else if (argument == "--seed") {
      options.seed = std::strtoull(value, nullptr, 0);
    } else if (argument == "--largest") {
      options.largest = std::strtoull(value, nullptr, 0);
    } else if (argument == "--iterations") {
      options.iterations = std::atol(value);
    } else {
      return usage();
    }
  }
  if (options.ranks < 0 || options.ranks > 72 || options.largest < 4096) return usage();
  if (options.threads || options.at_once) tutti::tests::AskForQueuePerStream();
  return tutti::tests::Main(options);
}
