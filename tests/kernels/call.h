// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_KERNELS_CALL_H_
#define TUTTI_TESTS_KERNELS_CALL_H_

// Operations as tests of kernels make them, and what they must give: bit for bit what the CPU executor's arithmetic
// (exec/cpu/fold.h) makes of all ranks' inputs.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algo/algorithm.h"
#include "proto/protocol.h"
#include "tests/kernels/random.h"
#include "tutti/types.h"

namespace tutti::tests {

enum class Form : std::uint8_t { kProgram, kBatch, kRelay, kGroup };
inline constexpr int kForms = 4;

struct Transfer {
  int from, to;
  std::size_t bytes;
};

struct Call {
  Form form = Form::kProgram;
  algo::Algorithm algorithm = algo::Algorithm::kOneShot;
  Collective collective = Collective::kAllReduce;
  int root = 0;
  proto::Protocol protocol = proto::Protocol::kLl;
  int channels = 1;             // of a program
  int threads = 128;            // of a block of a program
  std::size_t chunk_bytes = 0;  // Shape::chunk_bytes
  int blocks = 1;               // at most, of a relay and of a group
  int items = 1;                // of a batch
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::size_t count = 1;
  bool in_place = false;
  bool factor_in_memory = false;    // kPreMulSum
  std::size_t misalign = 0;         // elements by which buffers miss their alignment
  bool whole_lines = true;          // kGroup: LL128 may be used
  std::vector<Transfer> transfers;  // kGroup
};

std::string Describe(const Call& call);

// User memory with something around it that must stay.
class Buffer {
 public:
  Buffer() = default;
  // The storage's addresses are multiples of 128, the buffer begins `misalign` bytes behind one.
  Buffer(std::size_t bytes, std::size_t misalign, Random& random);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = default;

  std::byte* at() const { return at_; }
  std::size_t bytes() const { return bytes_; }
  // What must be there at the end; empty: anything.
  std::vector<std::byte>& expected() { return expected_; }
  // Where the buffer, or what is around it, is not what it must be: "" or a sentence.
  std::string Compare() const;

 private:
  static constexpr std::size_t kAround = 128;
  std::vector<std::byte> storage_, before_;
  std::byte* at_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<std::byte> expected_;
};

// One operation's memory on all ranks; `at` of what a rank does not have is null.
struct Buffers {
  std::vector<Buffer> first, second;  // by rank; in and out, or both in the first
  std::vector<std::byte*> in, out;
  std::vector<Buffer> factors;
  std::vector<double> scalars;
};

// Inputs, and what outputs must be. Not of a group.
Buffers MakeBuffers(const Call& call, int ranks, Random& random);
// Of a group: a buffer for each transfer at both ends.
Buffers MakeTransferBuffers(const Call& call, Random& random);

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_KERNELS_CALL_H_
