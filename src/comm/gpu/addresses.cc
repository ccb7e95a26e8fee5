// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/addresses.h"

#include <fmt/format.h>

namespace tutti::comm {
namespace {

using Kind = Collective;

constexpr int kPieceBits = 21;  // device memory comes in pieces of 2 MiB

// The buffer that says where an operation's data lies: one that this rank uses.
const void* TellingBuffer(const Operation& o, int rank) {
  const bool reads =
      o.kind != Kind::kRecv && (rank == o.root || (o.kind != Kind::kBroadcast && o.kind != Kind::kScatter));
  const void* const telling = reads ? o.in : o.out;
  return telling != nullptr ? telling : o.in != nullptr ? o.in : o.out;
}

}  // namespace

bool DeviceAddresses::Has(const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t piece = place >> kPieceBits;
  std::uintptr_t& known = known_[piece % known_.size()];
  if (known == piece) [[likely]]
    return address != nullptr;
  unsigned type = 0;
  if (driver_.PointerGetAttribute(&type, sys::cuda::kMemoryType, place) != 0 || type == 0) return false;
  if (type != sys::cuda::kHostMemory) known = piece;  // pinned pages may have others beside them
  return true;
}

bool DeviceAddresses::HasBuffersOf(const Operation& o, int rank) {
  const void* buffer = TellingBuffer(o, rank);
  return buffer == nullptr ? o.count == 0 : Has(buffer);
}

Status HostOnly::Check(const Operation& o, int rank) const {
  const auto place = reinterpret_cast<sys::cuda::Address>(TellingBuffer(o, rank));
  unsigned type = 0, managed = 0;
  if (o.count == 0 || driver_.PointerGetAttribute(&type, sys::cuda::kMemoryType, place) != 0 ||
      type != sys::cuda::kDeviceMemory) {
    return Status::Ok();
  }
  if (driver_.PointerGetAttribute(&managed, sys::cuda::kIsManaged, place) == 0 && managed != 0) return Status::Ok();
  return Status(
      Code::kUnsupported,
      fmt::format("the buffers of rank {} lie in GPU memory, and its communicator works on host memory only: {}", rank,
                  why_));
}

}  // namespace tutti::comm
