// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu/operations.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "plan/plan.h"

namespace tutti::bench {
namespace {

using Kind = Collective;

Operation MakeOperation(const std::string& name, std::size_t bytes, int ranks, const Buffers& buffers) {
  const Collective collective = *ParseCollective(name);
  const bool pieces = plan::InPieces(collective, ranks) > 1 || plan::OutPieces(collective, ranks) > 1;
  const std::size_t count = std::max<std::size_t>(bytes / 4 / (pieces ? ranks : 1), 1);
  return {.kind = static_cast<Kind>(collective),
          .in = buffers.in,
          .out = buffers.out,
          .count = count,
          .type = DataType::kFloat32};
}

}  // namespace

Result<Place> FindPlace() {
  Result<Communicator> communicator = Communicator::FromEnvironment();
  if (!communicator.ok()) return communicator.status();
  const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
  if (!driver.ok()) return driver.status();
  int gpus = 1;
  (*driver)->DeviceGetCount(&gpus);
  Place place{.communicator = std::move(*communicator), .driver = *driver, .gpus = std::max(gpus, 1), .context = {}};
  Result<sys::cuda::PrimaryContext> context = sys::cuda::PrimaryContext::Retain(*driver, place.gpu());
  if (!context.ok()) return context.status();
  place.context = std::move(*context);
  TUTTI_RETURN_IF_ERROR(sys::cuda::Check(**driver, (*driver)->CtxSetCurrent(place.context.get()), "the GPU's context"));
  return place;
}

std::size_t ParseSize(const std::string& text) {
  std::size_t end = 0;
  const std::size_t value = std::stoull(text, &end);
  const char unit = end < text.size() ? text[end] : 'B';
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : unit == 'G' ? value << 30 : value;
}

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(by, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Several ParseSeveral(const std::string& name) {
  const std::size_t digits = name.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string::npos || name[digits] != 'x') return {1, name};
  return {std::max(std::atoi(name.c_str()), 1), name.substr(digits + 1)};
}

bool IsOperation(const std::string& name) {
  return name == "send_recv" || ParseCollective(ParseSeveral(name).op).has_value();
}

std::vector<Operation> MakeOperations(const std::string& name, std::size_t bytes, const Communicator& communicator,
                                      const Buffers& buffers) {
  const int rank = communicator.rank(), ranks = communicator.ranks();
  if (name != "send_recv") {
    const Several several = ParseSeveral(name);
    const std::size_t stride = std::max(bytes, kLeastStride);
    std::vector<Operation> operations;
    for (int i = 0; i < several.items; ++i) {
      operations.push_back(
          MakeOperation(several.op, bytes, ranks, {buffers.in + i * stride, buffers.out + i * stride}));
    }
    return operations;
  }
  const std::size_t count = std::max<std::size_t>(bytes / 4, 1);
  return {
      {.kind = Kind::kSend, .in = buffers.in, .count = count, .type = DataType::kFloat32, .root = (rank + 1) % ranks},
      {.kind = Kind::kRecv,
       .out = buffers.out,
       .count = count,
       .type = DataType::kFloat32,
       .root = (rank + ranks - 1) % ranks}};
}

}  // namespace tutti::bench
