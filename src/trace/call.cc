// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/call.h"

#include <fmt/format.h>

#include <array>

namespace tutti::trace {
namespace {

constexpr std::array<std::string_view, kDataTypes> kTypeNames = {
    "int8",     "uint8",      "int32",      "uint32", "int64", "uint64", "float16",   "float32",   "float64",
    "bfloat16", "float8e4m3", "float8e5m2", "bool",   "int16", "uint16", "complex64", "complex128"};

}  // namespace

std::string_view PlainName(DataType type) { return kTypeNames[static_cast<int>(type)]; }

bool Call::valid() const {
  const CallWord function = word & 0xf;
  return function < kFunctions && (word & ~kFieldsOf[function]) == 0 && static_cast<int>(type()) < kDataTypes &&
         static_cast<int>(op()) < kReduceOps;
}

std::string_view Call::function_name() const {
  const CallWord function = word & 0xf;
  return function < kFunctions ? Name(static_cast<Collective>(function)) : "unknown";
}

std::string Call::ToString() const {
  if (!valid()) return "an unknown call";
  if (function() == Collective::kBarrier) return "barrier()";
  const CallWord fields = kFieldsOf[word & 0xf];
  std::string text = fmt::format("{}(count {}, {}", function_name(), count, PlainName(type()));
  if ((fields & kOpBits) != 0) text += fmt::format(", {}", Name(op()));
  if ((fields & kRootBits) != 0) {
    const char* what = function() == Collective::kSend   ? "to rank"
                       : function() == Collective::kRecv ? "from rank"
                                                         : "root";
    text += fmt::format(", {} {}", what, root());
  }
  return text + ")";
}

}  // namespace tutti::trace
