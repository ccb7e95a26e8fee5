// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Lists what would be launched for a grid of calls, by the driver of tests/support/fake_cuda.cc: no GPU is needed. Two lists,
// from before and after a change, show by `diff` whether anything else is chosen, cut or handed to kernels.
//
//   launch_list [ranks...]        the list of so many ranks; 2 to 16 unless said otherwise
//
// A line is a call and what it comes to: kernels with blocks, threads, clusters and a hash of their arguments, copies, and
// batches of words. Addresses in the hash are places in segments and buffers, so it is the same in every run.
#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "comm/gpu/impl.h"
#include "comm/gpu/planner.h"
#include "comm/gpu/runner.h"
#include "comm/gpu/window.h"
#include "comm/gpu/work.h"
#include "exec/gpu/format/relay.h"
#include "exec/gpu/format/transfer.h"
#include "exec/gpu/launch/images.h"
#include "exec/gpu/launch/launch.h"
#include "sys/cuda/cuda_memory.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/ranks.h"
#include "transport/p2p/fabric.h"
#include "transport/p2p/window.h"
#include "tune/gpu_model.h"

namespace tutti {
namespace {

using namespace exec::gpu;  // NOLINT: what kernels read
using Kind = Collective;

// Where a rank's memory lies, to make addresses the same in every run.
struct Place {
  std::uint64_t begin, bytes;
  std::string name;
};
thread_local std::vector<Place> t_places;
thread_local bool t_staged = false;          // positions lie apart from segments
thread_local std::string* t_list = nullptr;  // what this rank's calls come to

constexpr std::uint64_t kIn = std::uint64_t{1} << 45, kOut = std::uint64_t{1} << 46,
                        kBufferBytes = std::uint64_t{1} << 44;

std::string NameOf(std::uint64_t address) {
  if (address == 0) return "0";
  for (const Place& place : t_places) {
    if (address >= place.begin && address - place.begin < place.bytes) {
      return fmt::format("{}+{}", place.name, address - place.begin);
    }
  }
  return "?";
}

class Hash {
 public:
  template <typename T>
  void Add(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    AddBytes(&value, sizeof(value));
  }
  void AddAddress(const void* address) { AddAddress(reinterpret_cast<std::uint64_t>(address)); }
  void AddAddress(std::uint64_t address) {
    const std::string name = NameOf(address);
    AddBytes(name.data(), name.size());
  }
  // A place in a segment; where positions lie apart, it is another in every run.
  void AddShifted(std::uint64_t offset) { Add(t_staged ? 0 : offset); }
  template <typename T, typename... More>
  void AddAll(const T& value, const More&... more) {
    Add(value);
    if constexpr (sizeof...(more) > 0) AddAll(more...);
  }
  std::uint64_t value() const { return value_; }

 private:
  void AddBytes(const void* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      value_ = (value_ ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
    }
  }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

void Add(const ProgramItem& item, Hash& hash) {
  hash.AddAddress(item.in);
  hash.AddAddress(item.out);
  hash.AddAll(item.count, item.part_elements, item.chunk, item.element, item.full_parts, item.rounds,
              item.message_units);
  for (const ProgramPart& part : item.parts) hash.AddAll(part.count, part.block);
}

void Add(const Scaling& scaling, Hash& hash) {
  hash.AddAll(scaling.scale, scaling.divisor);
  if (scaling.scale == kNoScale) return;
  hash.AddAll(scaling.scalar, scaling.integer_scalar);
  if (scaling.scale == kScaleFromMemory) hash.AddAddress(scaling.factor);
}

void Add(const ShortForm& form, Hash& hash) {
  hash.AddAll(form.sends, form.forwards, form.takes, form.late, form.chunk_bytes, form.ring_bytes);
  for (int i = 0; i < 2; ++i) hash.AddAll(form.bytes[i], form.block_bytes[i]);
  const auto add = [&](const ShortSend& send) {
    hash.AddAddress(send.from);
    hash.AddAddress(send.to);
    hash.AddAll(send.unit, send.block);
  };
  for (int i = 0; i < form.sends; ++i) add(form.send[i]);
  for (int i = 0; i < form.forwards; ++i) add(form.forward[i]);
  for (int i = 0; i < form.takes + form.late; ++i) {
    const ShortTake& take = form.take[i];
    hash.AddAddress(take.at);
    hash.AddAddress(take.out);
    hash.AddAll(take.unit, take.peer, take.block, take.ring, take.place);
  }
}

// `with_item`: not of a batch, whose items are apart.
void Add(const Program& p, bool with_item, Hash& hash) {
  if (with_item) Add(static_cast<const ProgramItem&>(p), hash);
  Add(static_cast<const Scaling&>(p), hash);
  hash.AddAll(p.messages_per_round, p.steps, p.max_stage, p.rank, p.ranks, p.captured, p.flag_groups, p.rings, p.flags,
              p.credits, p.log2_ring_units, p.ring_bytes, p.timeout_ns);
  hash.AddShifted(p.states);
  hash.AddShifted(p.counts);
  for (int peer = 0; peer < p.ranks; ++peer) hash.AddAddress(p.segments[peer]);
  for (int i = 0; i < p.steps; ++i) {
    const ProgramStep& step = p.step(i);
    hash.AddAll(step.stage, step.stores, step.piece, step.block);
    for (int k = 0; k < step.operands; ++k) {
      const ProgramOperand& operand = p.operand(step.first_operand + k);
      hash.AddAll(operand.kind, operand.peer, operand.index, operand.block);
    }
    for (int k = 0; k < step.targets; ++k) {
      const ProgramTarget& target = p.target(step.first_target + k);
      hash.AddAll(target.peer, target.message);
    }
  }
  if (!with_item) return;
  hash.Add(p.is_short);
  if (p.is_short != kSteps) Add(p.short_form(), hash);
}

void Add(const Links& links, Hash& hash) {
  for (int peer = 0; peer < links.ranks; ++peer) hash.AddAddress(links.segments[peer]);
  for (int p = 0; p < transport::p2p::kProtocols; ++p) {
    hash.AddAll(links.rings[p], links.credits[p], links.ring_bytes[p], links.log2_ring_units[p]);
    hash.AddShifted(links.states[p]);
  }
  hash.AddShifted(links.counts);
  hash.AddAll(links.timeout_ns, links.flags, links.rank, links.ranks, links.peers, links.channels, links.captured,
              links.teams_per_block, links.teams, links.blocks);
}

void Add(const Group& g, Hash& hash) {
  Add(static_cast<const Links&>(g), hash);
  hash.AddAll(g.lanes, g.transfers, g.kernel, g.log2_team_threads);
  for (int i = 0; i < g.lanes; ++i) {
    const GroupLane& lane = g.lane[i];
    hash.AddAll(lane.kind, lane.peer, lane.first, lane.first_team, lane.channels);
  }
  for (int i = 0; i < g.transfers; ++i) {
    const GroupTransfer& transfer = g.transfer[i];
    hash.AddAddress(transfer.in);
    hash.AddAddress(transfer.out);
    hash.AddAll(transfer.bytes, transfer.channels, transfer.message_units, transfer.next, transfer.part_lines);
  }
}

void Add(const RelayBlock& block, Hash& hash) {
  hash.AddAddress(block.in);
  hash.AddAddress(block.out);
  hash.Add(block.bytes);
}

void Add(const Relay& r, Hash& hash) {
  Add(static_cast<const Links&>(r), hash);
  Add(static_cast<const Scaling&>(r), hash);
  hash.AddAll(r.element, r.message, r.units, r.steps, r.slice, r.slices, r.roles, r.own);
  for (int t = 0; t <= r.teams_per_block; ++t) hash.Add(r.first_warp[t]);
  for (int i = 0; i < r.roles; ++i) {
    const RelayRole& role = r.role[i];
    hash.AddAll(role.kind, role.sources, role.targets);
    if (role.sources > 0) hash.Add(role.source_channel);
    if (role.targets > 0) hash.Add(role.target_channel);
    for (int k = 0; k < role.sources; ++k) hash.Add(role.source[k]);
    for (int k = 0; k < role.targets; ++k) hash.Add(role.target[k]);
    if (role.kind == RelayRole::kOwner) Add(r.owned, hash);
    for (int k = 0; k < role.targets && role.kind == RelayRole::kSend; ++k) Add(r.send[k], hash);
    for (int k = 0; k < role.sources && role.kind == RelayRole::kReceive; ++k) Add(r.receive[k], hash);
  }
  hash.AddAll(r.lent.rings, r.lent.credits, r.lent.units, r.lent.each, r.lent.channels);
  hash.AddShifted(r.lent.states);
}

template <typename B>
void AddBatch(const B& batch, int blocks, Hash& hash) {
  Add(batch.program, false, hash);
  for (int channel = 0; channel < blocks; ++channel) {
    for (std::uint16_t item = batch.first_item[channel]; item != kNoItem; item = batch.items[item].next) {
      hash.AddAll(channel, item, batch.items[item].first_channel);
      Add(batch.items[item], hash);
    }
  }
}

std::uint64_t HashOf(const std::string& kernel, int blocks, const void* argument) {
  const auto names = [&](const char* part) { return kernel.find(part) != std::string::npos; };
  Hash hash;
  if (names("SendRecv")) {
    Add(*static_cast<const Group*>(argument), hash);
  } else if (names("Relay")) {
    Add(*static_cast<const Relay*>(argument), hash);
  } else if (names("FewBatch")) {
    AddBatch(*static_cast<const FewBatch*>(argument), blocks, hash);
  } else if (names("Batch")) {
    AddBatch(*static_cast<const Batch*>(argument), blocks, hash);
  } else {
    Add(*static_cast<const Program*>(argument), true, hash);
  }
  return hash.value();
}

void ListLaunch(const char* kernel, const sys::cuda::LaunchConfig& config, const void* argument) {
  if (t_list == nullptr) return;
  int cluster = 1, overlaps = 0;
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    const sys::cuda::LaunchAttribute& attribute = config.attributes[i];
    if (attribute.id == sys::cuda::kClusterDimension) cluster = static_cast<int>(attribute.cluster[0]);
    if (attribute.id == sys::cuda::kProgrammaticStreamSerialization) overlaps = attribute.value;
  }
  *t_list += fmt::format(" {} {}x{} c{} o{} {:016x}", kernel + std::strlen("ncclTutti"), config.grid_x, config.block_x,
                         cluster, overlaps, HashOf(kernel, static_cast<int>(config.grid_x), argument));
}

void ListCopy(sys::cuda::Address to, sys::cuda::Address from, std::size_t bytes) {
  if (t_list != nullptr) *t_list += fmt::format(" copy({} {} {})", NameOf(to), NameOf(from), bytes);
}

constexpr std::uint64_t kWayBits = 0xfe00;  // of CopyWords::stage

std::size_t ListWords(std::span<const sys::cuda::MemoryOperation> operations) {
  if (t_list == nullptr) return operations.size();
  Hash hash;
  for (const sys::cuda::MemoryOperation& o : operations) {
    hash.AddAll(o.operation, o.flags);
    // Neither how many operations there were, nor by which of all ways this one goes.
    if (o.operation != sys::cuda::kWriteLong) hash.Add(o.value & ~kWayBits);
    hash.AddAddress(o.address);
  }
  *t_list += fmt::format(" words({} {:016x})", operations.size(), hash.value());
  return operations.size();
}

// How a communicator is made.
struct Setting {
  const char* name;
  int blocks;  // 0: as many as there can be
  bool one_gpu, staged;
  bool windows = false, zero_ctas = false;
};
constexpr Setting kSettings[] = {
    {.name = "alone", .blocks = 0, .one_gpu = false, .staged = false},
    {.name = "8 blocks", .blocks = 8, .one_gpu = false, .staged = false},
    {.name = "40 blocks", .blocks = 40, .one_gpu = false, .staged = false},
    {.name = "one GPU", .blocks = 0, .one_gpu = true, .staged = false},
    {.name = "staged", .blocks = 0, .one_gpu = false, .staged = true},
    {.name = "windows", .blocks = 0, .one_gpu = false, .staged = false, .windows = true},
    {.name = "zero CTAs", .blocks = 0, .one_gpu = false, .staged = false, .windows = true, .zero_ctas = true},
};

// The calls of one rank, as lines.
class Lister {
 public:
  Lister(GpuCommunicator& gpu, int rank, int ranks, bool quick)
      : gpu_(gpu), rank_(rank), ranks_(ranks), quick_(quick) {}

  std::string Take() { return std::move(lines_); }

  void ListAll() {
    constexpr std::size_t kMiB = std::size_t{1} << 20;
    std::vector<std::size_t> sizes = {8,         64,        512,        2048,       8192,        32768,      131072,
                                      524288,    kMiB,      2 * kMiB,   4 * kMiB,   8 * kMiB,    16 * kMiB,  20 * kMiB,
                                      32 * kMiB, 64 * kMiB, 128 * kMiB, 256 * kMiB, 1024 * kMiB, 4096 * kMiB};
    if (quick_) sizes = {8, 8192, 524288, 8 * kMiB, 64 * kMiB, 1024 * kMiB};
    for (int kind = 0; kind <= static_cast<int>(Kind::kBarrier); ++kind) {
      if (static_cast<Kind>(kind) == Kind::kSendRecv) continue;
      for (const std::size_t bytes : sizes) ListSize(static_cast<Kind>(kind), bytes);
    }
    for (const std::size_t bytes : sizes) ListGroups(bytes);
  }

  // Every way that there is, not only the one that is chosen.
  void ListWays() {
    for (int kind = 0; kind <= static_cast<int>(Kind::kBarrier); ++kind) {
      if (static_cast<Kind>(kind) == Kind::kSendRecv) continue;
      for (const std::size_t bytes : {std::size_t{1024}, std::size_t{300000}, std::size_t{40} << 20}) {
        const Operation o = Make(static_cast<Kind>(kind), bytes, DataType::kFloat32, ReduceOp::kSum, 0, false);
        const Collective collective = o.kind;
        for (const tune::GpuChoice& choice : gpu_.impl()->planner.chooser().Candidates(collective, comm::BytesOf(o))) {
          List(fmt::format("{} as {} {} {} {} {} {:a}", Describe(o), algo::Get(choice.algorithm).name,
                           proto::Name(choice.protocol), choice.channels, choice.threads, choice.chunk_bytes,
                           choice.predicted_us),
               [&] { return gpu_.impl()->runner.RunAs(o, choice, nullptr); });
        }
      }
    }
  }

 private:
  std::string Describe(const Operation& o) const {
    return fmt::format("{} {} {} op{} root{}{}", Name(o.kind), o.count, KernelTypeName(o.type), static_cast<int>(o.op),
                       o.root, o.in == o.out ? " in place" : "");
  }
  Operation Make(Kind kind, std::size_t bytes, DataType type, ReduceOp op, int root, bool in_place) const {
    Operation o{.kind = kind, .count = std::max<std::size_t>(bytes / SizeOf(type), 1), .type = type, .op = op};
    o.root = root;
    o.scalar = 3;
    o.in = reinterpret_cast<void*>(in_);
    o.out = reinterpret_cast<void*>(out_);
    const std::size_t piece = o.count * SizeOf(type);
    if (kind == Kind::kBarrier) return {.kind = kind};
    if (!in_place) return o;
    const bool many_out = kind == Kind::kAllGather || kind == Kind::kGather;
    const bool many_in = kind == Kind::kReduceScatter || kind == Kind::kScatter;
    o.in = static_cast<std::byte*>(o.out) + (many_out ? rank_ * piece : 0);
    if (many_in) o.out = static_cast<std::byte*>(o.out) + rank_ * piece;
    return o;
  }
  template <typename Call>
  void List(const std::string& what, const Call& call) {
    lines_ += what + ":";
    t_list = &lines_;
    const Status s = call();
    t_list = nullptr;
    lines_ += s.ok() ? "\n" : " " + s.message() + "\n";
  }
  void Run(const Operation& o) {
    List(Describe(o), [&] { return gpu_.Run(o, nullptr); });
    if (o.kind != Kind::kBarrier) List("  " + gpu_.Explain(o), [] { return Status::Ok(); });
  }
  void ListSize(Kind kind, std::size_t bytes) {
    const bool reduces = Reduces(kind);
    const std::size_t odd = bytes + 12;
    for (const bool in_place : {false, true}) {
      Run(Make(kind, bytes, DataType::kFloat32, ReduceOp::kSum, 0, in_place));
      Run(Make(kind, odd, DataType::kFloat32, ReduceOp::kSum, ranks_ - 1, in_place));
    }
    // As before, with other buffers.
    Operation moved = Make(kind, bytes, DataType::kFloat32, ReduceOp::kSum, 0, false);
    Run(moved);
    moved.in = static_cast<const std::byte*>(moved.in) + 4096;
    Run(moved);
    Run(Make(kind, bytes, DataType::kUint8, ReduceOp::kMax, 0, false));
    if (!reduces || kind == Kind::kBarrier) return;
    Run(Make(kind, bytes, DataType::kInt32, ReduceOp::kAvg, 0, false));
    Run(Make(kind, bytes, DataType::kBfloat16, ReduceOp::kAvg, 0, true));
    Run(Make(kind, bytes, DataType::kInt64, ReduceOp::kPreMulSum, 0, false));
    Operation scaled = Make(kind, bytes, DataType::kFloat32, ReduceOp::kPreMulSum, 0, false);
    scaled.device_scalar = scaled.in;
    Run(scaled);
  }
  void ListGroups(std::size_t bytes) {
    const auto at = [](const Operation& o, std::size_t offset) {
      Operation moved = o;
      moved.in = static_cast<const std::byte*>(o.in) + offset;
      moved.out = static_cast<std::byte*>(o.out) + offset;
      return moved;
    };
    const auto transfer = [&](Kind kind, int peer, std::size_t count) {
      return Make(kind, count, DataType::kUint8, ReduceOp::kSum, (peer + ranks_) % ranks_, false);
    };
    const auto group = [&](const char* name, const std::vector<Operation>& operations) {
      List(fmt::format("group of {} {} of {}", operations.size(), name, bytes),
           [&] { return gpu_.RunGroup(operations, nullptr); });
    };
    group("to the next", {transfer(Kind::kSend, rank_ + 1, bytes), transfer(Kind::kRecv, rank_ - 1, bytes)});
    group("to the next, again", {transfer(Kind::kSend, rank_ + 1, bytes), transfer(Kind::kRecv, rank_ - 1, bytes)});
    std::vector<Operation> all;
    for (int peer = 0; peer < ranks_; ++peer) {
      all.push_back(transfer(Kind::kSend, peer, bytes));
      all.push_back(at(transfer(Kind::kRecv, peer, bytes), peer * bytes));
    }
    group("to all", all);
    if (bytes > (std::size_t{32} << 20)) return;
    const Operation reduce = Make(Kind::kAllReduce, bytes, DataType::kFloat32, ReduceOp::kSum, 0, false);
    const Operation gather = Make(Kind::kAllGather, bytes, DataType::kFloat32, ReduceOp::kSum, 0, false);
    std::vector<Operation> some, many;
    for (std::size_t i = 0; i < 8; ++i) some.push_back(at(reduce, i * bytes));
    group("all_reduces", some);
    for (std::size_t i = 0; i < 40; ++i) many.push_back(at(i % 3 == 0 ? gather : reduce, i * bytes));
    many[5].count = std::max<std::size_t>(many[5].count / 3, 1);
    group("mixed", many);
    many.insert(many.end(), all.begin(), all.end());
    group("mixed with transfers", many);
    std::vector<Operation> hundreds;
    for (std::size_t i = 0; i < 600; ++i) hundreds.push_back(at(reduce, i * bytes));
    group("all_reduces", hundreds);
  }

  GpuCommunicator& gpu_;
  const int rank_, ranks_;
  const bool quick_;
  std::uint64_t in_ = kIn, out_ = kOut;
  std::string lines_;

 public:
  void UseWindow(std::byte* window, std::size_t bytes) {
    in_ = reinterpret_cast<std::uint64_t>(window);
    out_ = in_ + bytes / 2;
  }
};

Status ListRank(Communicator& c, const Setting& setting, bool logged, bool quick, std::barrier<>& meet,
                std::string& list) {
  const int ranks = c.ranks();
  GpuOptions options{.device = setting.one_gpu ? 0 : c.rank(), .zero_ctas = setting.zero_ctas};
  if (setting.blocks != 0) options.max_channels = setting.blocks;
  Result<GpuCommunicator> gpu = GpuCommunicator::Create(c, options);
  if (!gpu.ok()) return gpu.status();
  GpuCommunicator::Impl& impl = *gpu->impl();
  meet.arrive_and_wait();  // the communicator's own barrier would be a call
  t_staged = setting.staged;
  t_places = {{kIn, kBufferBytes, "in"}, {kOut, kBufferBytes, "out"}};
  for (int peer = 0; peer < ranks; ++peer) {
    t_places.push_back({reinterpret_cast<std::uint64_t>(impl.fabric->segment(peer)), impl.fabric->sections().Bytes(),
                        fmt::format("segment{}", peer)});
  }
  t_places.push_back({reinterpret_cast<std::uint64_t>(impl.words.device()), 4096, "words"});
  Lister lister(*gpu, c.rank(), ranks, quick || setting.windows);
  constexpr std::size_t kWindowBytes = std::size_t{64} << 30;
  sys::cuda::DeviceMemory memory;
  if (setting.windows) {
    auto made = sys::cuda::DeviceMemory::Create(impl.driver, options.device, kWindowBytes,
                                                sys::cuda::DeviceMemory::Way::kDescriptor);
    if (!made.ok()) return made.status();
    memory = std::move(*made);
    const sys::cuda::ScopedContext scope(impl.driver, impl.context.get());
    const auto window = impl.windows.Register(memory.data(), kWindowBytes, comm::GpuWindows::Symmetry::kSymmetric);
    if (!window.ok()) return window.status();
    if (*window == nullptr) return Status(Code::kInternal, "there is no window");
    for (int peer = 0; peer < ranks; ++peer) {
      t_places.push_back(
          {reinterpret_cast<std::uint64_t>((*window)->At(peer, 0)), kWindowBytes, fmt::format("window{}", peer)});
    }
    lister.UseWindow(memory.data(), kWindowBytes);
  }
  if (logged) {
    lister.ListAll();
    if (!setting.windows) lister.ListWays();
    list = lister.Take();
  }
  t_places.clear();
  meet.arrive_and_wait();
  return Status::Ok();
}

bool List(int ranks, const Setting& setting) {
  Settings settings;
  settings.timeout_ms = 600'000;
  settings.init_timeout_ms = 60'000;
  settings.p2p_disable = setting.staged;
  const bool quick = ranks > 4 && ranks != 8 && ranks != 16;
  std::vector<std::string> lists(ranks);
  std::barrier meet(ranks);
  const std::string failure = tests::RunRanks(ranks, settings, [&](Communicator& c) {
    const bool logged = ranks <= 4 || c.rank() < 2 || c.rank() == ranks - 1;
    return ListRank(c, setting, logged, quick, meet, lists[c.rank()]);
  });
  if (!failure.empty()) {
    std::fprintf(stderr, "launch_list: %s\n", failure.c_str());
    return false;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (lists[rank].empty()) continue;
    std::printf("== %d ranks, %s, rank %d\n%s", ranks, setting.name, rank, lists[rank].c_str());
  }
  return true;
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  setenv(tutti::tests::kFakeGpus, "72", 1);
  if (!tutti::tests::LoadFakeCuda(TUTTI_FAKE_CUDA,
                                  {.launch = tutti::ListLaunch, .copy = tutti::ListCopy, .words = tutti::ListWords})) {
    std::fprintf(stderr, "launch_list: %s could not be loaded\n", TUTTI_FAKE_CUDA);
    return 1;
  }
  std::vector<int> all_ranks;
  for (int i = 1; i < argc; ++i) all_ranks.push_back(std::atoi(argv[i]));
  if (all_ranks.empty()) {
    for (int ranks = 2; ranks <= 16; ++ranks) all_ranks.push_back(ranks);
  }
  bool ok = true;
  for (const int ranks : all_ranks) {
    for (const tutti::Setting& setting : tutti::kSettings) ok &= tutti::List(ranks, setting);
  }
  return ok ? 0 : 1;
}
