// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRACE_CALL_H_
#define TUTTI_TRACE_CALL_H_

// What a call asks for, as far as ranks must agree on it: function, count, element type, operator, root. In 96 bits
// without loss, and as a 64-bit signature.

#include <cstdint>
#include <string>

#include "tutti/operation.h"

namespace tutti::trace {

// Function, type, operator and root in one word; fields that a function does not have are 0.
//
//   bit  0          4        9        13                       32
//        +----------+--------+--------+------------------------+
//        | function |  type  |   op   |  root, or the peer     |
//        +----------+--------+--------+------------------------+
using CallWord = std::uint32_t;

inline constexpr int kFunctions = kCollectives + 2;
inline constexpr CallWord kTypeBits = 0x1f0, kOpBits = 0x1e00, kRootBits = 0xffffe000u;
// The fields of each function, in the order of Collective.
inline constexpr CallWord kFieldsOf[kFunctions] = {
    0xf | kTypeBits | kOpBits,              // all_reduce
    0xf | kTypeBits,                        // all_gather
    0xf | kTypeBits | kOpBits,              // reduce_scatter
    0xf | kTypeBits | kRootBits,            // broadcast
    0xf | kTypeBits | kOpBits | kRootBits,  // reduce
    0xf | kTypeBits | kRootBits,            // gather
    0xf | kTypeBits | kRootBits,            // scatter
    0xf | kTypeBits,                        // all_to_all
    0,                                      // send_recv: no call is one
    0xf,                                    // barrier
    0xf | kTypeBits | kRootBits,            // send
    0xf | kTypeBits | kRootBits,            // recv
};

// REQUIRES: the operation's fields are valid; its root is less than 2^19.
inline CallWord PackCall(const Operation& o) {
  const auto all = static_cast<CallWord>(o.kind) | static_cast<CallWord>(o.type) << 4 |
                   static_cast<CallWord>(o.op) << 9 | static_cast<CallWord>(o.root) << 13;
  return all & kFieldsOf[static_cast<int>(o.kind)];
}

// The 64-bit signature of a call. Calls with different words or counts differ but for one pair in 2^64.
constexpr std::uint64_t Signature(CallWord word, std::uint64_t count) {
  std::uint64_t x = count * 0xff51afd7ed558ccdu + word * 0xc4ceb9fe1a85ec53u;
  x ^= x >> 32;
  return x * 0x9fb21c651e98df25u;
}

// Marks name the call that a message on a link belongs to. The mark of a collective follows from its signature and the
// mark of the collective before it (0 for the first), so it stands for all calls so far: where two ranks have ever called
// different things, all their later marks differ. The upper bits differ best.
constexpr std::uint64_t NextMark(std::uint64_t mark, std::uint64_t signature) {
  return (mark ^ signature) * 0x9e3779b97f4a7c15u;
}
// The mark of the index-th send from one rank to another, and of the receive that it meets.
constexpr std::uint64_t TransferMark(std::uint64_t bytes, std::uint64_t index) {
  return NextMark(index * 0x8ebc6af09c88c6e3u, Signature(0xf, bytes));
}

// A call in readable parts.
struct Call {
  CallWord word = 0;
  std::uint64_t count = 0;  // elements, as the caller gave it; 0 for a barrier

  bool operator==(const Call&) const = default;
  Collective function() const { return static_cast<Collective>(word & 0xf); }
  DataType type() const { return static_cast<DataType>(word >> 4 & 0x1f); }
  ReduceOp op() const { return static_cast<ReduceOp>(word >> 9 & 0xf); }
  int root() const { return static_cast<int>(word >> 13); }  // of a send or receive: the peer
  bool is_transfer() const { return IsTransfer(function()); }
  // False for a word that PackCall never makes, as another process's memory may hold.
  bool valid() const;
  std::uint64_t bytes() const { return count * SizeOf(type()); }  // REQUIRES: valid()
  std::uint64_t signature() const { return Signature(word, count); }
  // "broadcast"
  std::string_view function_name() const;
  // "all_reduce(count 1024, float32, sum)", "send(count 3, int8, to rank 1)", "barrier()"; for a word that is not
  // valid "an unknown call".
  std::string ToString() const;
};

// A call of the program that a part works for (layout.h, "whole").
struct WholeCall {
  bool in_graph = false;     // of a CUDA graph; then nothing more is known of it
  std::uint64_t number = 0;  // in the whole, as of all its calls
  std::uint64_t sequence = 0;
  Call call;

  bool operator==(const WholeCall&) const = default;
};

// "float32": types by the names that errors use.
std::string_view PlainName(DataType type);

}  // namespace tutti::trace

#endif  // TUTTI_TRACE_CALL_H_
