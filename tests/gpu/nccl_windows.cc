// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// Windows (ncclCommWindowRegister) and the operations that copy engines do in them, through NCCL's C interface: every byte
// of every result compared; called one by one, in graphs that are replayed, and mixed with operations that run in kernels.
// On the GPUs that there are, else in host memory, where there are no windows and everything else is the same.
//
//   nccl_windows [--ranks N] [--threads] [--plain] [--policy P] [--quick] [--time] [--unregistered]
//
// --plain: buffers of cuMemAlloc instead of ncclMemAlloc; --policy: config.CTAPolicy, 2 (zero CTAs) unless said
// otherwise; --time: times as well, in microseconds; --unregistered: no windows, to compare times.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/gpu/nccl_job.h"
#include "tests/gpu/queues.h"
#include "tutti/communicator.h"

// Only ours has it.
extern "C" __attribute__((weak)) ncclResult_t ncclTuttiSynchronize(ncclComm_t comm);
// Since 2.29.
extern "C" __attribute__((weak)) ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer,
                                                                       void** pointer);

namespace tutti::tests {
namespace {

using Kind = Collective;

constexpr std::size_t kMargin = 4096;  // behind the largest buffer, and before it where a case is misaligned
// An all_reduce of which copy engines do the second shot; bytes.
constexpr std::size_t kReducedBytes = std::size_t{256} << 20;
constexpr int kMostSignallingRanks = 16;  // CopyWords has room for so many
constexpr Kind kKinds[] = {Kind::kAllGather, Kind::kAllToAll, Kind::kBroadcast, Kind::kGather, Kind::kScatter};

struct Options {
  int ranks = 0;
  bool threads = false;
  bool plain = false;
  bool quick = false;
  bool time = false;
  bool registered = true;
  int policy = NCCL_CTA_POLICY_ZERO;
  std::size_t largest() const { return (time ? std::size_t{64} : quick ? 1 : 10) << 20; }
  std::size_t BufferBytes(int of_ranks, int gpus) const {
    return std::max(largest() * static_cast<std::size_t>(of_ranks), gpus > 0 ? kReducedBytes : 0) + 2 * kMargin;
  }
};

struct Case {
  Kind kind;
  std::size_t piece;  // bytes
  int root = 0;
  bool in_place = false;
  std::size_t shift = 0;  // of both buffers
};

std::byte ValueOf(int rank, std::size_t i, std::uint32_t seed) {
  return static_cast<std::byte>(rank * 89 + i * 131 + (i >> 8) * 7 + (i >> 16) * 3 + seed * 29);
}

std::string Describe(const Case& c) {
  return fmt::format("{} of {} bytes, root {}{}{}", Name(c.kind), c.piece, c.root, c.in_place ? ", in place" : "",
                     c.shift == 0 ? "" : fmt::format(", {} bytes off", c.shift));
}

// One rank of the job.
class Windows {
 public:
  Windows(Job& job, int rank, int gpus, Place& place, const Options& options)
      : job_(job), rank_(rank), ranks_(job.ranks()), gpus_(gpus), place_(place), options_(options) {}

  Status Run();

 private:
  Status Open();
  Status Close();
  Status CheckWindows();
  Status CheckPointers();
  Status CheckSignals();
  Status CheckAll();
  Status CheckGraphs();
  Status CheckAllReduces();
  Status MeasureAll();
  Status MeasureAt(const Case& c);
  Result<double> MeasureUs(const Case& c, bool graph);

  std::size_t InBytes(const Case& c) const;
  std::size_t OutBytes(const Case& c) const;
  std::byte* In(const Case& c) const;
  std::byte* Out(const Case& c) const { return buffers_[1] + c.shift; }
  Status Fill(const Case& c, std::uint32_t seed);
  Status Call(const Case& c);
  Status Compare(const Case& c, std::uint32_t seed);
  Status RunCase(const Case& c, std::uint32_t seed);
  Status SumOnce(bool call, bool check);

  Job& job_;
  const int rank_, ranks_, gpus_;
  Place& place_;
  const Options& options_;
  ncclComm_t comm_ = nullptr;
  std::byte* buffers_[2] = {};
  ncclWindow_t windows_[2] = {};
  std::vector<std::byte> host_;
  int meetings_ = 0;
  bool default_stream_ = false;
};

std::size_t Windows::InBytes(const Case& c) const {
  return c.piece * (c.kind == Kind::kAllToAll || c.kind == Kind::kScatter ? static_cast<std::size_t>(ranks_) : 1);
}

std::size_t Windows::OutBytes(const Case& c) const {
  const bool all = c.kind == Kind::kAllToAll || c.kind == Kind::kAllGather || c.kind == Kind::kGather;
  return c.piece * (all ? static_cast<std::size_t>(ranks_) : 1);
}

std::byte* Windows::In(const Case& c) const {
  if (!c.in_place) return buffers_[0] + c.shift;
  if (c.kind == Kind::kAllGather || c.kind == Kind::kGather) return Out(c) + static_cast<std::size_t>(rank_) * c.piece;
  return Out(c);
}

Status Windows::Fill(const Case& c, std::uint32_t seed) {
  host_.assign(OutBytes(c) + 2 * kMargin, std::byte{0x5a});
  const std::size_t before = std::min(c.shift, kMargin);
  TUTTI_RETURN_IF_ERROR(place_.CopyIn(Out(c) - before, host_.data(), before + OutBytes(c) + kMargin - c.shift));
  host_.resize(InBytes(c));
  for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = ValueOf(rank_, i, seed);
  return place_.CopyIn(In(c), host_.data(), host_.size());
}

Status Windows::Call(const Case& c) {
  const void* in = In(c);
  void* out = Out(c);
  const cudaStream_t stream = default_stream_ ? nullptr : place_.stream(0);
  ncclResult_t result = ncclInvalidArgument;
  switch (c.kind) {
    case Kind::kAllGather:
      result = ncclAllGather(in, out, c.piece, ncclUint8, comm_, stream);
      break;
    case Kind::kAllToAll:
      result = ncclAlltoAll(in, out, c.piece, ncclUint8, comm_, stream);
      break;
    case Kind::kBroadcast:
      result = ncclBroadcast(in, out, c.piece, ncclUint8, c.root, comm_, stream);
      break;
    case Kind::kAllReduce:
      result = ncclAllReduce(in, out, c.piece, ncclUint8, ncclSum, comm_, stream);
      break;
    case Kind::kGather:
      result = ncclGather(in, out, c.piece, ncclUint8, c.root, comm_, stream);
      break;
    default:
      result = ncclScatter(in, out, c.piece, ncclUint8, c.root, comm_, stream);
      break;
  }
  return CheckNccl(result, comm_, "a collective");
}

Status Windows::Compare(const Case& c, std::uint32_t seed) {
  const std::size_t before = std::min(c.shift, kMargin);
  std::vector<std::byte> expected(before + OutBytes(c) + kMargin - c.shift, std::byte{0x5a});
  std::byte* out = expected.data() + before;
  const auto me = static_cast<std::size_t>(rank_);
  // The bytes of a rank's input from `first` on, as piece `at` of the output.
  const auto expect = [&](int at, int rank, std::size_t first) {
    std::byte* piece = out + static_cast<std::size_t>(at) * c.piece;
    for (std::size_t i = 0; i < c.piece; ++i) piece[i] = ValueOf(rank, first + i, seed);
  };
  for (int from = 0; from < ranks_; ++from) {
    if (c.kind == Kind::kAllGather || (c.kind == Kind::kGather && rank_ == c.root)) expect(from, from, 0);
    if (c.kind == Kind::kGather && rank_ != c.root && c.in_place && from == rank_) expect(from, from, 0);
    if (c.kind == Kind::kAllToAll) expect(from, from, me * c.piece);
  }
  if (c.kind == Kind::kAllReduce) {
    for (std::size_t i = 0; i < c.piece; ++i) {
      unsigned sum = 0;
      for (int rank = 0; rank < ranks_; ++rank) sum += std::to_integer<unsigned>(ValueOf(rank, i, seed));
      out[i] = static_cast<std::byte>(sum);
    }
  }
  if (c.kind == Kind::kBroadcast) expect(0, c.root, 0);
  if (c.kind == Kind::kScatter) expect(0, c.root, me * c.piece);
  std::vector<std::byte> got(expected.size());
  TUTTI_RETURN_IF_ERROR(place_.CopyOut(got.data(), Out(c) - before, got.size()));
  if (got == expected) return Status::Ok();
  const auto at = std::ranges::mismatch(got, expected).in1 - got.begin() - static_cast<std::ptrdiff_t>(before);
  return Status(Code::kInternal, fmt::format("{}: byte {} is wrong", Describe(c), at));
}

Status Windows::RunCase(const Case& c, std::uint32_t seed) {
  ++job_.cases();
  TUTTI_RETURN_IF_ERROR(Fill(c, seed));
  TUTTI_RETURN_IF_ERROR(Call(c));
  if (!default_stream_) TUTTI_RETURN_IF_ERROR(place_.Wait(comm_, 0));
  return Compare(c, seed);  // the copy that it makes waits for the default stream
}

// ---------------------------------------------------------------------------------------------------------------

Status Windows::Open() {
  const Result<ncclUniqueId> id = job_.ShareId(rank_, 0, 0);
  if (!id.ok()) return id.status();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.CTAPolicy = options_.policy;
  TUTTI_RETURN_IF_ERROR(
      CheckNccl(ncclCommInitRankConfig(&comm_, ranks_, *id, rank_, &config), comm_, "ncclCommInitRankConfig"));
  const std::size_t bytes = options_.BufferBytes(ranks_, gpus_);
  for (std::byte*& buffer : buffers_) {
    const auto index = static_cast<int>(&buffer - buffers_);
    void* made = place_.buffer(index);
    if (!options_.plain) TUTTI_RETURN_IF_ERROR(CheckNccl(ncclMemAlloc(&made, bytes), nullptr, "ncclMemAlloc"));
    buffer = static_cast<std::byte*>(made);
  }
  if (!options_.registered) return Status::Ok();
  TUTTI_RETURN_IF_ERROR(CheckNccl(ncclGroupStart(), nullptr, "ncclGroupStart"));
  Status status;
  for (int i = 0; i < 2; ++i) {
    const ncclResult_t result =
        ncclCommWindowRegister(comm_, buffers_[i], bytes, &windows_[i], NCCL_WIN_COLL_SYMMETRIC);
    if (status.ok()) status = CheckNccl(result, comm_, "ncclCommWindowRegister");
  }
  const Status ended = CheckNccl(ncclGroupEnd(), comm_, "ncclGroupEnd");
  return status.ok() ? ended : status;
}

Status Windows::CheckWindows() {
  for (int i = 0; i < 2; ++i) {
    if ((windows_[i] != nullptr) != (gpus_ > 0)) {
      return Status(Code::kInternal, gpus_ > 0 ? "there is no window on device memory" : "a window on host memory");
    }
    void* pointer = nullptr;
    TUTTI_RETURN_IF_ERROR(CheckNccl(ncclWinGetUserPtr(comm_, windows_[i], &pointer), comm_, "ncclWinGetUserPtr"));
    if (pointer != (gpus_ > 0 ? buffers_[i] : nullptr)) {
      return Status(Code::kInternal, "ncclWinGetUserPtr does not give the buffer");
    }
  }
  return Status::Ok();
}

// Reads the peers' buffers where they are said to lie.
Status Windows::CheckPointers() {
  if (windows_[0] == nullptr || ncclGetPeerDevicePointer == nullptr) return Status::Ok();
  std::vector<std::byte> own(1000), theirs(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = ValueOf(rank_, i, 0);
  TUTTI_RETURN_IF_ERROR(place_.CopyIn(buffers_[0] + 100, own.data(), own.size()));
  TUTTI_RETURN_IF_ERROR(job_.Meet(ranks_, job_.arrived(), ++meetings_));
  for (int peer = 0; peer < ranks_; ++peer) {
    void* at = nullptr;
    TUTTI_RETURN_IF_ERROR(CheckNccl(ncclGetPeerDevicePointer(windows_[0], 100, peer, &at), comm_, "a peer's pointer"));
    TUTTI_RETURN_IF_ERROR(place_.CopyOut(theirs.data(), static_cast<std::byte*>(at), theirs.size()));
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (theirs[i] != ValueOf(peer, i, 0)) return Status(Code::kInternal, "a peer's pointer leads elsewhere");
    }
  }
  void* at = nullptr;
  if (ncclGetPeerDevicePointer(windows_[0], 0, ranks_, &at) != ncclInvalidArgument || at != nullptr) {
    return Status(Code::kInternal, "there is a pointer to a rank that does not exist");
  }
  return job_.Meet(ranks_, job_.arrived(), ++meetings_);
}

// Every rank puts pieces into the next one's buffer, several for each wait.
Status Windows::CheckSignals() {
  if (windows_[0] == nullptr || (options_.threads && gpus_ < ranks_))
    return Status::Ok();  // not where ranks share both
  // Puts ask nobody: the next rank may still look at what was there.
  TUTTI_RETURN_IF_ERROR(job_.Meet(ranks_, job_.arrived(), ++meetings_));
  if (ranks_ > kMostSignallingRanks) {
    if (ncclSignal(rank_, 0, 0, 0, comm_, place_.stream(0)) == ncclSuccess) {
      return Status(Code::kInternal, "there are signals among more ranks than documented");
    }
    return Status::Ok();
  }
  const int next = (rank_ + 1) % ranks_, previous = (rank_ + ranks_ - 1) % ranks_;
  const cudaStream_t stream = place_.stream(0);
  constexpr std::size_t kPiece = 10007;
  constexpr int kPuts = 4;
  std::vector<std::byte> data(kPiece * kPuts);
  for (int round = 0; round < 5; ++round) {
    ++job_.cases();
    const auto seed = static_cast<std::uint32_t>(round);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = ValueOf(rank_, i, seed);
    TUTTI_RETURN_IF_ERROR(place_.CopyIn(buffers_[0], data.data(), data.size()));
    const bool group = round % 2 == 1;
    if (group) TUTTI_RETURN_IF_ERROR(CheckNccl(ncclGroupStart(), nullptr, "ncclGroupStart"));
    ncclWaitSignalDesc_t waits[] = {{1, previous, 0, 0}, {kPuts, previous, 0, 0}};
    if (group) TUTTI_RETURN_IF_ERROR(CheckNccl(ncclWaitSignal(2, waits, comm_, stream), comm_, "ncclWaitSignal"));
    for (std::size_t i = 0; i < kPuts; ++i) {
      TUTTI_RETURN_IF_ERROR(CheckNccl(ncclPutSignal(buffers_[0] + i * kPiece, kPiece, ncclUint8, next, windows_[1],
                                                    i * kPiece + 3, 0, 0, 0, comm_, stream),
                                      comm_, "ncclPutSignal"));
    }
    TUTTI_RETURN_IF_ERROR(CheckNccl(ncclSignal(next, 0, 0, 0, comm_, stream), comm_, "ncclSignal"));
    if (group) TUTTI_RETURN_IF_ERROR(CheckNccl(ncclGroupEnd(), nullptr, "ncclGroupEnd"));
    if (!group) TUTTI_RETURN_IF_ERROR(CheckNccl(ncclWaitSignal(2, waits, comm_, stream), comm_, "ncclWaitSignal"));
    TUTTI_RETURN_IF_ERROR(place_.Wait(comm_, 0));
    TUTTI_RETURN_IF_ERROR(place_.CopyOut(data.data(), buffers_[1] + 3, data.size()));
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (data[i] != ValueOf(previous, i, seed))
        return Status(Code::kInternal, fmt::format("put: byte {} is wrong", i));
    }
    TUTTI_RETURN_IF_ERROR(job_.Meet(ranks_, job_.arrived(), ++meetings_));
  }
  return Status::Ok();
}

Status Windows::Close() {
  for (const ncclWindow_t window : {windows_[0]}) {  // the other goes with the communicator
    TUTTI_RETURN_IF_ERROR(CheckNccl(ncclCommWindowDeregister(comm_, window), comm_, "ncclCommWindowDeregister"));
    if (window != nullptr && ncclCommWindowDeregister(comm_, window) != ncclInvalidArgument) {
      return Status(Code::kInternal, "a window could be given back twice");
    }
  }
  TUTTI_RETURN_IF_ERROR(CheckNccl(ncclCommDestroy(comm_), nullptr, "ncclCommDestroy"));
  for (std::byte* buffer : buffers_) {
    if (!options_.plain) TUTTI_RETURN_IF_ERROR(CheckNccl(ncclMemFree(buffer), nullptr, "ncclMemFree"));
  }
  return Status::Ok();
}

// An all_reduce of one number, which runs in a kernel.
Status Windows::SumOnce(bool call, bool check) {
  std::byte* at = buffers_[0] + options_.largest() * static_cast<std::size_t>(ranks_) + kMargin;
  if (call) {
    TUTTI_RETURN_IF_ERROR(
        CheckNccl(ncclAllReduce(at, at + 64, 1, ncclUint8, ncclSum, comm_, place_.stream(0)), comm_, "ncclAllReduce"));
  } else if (!check) {
    const std::byte one{1};
    return place_.CopyIn(at, &one, 1);
  }
  if (!check) return Status::Ok();
  std::byte sum{};
  TUTTI_RETURN_IF_ERROR(place_.CopyOut(&sum, at + 64, 1));
  return static_cast<int>(sum) == ranks_ ? Status::Ok() : Status(Code::kInternal, "an all_reduce gave a wrong sum");
}

Status Windows::CheckAll() {
  std::uint32_t seed = 1;
  std::vector<std::size_t> sizes = {1, 3, 1000, 65536, 1000001};
  if (!options_.quick) sizes.push_back((std::size_t{9} << 20) + 5);
  for (const Kind kind : kKinds) {
    for (const std::size_t piece : sizes) {
      for (const bool in_place : {false, true}) {
        if (in_place && (kind == Kind::kAllToAll || kind == Kind::kScatter)) continue;
        for (const std::size_t shift : {0, 1, 256}) {
          if (piece > (1u << 20) && shift == 256) continue;
          const int root = static_cast<int>(++seed) % ranks_;
          TUTTI_RETURN_IF_ERROR(RunCase({kind, piece, root, in_place, shift}, seed));
        }
      }
    }
  }
  default_stream_ = gpus_ >= ranks_;  // ranks of one process and GPU would share it
  const Status status = RunCase({Kind::kAllGather, 300000}, ++seed);
  default_stream_ = false;
  return status;
}

// Graphs of several operations, with kernels among them, replayed with new data and eager operations between replays.
Status Windows::CheckGraphs() {
  if (gpus_ == 0) return Status::Ok();
  std::uint32_t seed = 1000;
  for (const Kind kind : kKinds) {
    for (const std::size_t piece : {std::size_t{5}, std::size_t{70001}, std::size_t{700000}}) {
      const Case c{kind, piece, static_cast<int>(piece) % ranks_, false, 3};
      const Case between{Kind::kAllGather, 12345, 0, true, 0};
      TUTTI_RETURN_IF_ERROR(SumOnce(false, false));
      const Result<sys::cuda::GraphExec> graph = place_.Capture(0, [&]() -> Status {
        TUTTI_RETURN_IF_ERROR(Call(c));
        TUTTI_RETURN_IF_ERROR(SumOnce(true, false));
        return Call(c);
      });
      if (!graph.ok()) return graph.status();
      for (int replay = 0; replay < 4; ++replay) {
        ++job_.cases();
        TUTTI_RETURN_IF_ERROR(Fill(c, ++seed));
        TUTTI_RETURN_IF_ERROR(place_.Replay(*graph, 0));
        TUTTI_RETURN_IF_ERROR(place_.Replay(*graph, 0));
        TUTTI_RETURN_IF_ERROR(place_.Wait(comm_, 0));
        TUTTI_RETURN_IF_ERROR(Compare(c, seed));
        TUTTI_RETURN_IF_ERROR(SumOnce(false, true));
        TUTTI_RETURN_IF_ERROR(RunCase(between, ++seed));
      }
      place_.Forget(*graph);
    }
  }
  return Status::Ok();
}

// All_reduces so large that copy engines do a half of them, and one whose count does not allow it.
Status Windows::CheckAllReduces() {
  if (gpus_ == 0) return Status::Ok();
  const std::size_t even = kReducedBytes / static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(ranks_);
  std::uint32_t seed = 5000;
  for (const Case& c : {Case{Kind::kAllReduce, even}, Case{Kind::kAllReduce, even, 0, true, 1},
                        Case{Kind::kAllReduce, even - 1, 0, false, 256}}) {
    TUTTI_RETURN_IF_ERROR(RunCase(c, ++seed));
  }
  const Case c{Kind::kAllReduce, even};
  const Result<sys::cuda::GraphExec> graph = place_.Capture(0, [&] { return Call(c); });
  if (!graph.ok()) return graph.status();
  ++job_.cases();
  TUTTI_RETURN_IF_ERROR(Fill(c, ++seed));
  for (int replay = 0; replay < 3; ++replay) TUTTI_RETURN_IF_ERROR(place_.Replay(*graph, 0));
  TUTTI_RETURN_IF_ERROR(place_.Wait(comm_, 0));
  place_.Forget(*graph);
  return Compare(c, seed);
}

Result<double> Windows::MeasureUs(const Case& c, bool graph) {
  const int calls = c.piece >= (16u << 20) ? 5 : 20, rounds = 4;
  const auto call_all = [&]() -> Status {
    for (int i = 0; i < calls; ++i) TUTTI_RETURN_IF_ERROR(Call(c));
    return Status::Ok();
  };
  sys::cuda::GraphExec exec = nullptr;
  if (graph) {
    const Result<sys::cuda::GraphExec> made = place_.Capture(0, call_all);
    if (!made.ok()) return made.status();
    exec = *made;
  }
  double best = 1e30;
  for (int round = 0; round < rounds; ++round) {
    TUTTI_RETURN_IF_ERROR(Call(c));  // so that ranks begin together
    TUTTI_RETURN_IF_ERROR(place_.Wait(comm_, 0));
    const std::int64_t begin = HostNowNs();
    TUTTI_RETURN_IF_ERROR(graph ? place_.Replay(exec, 0) : call_all());
    TUTTI_RETURN_IF_ERROR(place_.WaitForStream(0, kWaitSeconds));
    best = std::min(best, static_cast<double>(HostNowNs() - begin) / 1e3 / calls);
  }
  if (graph) place_.Forget(exec);
  return best;
}

Status Windows::MeasureAt(const Case& c) {
  const Result<double> eager = MeasureUs(c, false);
  if (!eager.ok()) return eager.status();
  const Result<double> graph = MeasureUs(c, true);
  if (!graph.ok()) return graph.status();
  if (rank_ == 0) {
    const double sent = c.kind == Kind::kAllReduce ? 2.0 * (ranks_ - 1) / ranks_ : ranks_ - 1;
    fmt::print("{:14} {:>10} bytes per rank: {:8.1f} us, in a graph {:8.1f} us, {:6.1f} GB/s\n", Name(c.kind), c.piece,
               *eager, *graph, static_cast<double>(c.piece) * sent / *graph / 1e3);
  }
  return Status::Ok();
}

Status Windows::MeasureAll() {
  if (gpus_ == 0) return Status::Ok();
  for (const Kind kind : kKinds) {
    for (std::size_t piece = 65536; piece <= options_.largest(); piece *= 4) {
      TUTTI_RETURN_IF_ERROR(MeasureAt({.kind = kind, .piece = piece}));
    }
  }
  for (std::size_t bytes = kReducedBytes / 8; bytes <= kReducedBytes; bytes *= 2) {
    TUTTI_RETURN_IF_ERROR(MeasureAt({.kind = Kind::kAllReduce, .piece = bytes}));
  }
  return Status::Ok();
}

Status Windows::Run() {
  TUTTI_RETURN_IF_ERROR(Open());
  if (options_.registered) TUTTI_RETURN_IF_ERROR(CheckWindows());
  TUTTI_RETURN_IF_ERROR(CheckPointers());
  TUTTI_RETURN_IF_ERROR(CheckAll());
  TUTTI_RETURN_IF_ERROR(CheckGraphs());
  TUTTI_RETURN_IF_ERROR(CheckAllReduces());
  TUTTI_RETURN_IF_ERROR(CheckSignals());
  if (options_.time) TUTTI_RETURN_IF_ERROR(MeasureAll());
  return Close();
}

bool RunRank(Job& job, int rank, int gpus, const Options& options) {
  const std::size_t bytes = options.BufferBytes(job.ranks(), gpus);
  Result<Place> place = Place::Open(rank, gpus, options.plain ? bytes : kMargin, 2);
  if (!place.ok()) {
    fmt::print("rank {}: {}\n", rank, place.status().message());
    return false;
  }
  Windows windows(job, rank, gpus, *place, options);
  const Status status = windows.Run();
  if (status.ok()) return true;
  ++job.wrong();
  fmt::print("rank {}: {}\n", rank, status.message());
  std::fflush(stdout);
  return false;
}

// What the ranks' logs say of how operations were done: lines with `words`.
std::vector<std::string> LinesWith(const std::string& folder, std::string_view words) {
  std::vector<std::string> lines;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      if (line.find(words) != std::string::npos) lines.push_back(line);
    }
  }
  return lines;
}

int Main(Options options) {
  const int gpus = CountGpus();
  char folder[] = "/tmp/nccl_windows.XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  if (options.threads) AskForQueuePerStream();
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_DEBUG_SUBSYS", "TUNING,REG", 1);
  setenv("NCCL_DEBUG_FILE", (std::string(folder) + "/log.%p").c_str(), 1);
  if (options.ranks == 0) options.ranks = std::max(gpus, 2);
  Job job(options.ranks);
  const auto body = [&](int rank) { return RunRank(job, rank, gpus, options); };
  bool good = options.threads ? job.RunThreads(4 * kWaitSeconds, body) : job.RunProcesses(4 * kWaitSeconds, body);
  const std::size_t copied = LinesWith(folder, "-> copy engines").size();
  const std::size_t halves = LinesWith(folder, ", then copy engines").size();
  const std::vector<std::string> refused = LinesWith(folder, "run in kernels:");
  std::filesystem::remove_all(folder);
  const bool ours = ncclTuttiSynchronize != nullptr;
  // Plain memory of one process is left to kernels (transport::p2p::Window::ordered_by_driver).
  const bool kernels = options.threads && options.plain;
  const bool expected = options.registered && gpus >= options.ranks && options.ranks <= kMostSignallingRanks;
  const bool all = options.policy == NCCL_CTA_POLICY_ZERO;
  const bool wrong = kernels ? copied + halves > 0 : halves == 0 || (all && copied == 0);
  if (ours && expected && wrong) {
    fmt::print("copy engines did {}\n", kernels ? "what must run in kernels" : "not all that they have to");
    for (const std::string& line : refused) fmt::print("{}\n", line);
    good = false;
  }
  fmt::print(
      "windows: {} ranks as {} {}, {}, policy {}, {} cases, {} calls by copy engines and {} by halves, {} wrong: "
      "{}\n",
      options.ranks, options.threads ? "threads" : "processes",
      gpus == 0 ? std::string("in host memory") : fmt::format("on {} GPUs", gpus),
      options.plain ? "plain memory" : "ncclMemAlloc", options.policy, job.cases().load(), copied, halves,
      job.wrong().load(), good ? "passed" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tutti::tests

int main(int argc, char** argv) {
  tutti::tests::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads") {
      options.threads = true;
    } else if (argument == "--plain") {
      options.plain = true;
    } else if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--unregistered") {
      options.registered = false;
    } else if (argument == "--time") {
      options.time = true;
    } else if (argument == "--ranks" && i + 1 < argc) {
      options.ranks = std::atoi(argv[++i]);
    } else if (argument == "--policy" && i + 1 < argc) {
      options.policy = std::atoi(argv[++i]);
    } else {
      fmt::print(stderr,
                 "usage: {} [--ranks N] [--threads] [--plain] [--policy P] [--quick] [--time] [--unregistered]\n",
                 argv[0]);
      return 2;
    }
  }
  if (options.ranks < 0 || options.ranks > 72) return 2;
  return tutti::tests::Main(options);
}
