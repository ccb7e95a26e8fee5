// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/across_hosts.h"

#include <array>
#include <utility>
#include <vector>

#include "comm/gpu/host_pieces.h"
#include "comm/gpu/host_runner.h"
#include "comm/gpu/kernel_piece.h"
#include "exec/gpu/format/across.h"
#include "sys/cuda/cuda_memory.h"
#include "sys/os/memory.h"
#include "tutti/communicator.h"

namespace tutti::comm {
namespace {

using exec::gpu::Across;
using sys::cuda::Address;
using sys::cuda::Check;
using sys::cuda::MemoryOperation;
using sys::cuda::SharedHostMemory;
using sys::cuda::Stream;

constexpr std::size_t kPage = 4096;
// Where pieces lie in turn, so that one can be copied while another one runs.
constexpr std::size_t kPlaces = 2;

MemoryOperation Write(Address address, std::uint32_t value) {
  return {.operation = sys::cuda::kWriteWord, .address = address, .value = value};
}
MemoryOperation Await(Address address, std::uint32_t value) {
  return {
      .operation = sys::cuda::kWaitWord, .address = address, .value = value, .flags = sys::cuda::kUntilGreaterOrEqual};
}

// Fills in a kernel's copies. False where it is not for this piece.
bool CopyByKernel(const HostPiece& piece, std::byte* memory, Across& across) {
  if (!FitsKernel(piece)) return false;
  across.ins = across.outs = 0;
  for (const HostCopy& copy : piece.in) {
    across.in[across.ins++] = {copy.user, memory + copy.at, static_cast<std::uint32_t>(copy.bytes)};
  }
  for (const HostCopy& copy : piece.out) {
    across.out[across.outs++] = {memory + copy.at, const_cast<std::byte*>(copy.user),
                                 static_cast<std::uint32_t>(copy.bytes)};
  }
  return true;
}

}  // namespace

struct GpuAcrossHosts::Inside {
  Inside(const Options& options, const std::vector<RunnerCommunicator>& communicators)
      : driver(*options.driver), device(options.device), context(options.context), start_kernel(options.start_kernel) {
    for (const RunnerCommunicator& one : communicators) {
      ranks.push_back({.rank = one.communicator.rank(), .ranks = one.communicator.ranks()});
    }
  }
  ~Inside() {
    if (ended != nullptr) driver.EventDestroy(ended);
  }

  Status Grow(SharedHostMemory& place, std::size_t bytes);
  Status MakeRoom(std::span<const HostPiece> pieces);
  HostRunner::Placed Place(const HostPiece& piece, std::size_t place, Over over, const ProgramCalls& calls) const;
  Address WordAt(std::size_t offset) const;
  // By a kernel, of `across`.
  Status EnqueueKernel(const HostPiece& piece, Over over, const ProgramCalls& calls, Stream stream);
  // By copies and words of the stream.
  Status Enqueue(std::span<const HostPiece> pieces, Over over, const ProgramCalls& calls, Stream stream);
  Status Begin(const HostPiece& piece, std::size_t place, const MemoryOperation& ready, Stream stream);
  Status End(const HostPiece& piece, std::size_t place, const MemoryOperation& done, Stream stream);
  Status Flush(Stream stream);

  const sys::cuda::Driver& driver;
  const sys::cuda::Device device;
  const sys::cuda::Context context;
  const StartKernel start_kernel;
  struct Ranks {
    int rank = 0, ranks = 1;
  };
  std::vector<Ranks> ranks;           // by Over
  sys::cuda::MappedHostMemory words;  // HostRunnerWords
  std::array<SharedHostMemory, kPlaces> places;
  std::vector<SharedHostMemory> outgrown;   // that streams may still use
  std::vector<MemoryOperation> operations;  // of the batch that is being made
  Across across{};                          // of the kernel that is being started
  std::uint64_t kernels_started = 0;
  sys::cuda::Event ended = nullptr;  // behind the last call; none before the first
  std::unique_ptr<HostRunner> runner;
};

Result<std::unique_ptr<GpuAcrossHosts>> GpuAcrossHosts::Create(const Options& options,
                                                               std::vector<RunnerCommunicator> communicators) {
  auto inside = std::make_unique<Inside>(options, communicators);
  Result<sys::cuda::MappedHostMemory> words =
      sys::cuda::MappedHostMemory::Create(options.driver, sizeof(HostRunnerWords));
  if (!words.ok()) return words.status();
  inside->words = std::move(*words);
  for (SharedHostMemory& place : inside->places) TUTTI_RETURN_IF_ERROR(inside->Grow(place, kPieceBytes));
  Result<std::unique_ptr<HostRunner>> runner =
      HostRunner::Start({.communicators = std::move(communicators),
                         .words = static_cast<HostRunnerWords*>(inside->words.host()),
                         .spin_ns = options.spin_ns,
                         .broken = options.broken});
  if (!runner.ok()) return runner.status();
  inside->runner = std::move(*runner);
  return std::unique_ptr<GpuAcrossHosts>(new GpuAcrossHosts(std::move(inside)));
}

GpuAcrossHosts::GpuAcrossHosts(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}

GpuAcrossHosts::~GpuAcrossHosts() = default;

Address GpuAcrossHosts::Inside::WordAt(std::size_t offset) const {
  return reinterpret_cast<Address>(static_cast<std::byte*>(words.device()) + offset);
}

std::size_t GpuAcrossHosts::host_bytes() const {
  std::size_t bytes = 0;
  for (const SharedHostMemory& place : inside_->places) bytes += place.bytes();
  for (const SharedHostMemory& place : inside_->outgrown) bytes += place.bytes();
  return bytes;
}

std::uint64_t GpuAcrossHosts::kernels_started() const { return inside_->kernels_started; }

Status GpuAcrossHosts::Inside::Grow(SharedHostMemory& place, std::size_t bytes) {
  const sys::cuda::ScopedContext scope(&driver, context);
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  const Result<sys::Fd> fd = sys::CreateSharedMemory("tutti-across", whole);
  if (!fd.ok()) return fd.status();
  Result<SharedHostMemory> larger = SharedHostMemory::Register(&driver, device, *fd, whole);
  if (!larger.ok()) return larger.status();
  if (place.bytes() > 0) outgrown.push_back(std::move(place));
  place = std::move(*larger);
  return Status::Ok();
}

Status GpuAcrossHosts::Inside::MakeRoom(std::span<const HostPiece> pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    SharedHostMemory& place = places[i % kPlaces];
    if (pieces[i].bytes > place.bytes()) TUTTI_RETURN_IF_ERROR(Grow(place, pieces[i].bytes));
  }
  return Status::Ok();
}

HostRunner::Placed GpuAcrossHosts::Inside::Place(const HostPiece& piece, std::size_t place, Over over,
                                                 const ProgramCalls& calls) const {
  return {.operations = piece.operations, .memory = places[place].host(), .communicator = over, .calls = calls};
}

Status GpuAcrossHosts::Run(Over over, std::span<const Operation> operations, const ProgramCalls& calls, Stream stream) {
  Inside& c = *inside_;
  const std::vector<HostPiece> pieces = CutForHost(operations, c.ranks[over].rank, c.ranks[over].ranks);
  if (pieces.empty()) return Status::Ok();
  TUTTI_RETURN_IF_ERROR(c.MakeRoom(pieces));
  const bool by_kernel =
      c.start_kernel && pieces.size() == 1 && CopyByKernel(pieces[0], c.places[0].device(), c.across);
  TUTTI_RETURN_IF_ERROR(by_kernel ? c.EnqueueKernel(pieces[0], over, calls, stream)
                                  : c.Enqueue(pieces, over, calls, stream));
  if (calls.captured) return Status::Ok();
  if (c.ended == nullptr) {
    TUTTI_RETURN_IF_ERROR(Check(c.driver, c.driver.EventCreate(&c.ended, sys::cuda::kNoTiming), "an event"));
  }
  return Check(c.driver, c.driver.EventRecord(c.ended, stream), "noting the end of an operation");
}

Status GpuAcrossHosts::Inside::EnqueueKernel(const HostPiece& piece, Over over, const ProgramCalls& calls,
                                             Stream stream) {
  const auto word = [&](std::size_t offset) { return static_cast<std::byte*>(words.device()) + offset; };
  across.captured = calls.captured ? 1 : 0;
  if (calls.captured) {
    across.done_value = 1;
    across.ready_value = CapturedReady(runner->AddCaptured({Place(piece, 0, over, calls)}), across.done_value);
    across.ready = word(offsetof(HostRunnerWords, captured_ready));
    across.done = reinterpret_cast<std::uint32_t*>(word(offsetof(HostRunnerWords, captured_done)));
  } else {
    across.done_value = runner->Add(Place(piece, 0, over, calls));
    across.ready_value = across.done_value;
    across.ready = word(offsetof(HostRunnerWords, ready));
    across.done = reinterpret_cast<std::uint32_t*>(word(offsetof(HostRunnerWords, done)));
  }
  ++kernels_started;
  return start_kernel(across, stream);
}

Status GpuAcrossHosts::Inside::Enqueue(std::span<const HostPiece> pieces, Over over, const ProgramCalls& calls,
                                       Stream stream) {
  const bool captured = calls.captured;
  operations.clear();
  std::uint32_t call = 0;
  std::array<std::uint32_t, kPlaces> number{};  // of the piece that was put into each place last
  const Address done_word =
      WordAt(captured ? offsetof(HostRunnerWords, captured_done) : offsetof(HostRunnerWords, done));
  if (captured) {
    std::vector<HostRunner::Placed> all;
    for (std::size_t i = 0; i < pieces.size(); ++i) all.push_back(Place(pieces[i], i % kPlaces, over, calls));
    call = runner->AddCaptured(std::move(all));
    operations.push_back(Write(done_word, 0));
  }
  for (std::size_t i = 0; i < pieces.size() + kPlaces; ++i) {
    const std::size_t place = i % kPlaces;
    if (i >= kPlaces && i - kPlaces < pieces.size()) {
      TUTTI_RETURN_IF_ERROR(End(pieces[i - kPlaces], place, Await(done_word, number[place]), stream));
    }
    if (i >= pieces.size()) continue;
    number[place] = captured ? static_cast<std::uint32_t>(i + 1) : runner->Add(Place(pieces[i], place, over, calls));
    const MemoryOperation ready = captured
                                      ? MemoryOperation{.operation = sys::cuda::kWriteLong,
                                                        .address = WordAt(offsetof(HostRunnerWords, captured_ready)),
                                                        .value = CapturedReady(call, number[place])}
                                      : Write(WordAt(offsetof(HostRunnerWords, ready)), number[place]);
    TUTTI_RETURN_IF_ERROR(Begin(pieces[i], place, ready, stream));
  }
  return Flush(stream);
}

Status GpuAcrossHosts::Inside::Flush(Stream stream) {
  if (operations.empty()) return Status::Ok();
  const int result = driver.StreamBatchMemOp(stream, static_cast<unsigned>(operations.size()), operations.data(), 0);
  operations.clear();
  return Check(driver, result, "waiting for other hosts");
}

Status GpuAcrossHosts::Inside::Begin(const HostPiece& piece, std::size_t place, const MemoryOperation& ready,
                                     Stream stream) {
  if (!piece.in.empty()) TUTTI_RETURN_IF_ERROR(Flush(stream));
  const auto memory = reinterpret_cast<Address>(places[place].device());
  for (const HostCopy& copy : piece.in) {
    const int result = driver.MemcpyAsync(memory + copy.at, reinterpret_cast<Address>(copy.user), copy.bytes, stream);
    TUTTI_RETURN_IF_ERROR(Check(driver, result, "a copy to host memory"));
  }
  operations.push_back(ready);
  return Status::Ok();
}

Status GpuAcrossHosts::Inside::End(const HostPiece& piece, std::size_t place, const MemoryOperation& done,
                                   Stream stream) {
  operations.push_back(done);
  TUTTI_RETURN_IF_ERROR(Flush(stream));
  const auto memory = reinterpret_cast<Address>(places[place].device());
  for (const HostCopy& copy : piece.out) {
    const int result = driver.MemcpyAsync(reinterpret_cast<Address>(copy.user), memory + copy.at, copy.bytes, stream);
    TUTTI_RETURN_IF_ERROR(Check(driver, result, "a copy from host memory"));
  }
  return Status::Ok();
}

bool GpuAcrossHosts::Drain(std::int64_t timeout_ns) {
  if (!inside_->runner->AwaitIdle(timeout_ns)) return false;
  return inside_->ended == nullptr || inside_->driver.EventSynchronize(inside_->ended) == 0;
}

void GpuAcrossHosts::NoteCalls(const trace::View& whole) { inside_->runner->NoteCalls(whole); }

void GpuAcrossHosts::Release(const std::string& why) { inside_->runner->Release(why); }

}  // namespace tutti::comm
