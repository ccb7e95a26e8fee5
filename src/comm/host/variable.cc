// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tutti/variable.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace tutti {
namespace {

Status Wrong(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

// Whether pieces of these lengths make up the buffer.
Status CheckSum(std::string_view function, std::string_view buffer, std::span<const std::size_t> counts,
                std::size_t elements) {
  std::size_t sum = 0;
  for (const std::size_t count : counts) {
    if (__builtin_add_overflow(sum, count, &sum))
      return Wrong(fmt::format("{}: the counts of the {} overflow", function, buffer));
  }
  if (sum == elements) return Status::Ok();
  return Wrong(
      fmt::format("{}: the counts of the {} make {} elements, and it has {}", function, buffer, sum, elements));
}

}  // namespace

Result<std::vector<Operation>> AllToAllV(const void* in, std::size_t in_elements,
                                         std::span<const std::size_t> in_counts, void* out, std::size_t out_elements,
                                         std::span<const std::size_t> out_counts, DataType type) {
  if (in_counts.size() != out_counts.size()) {
    return Wrong(fmt::format(
        "AllToAllV: there are counts for {} pieces of the input and for {} of the output; give one for each rank",
        in_counts.size(), out_counts.size()));
  }
  TUTTI_RETURN_IF_ERROR(CheckSum("AllToAllV", "input", in_counts, in_elements));
  TUTTI_RETURN_IF_ERROR(CheckSum("AllToAllV", "output", out_counts, out_elements));
  std::vector<Operation> group;
  const auto* from = static_cast<const std::byte*>(in);
  auto* to = static_cast<std::byte*>(out);
  for (std::size_t peer = 0; peer < in_counts.size(); ++peer) {
    const int rank = static_cast<int>(peer);
    group.push_back({.kind = Collective::kSend, .in = from, .count = in_counts[peer], .type = type, .root = rank});
    group.push_back({.kind = Collective::kRecv, .out = to, .count = out_counts[peer], .type = type, .root = rank});
    from += in_counts[peer] * SizeOf(type);
    to += out_counts[peer] * SizeOf(type);
  }
  return group;
}

Result<std::vector<Operation>> AllGatherV(const void* in, std::size_t in_elements, void* out, std::size_t out_elements,
                                          std::span<const std::size_t> counts, int rank, DataType type) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= counts.size()) {
    return Wrong(
        fmt::format("AllGatherV: rank {} has none of the {} counts; give one for each rank", rank, counts.size()));
  }
  TUTTI_RETURN_IF_ERROR(
      CheckSum("AllGatherV", "input", counts.subspan(static_cast<std::size_t>(rank), 1), in_elements));
  TUTTI_RETURN_IF_ERROR(CheckSum("AllGatherV", "output", counts, out_elements));
  std::vector<Operation> group;
  auto* to = static_cast<std::byte*>(out);
  for (std::size_t peer = 0; peer < counts.size(); ++peer) {
    const bool own_place = static_cast<int>(peer) == rank && to == in;
    if (!own_place) {
      group.push_back(
          {.kind = Collective::kSend, .in = in, .count = in_elements, .type = type, .root = static_cast<int>(peer)});
      group.push_back(
          {.kind = Collective::kRecv, .out = to, .count = counts[peer], .type = type, .root = static_cast<int>(peer)});
    }
    to += counts[peer] * SizeOf(type);
  }
  return group;
}

}  // namespace tutti
