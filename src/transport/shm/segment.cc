// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/segment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "proto/ll.h"
#include "proto/ll128.h"
#include "trace/layout.h"

namespace tutti::transport::shm {
namespace {

// No ring is shorter: a plan may ask for 16 messages in a link (docs/algorithms.md, "slots"), and one more is read.
constexpr int kLeastLog2 = 5;
constexpr std::size_t kMinPoolBytes = std::size_t{1} << 20;

std::size_t RoundUp(std::size_t value, std::size_t granule) { return (value + granule - 1) / granule * granule; }

std::size_t LaneBytes(const RingSizes& r) {
  return RoundUp(
      r.ll_units() * proto::kLlUnitBytes + r.ll128_lines() * sizeof(proto::Ll128Line) + r.posts() * sizeof(proto::Post),
      128);
}

}  // namespace

bool Geometry::operator==(const Geometry& other) const {
  return ranks == other.ranks && channels == other.channels && bytes == other.bytes &&
         pool_offset == other.pool_offset && pool_bytes == other.pool_bytes && lane_bytes == other.lane_bytes;
}

Geometry MakeGeometry(int ranks, int channels, std::size_t bytes) {
  Geometry g;
  g.ranks = ranks;
  g.channels = channels;
  const std::size_t lanes = static_cast<std::size_t>(ranks) * channels;
  const std::size_t ring_budget = bytes / 3;
  while (lanes * LaneBytes(g.rings) > ring_budget && g.rings.log2_ll128_lines > kLeastLog2) {
    --g.rings.log2_ll128_lines;
    if (g.rings.log2_ll_units > kLeastLog2) --g.rings.log2_ll_units;
  }
  g.lane_bytes = LaneBytes(g.rings);
  g.box_bytes = trace::BoxBytes(ranks, channels);
  g.credits_offset = kBoxOffset + g.box_bytes;
  g.rings_offset = RoundUp(g.credits_offset + lanes * sizeof(proto::Credit), 4096);
  g.pool_offset = RoundUp(g.rings_offset + lanes * g.lane_bytes, 4096);
  const std::size_t used = g.pool_offset - g.box_bytes;
  const std::size_t rest = bytes > used ? bytes - used : 0;
  g.pool_bytes = RoundUp(std::max({rest, bytes / 3, kMinPoolBytes}), 4096);
  g.bytes = g.pool_offset + g.pool_bytes;
  return g;
}

Result<Segment> Segment::Create(const Geometry& geometry, int rank) {
  Segment s;
  s.geometry_ = geometry;
  Result<sys::Fd> fd = sys::CreateSharedMemory(kSegmentName, geometry.bytes);
  if (!fd.ok()) return fd.status();
  s.fd_ = std::move(*fd);
  Result<sys::SharedMapping> mapping = sys::MapOnce(s.fd_, geometry.bytes, sys::Access::kReadWrite);
  if (!mapping.ok()) return mapping.status();
  s.mapping_ = std::move(*mapping);
  Header* h = new (s.mapping_.data()) Header{};
  h->magic = kSegmentMagic;
  h->version = kSegmentVersion;
  h->rank = rank;
  h->culprit = -1;
  h->cpu = -1;
  h->probe = kSegmentMagic ^ (static_cast<std::uint64_t>(rank) << 32 | static_cast<std::uint32_t>(geometry.bytes));
  h->probe_address = reinterpret_cast<std::uint64_t>(&h->probe);
  return s;
}

Result<Segment> Segment::Open(const Geometry& geometry, int rank, const sys::Fd& fd) {
  Segment s;
  s.geometry_ = geometry;
  Result<sys::SharedMapping> mapping = sys::MapOnce(fd, geometry.bytes, sys::Access::kRead);
  if (!mapping.ok()) return mapping.status();
  s.mapping_ = std::move(*mapping);
  const Header* h = s.header();
  if (h->magic != kSegmentMagic || h->version != kSegmentVersion || h->rank != rank) {
    return Status(Code::kRemote,
                  fmt::format("the shared pages that rank {} passed are not a Tutti segment of version {} (found "
                              "version {} of rank {}): all ranks must run the same build of Tutti",
                              rank, kSegmentVersion, h->version, h->rank),
                  rank);
  }
  s.MapPoolForLongMessages(fd);
  return s;
}

void Segment::MapPoolForLongMessages(const sys::Fd& fd) {
  if (mapping_.access() == sys::Access::kReadWrite) return;  // the owner's own mapping, in this process
  Result<sys::SharedMapping> again =
      sys::MapOnce(fd, geometry_.pool_bytes, sys::Access::kReadWrite, geometry_.pool_offset);
  if (again.ok()) pool_mapping_ = std::move(*again);
}

std::byte* Segment::lane(int channel, int receiver) const {
  const std::size_t index = static_cast<std::size_t>(channel) * geometry_.ranks + receiver;
  return base() + geometry_.rings_offset + index * geometry_.lane_bytes;
}

proto::Credit* Segment::credit(int channel, int sender) const {
  const std::size_t index = static_cast<std::size_t>(channel) * geometry_.ranks + sender;
  return reinterpret_cast<proto::Credit*>(base() + geometry_.credits_offset) + index;
}

proto::Ll128Line* Segment::ll128(int channel, int receiver) const {
  return reinterpret_cast<proto::Ll128Line*>(lane(channel, receiver));
}

proto::LlLine* Segment::ll(int channel, int receiver) const {
  return reinterpret_cast<proto::LlLine*>(ll128(channel, receiver) + geometry_.rings.ll128_lines());
}

proto::Post* Segment::posts(int channel, int receiver) const {
  return reinterpret_cast<proto::Post*>(ll(channel, receiver) + geometry_.rings.ll_units() * proto::kLlLinesPerUnit);
}

Status Segment::ReleasePool() { return sys::ReleasePages(mapping_, geometry_.pool_offset, geometry_.pool_bytes); }

void Segment::PublishFailure(Code code, const std::string& reason, int culprit) {
  Header* h = header();
  if (h->state.load(std::memory_order_acquire) == RankState::kFailed) return;
  const std::size_t bytes = std::min(reason.size(), kReasonBytes - 1);
  std::memcpy(h->reason, reason.data(), bytes);
  h->reason[bytes] = '\0';
  h->code = static_cast<std::uint32_t>(code);
  h->culprit = culprit;
  h->state.store(RankState::kFailed, std::memory_order_release);
}

}  // namespace tutti::transport::shm
