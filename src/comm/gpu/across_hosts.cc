// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/across_hosts.h"

#include <algorithm>
#include <utility>

#include "sys/os/memory.h"

namespace tutti::comm {
namespace {

using sys::cuda::Address;
using sys::cuda::Check;
using sys::cuda::MemoryOperation;
using sys::cuda::SharedHostMemory;
using sys::cuda::Stream;

constexpr std::size_t kPage = 4096;

MemoryOperation Write(Address address, std::uint32_t value) {
  return {.operation = sys::cuda::kWriteWord, .address = address, .value = value};
}
MemoryOperation Await(Address address, std::uint32_t value) {
  return {.operation = sys::cuda::kWaitWord,
          .address = address,
          .value = value,
          .flags = sys::cuda::kUntilGreaterOrEqual};
}

}  // namespace

Result<std::unique_ptr<GpuAcrossHosts>> GpuAcrossHosts::Create(Options options) {
  std::unique_ptr<GpuAcrossHosts> made(new GpuAcrossHosts(options));
  Result<sys::cuda::MappedHostMemory> words =
      sys::cuda::MappedHostMemory::Create(options.driver, sizeof(HostRunnerWords));
  if (!words.ok()) return words.status();
  made->words_ = std::move(*words);
  for (SharedHostMemory& place : made->places_) TUTTI_RETURN_IF_ERROR(made->Grow(place, kPieceBytes));
  Result<std::unique_ptr<HostRunner>> runner =
      HostRunner::Start({.communicator = std::move(options.communicator),
                         .words = static_cast<HostRunnerWords*>(made->words_.host()),
                         .spin_ns = options.spin_ns,
                         .broken = std::move(options.broken)});
  if (!runner.ok()) return runner.status();
  made->runner_ = std::move(*runner);
  return made;
}

GpuAcrossHosts::GpuAcrossHosts(const Options& options)
    : driver_(*options.driver),
      device_(options.device),
      context_(options.context),
      rank_(options.communicator.rank()),
      ranks_(options.communicator.ranks()) {}

GpuAcrossHosts::~GpuAcrossHosts() {
  if (ended_ != nullptr) driver_.EventDestroy(ended_);
}

Address GpuAcrossHosts::WordAt(std::size_t offset) const {
  return reinterpret_cast<Address>(static_cast<std::byte*>(words_.device()) + offset);
}

std::size_t GpuAcrossHosts::host_bytes() const {
  std::size_t bytes = 0;
  for (const SharedHostMemory& place : places_) bytes += place.bytes();
  for (const SharedHostMemory& place : outgrown_) bytes += place.bytes();
  return bytes;
}

Status GpuAcrossHosts::Grow(SharedHostMemory& place, std::size_t bytes) {
  const sys::cuda::ScopedContext scope(&driver_, context_);
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  const Result<sys::Fd> fd = sys::CreateSharedMemory("tutti-across", whole);
  if (!fd.ok()) return fd.status();
  Result<SharedHostMemory> larger = SharedHostMemory::Register(&driver_, device_, *fd, whole);
  if (!larger.ok()) return larger.status();
  if (place.bytes() > 0) outgrown_.push_back(std::move(place));
  place = std::move(*larger);
  return Status::Ok();
}

Status GpuAcrossHosts::MakeRoom(std::span<const HostPiece> pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    SharedHostMemory& place = places_[i % kPlaces];
    if (pieces[i].bytes > place.bytes()) TUTTI_RETURN_IF_ERROR(Grow(place, pieces[i].bytes));
  }
  return Status::Ok();
}

HostRunner::Placed GpuAcrossHosts::Place(const HostPiece& piece, std::size_t place) const {
  return {.operations = piece.operations, .memory = places_[place].host()};
}

Status GpuAcrossHosts::Run(std::span<const Operation> operations, Stream stream, bool captured) {
  const std::vector<HostPiece> pieces = CutForHost(operations, rank_, ranks_);
  if (pieces.empty()) return Status::Ok();
  TUTTI_RETURN_IF_ERROR(MakeRoom(pieces));
  TUTTI_RETURN_IF_ERROR(Enqueue(pieces, stream, captured));
  if (captured) return Status::Ok();
  if (ended_ == nullptr) {
    TUTTI_RETURN_IF_ERROR(Check(driver_, driver_.EventCreate(&ended_, sys::cuda::kNoTiming), "an event"));
  }
  return Check(driver_, driver_.EventRecord(ended_, stream), "noting the end of an operation");
}

Status GpuAcrossHosts::Enqueue(std::span<const HostPiece> pieces, Stream stream, bool captured) {
  operations_.clear();
  std::uint32_t call = 0;
  std::array<std::uint32_t, kPlaces> number{};  // of the piece that was put into each place last
  const Address done_word = WordAt(captured ? offsetof(HostRunnerWords, captured_done) : offsetof(HostRunnerWords, done));
  if (captured) {
    std::vector<HostRunner::Placed> all;
    for (std::size_t i = 0; i < pieces.size(); ++i) all.push_back(Place(pieces[i], i % kPlaces));
    call = runner_->AddCaptured(std::move(all));
    operations_.push_back(Write(done_word, 0));
  }
  for (std::size_t i = 0; i < pieces.size() + kPlaces; ++i) {
    const std::size_t place = i % kPlaces;
    if (i >= kPlaces && i - kPlaces < pieces.size()) {
      TUTTI_RETURN_IF_ERROR(End(pieces[i - kPlaces], place, Await(done_word, number[place]), stream));
    }
    if (i >= pieces.size()) continue;
    number[place] = captured ? static_cast<std::uint32_t>(i + 1) : runner_->Add(Place(pieces[i], place));
    const MemoryOperation ready =
        captured ? MemoryOperation{.operation = sys::cuda::kWriteLong,
                                   .address = WordAt(offsetof(HostRunnerWords, captured_ready)),
                                   .value = CapturedReady(call, number[place])}
                 : Write(WordAt(offsetof(HostRunnerWords, ready)), number[place]);
    TUTTI_RETURN_IF_ERROR(Begin(pieces[i], place, ready, stream));
  }
  return Flush(stream);
}

Status GpuAcrossHosts::Flush(Stream stream) {
  if (operations_.empty()) return Status::Ok();
  const int result =
      driver_.StreamBatchMemOp(stream, static_cast<unsigned>(operations_.size()), operations_.data(), 0);
  operations_.clear();
  return Check(driver_, result, "waiting for other hosts");
}

Status GpuAcrossHosts::Begin(const HostPiece& piece, std::size_t place, const MemoryOperation& ready, Stream stream) {
  if (!piece.in.empty()) TUTTI_RETURN_IF_ERROR(Flush(stream));
  const auto memory = reinterpret_cast<Address>(places_[place].device());
  for (const HostCopy& copy : piece.in) {
    const int result = driver_.MemcpyAsync(memory + copy.at, reinterpret_cast<Address>(copy.user), copy.bytes, stream);
    TUTTI_RETURN_IF_ERROR(Check(driver_, result, "a copy to host memory"));
  }
  operations_.push_back(ready);
  return Status::Ok();
}

Status GpuAcrossHosts::End(const HostPiece& piece, std::size_t place, const MemoryOperation& done, Stream stream) {
  operations_.push_back(done);
  TUTTI_RETURN_IF_ERROR(Flush(stream));
  const auto memory = reinterpret_cast<Address>(places_[place].device());
  for (const HostCopy& copy : piece.out) {
    const int result = driver_.MemcpyAsync(reinterpret_cast<Address>(copy.user), memory + copy.at, copy.bytes, stream);
    TUTTI_RETURN_IF_ERROR(Check(driver_, result, "a copy from host memory"));
  }
  return Status::Ok();
}

bool GpuAcrossHosts::Drain(std::int64_t timeout_ns) {
  if (!runner_->AwaitIdle(timeout_ns)) return false;
  return ended_ == nullptr || driver_.EventSynchronize(ended_) == 0;
}

void GpuAcrossHosts::Release(const std::string& why) { runner_->Release(why); }

}  // namespace tutti::comm
