// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "exec/gpu/launch/side_streams.h"

namespace tutti::exec::gpu {

using sys::cuda::Check;
using sys::cuda::Stream;

SideStreams::~SideStreams() {
  for (const Side& side : sides_) {
    if (side.begin != nullptr) driver_->EventDestroy(side.begin);
    if (side.end != nullptr) driver_->EventDestroy(side.end);
    if (side.stream != nullptr) driver_->StreamDestroy(side.stream);
  }
}

Status SideStreams::Make() {
  const sys::cuda::Driver& d = *driver_;
  Side& side = sides_.emplace_back();
  TUTTI_RETURN_IF_ERROR(Check(d, d.StreamCreate(&side.stream, sys::cuda::kNonBlocking), "a stream for copies"));
  TUTTI_RETURN_IF_ERROR(Check(d, d.EventCreate(&side.begin, sys::cuda::kNoTiming), "an event"));
  return Check(d, d.EventCreate(&side.end, sys::cuda::kNoTiming), "an event");
}

// One that takes part in the same capture as `beside`, or in none: a stream stays in a capture until that has ended.
Result<SideStreams::Side> SideStreams::Find(Stream beside) {
  const auto capture_of = [&](Stream stream) -> unsigned long long {
    const Result<unsigned long long> capture = sys::cuda::CaptureOf(*driver_, stream);
    return capture.ok() ? *capture : 0;
  };
  const unsigned long long own = capture_of(beside);
  for (const Side& side : sides_) {
    const unsigned long long its = capture_of(side.stream);
    if (side.end != nullptr && side.stream != beside && (its == 0 || its == own)) return side;
  }
  TUTTI_RETURN_IF_ERROR(Make());
  return sides_.back();
}

Result<SideStreams::Side> SideStreams::Fork(Stream stream) {
  const sys::cuda::Driver& d = *driver_;
  Result<Side> side = Find(stream);
  if (!side.ok()) return side;
  TUTTI_RETURN_IF_ERROR(Check(d, d.EventRecord(side->begin, stream), "ordering copies"));
  TUTTI_RETURN_IF_ERROR(Check(d, d.StreamWaitEvent(side->stream, side->begin, 0), "ordering copies"));
  return side;
}

Status SideStreams::End(const Side& side) {
  return Check(*driver_, driver_->EventRecord(side.end, side.stream), "ordering copies");
}

Result<SideStreams::Side> SideStreams::Copy(std::span<const OwnCopy> copies, Stream stream) {
  if (copies.empty()) [[likely]]
    return Side();
  Result<Side> side = Fork(stream);
  if (!side.ok()) return side;
  for (const OwnCopy& copy : copies) {
    const int result = driver_->MemcpyAsync(reinterpret_cast<sys::cuda::Address>(copy.to),
                                            reinterpret_cast<sys::cuda::Address>(copy.from), copy.bytes, side->stream);
    TUTTI_RETURN_IF_ERROR(Check(*driver_, result, "a copy of a rank's own block"));
  }
  TUTTI_RETURN_IF_ERROR(End(*side));
  return side;
}

Status SideStreams::Join(const Side& side, Stream stream) {
  if (side.stream == nullptr) return Status::Ok();
  return Check(*driver_, driver_->StreamWaitEvent(stream, side.end, 0), "ordering copies");
}

}  // namespace tutti::exec::gpu
