// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_NVTX_MARKS_H_
#define TUTTI_TESTS_NVTX_MARKS_H_

#include <cstddef>
#include <cstdint>

// What a tool that reads NVTX was told (nvtx_tool.cc), in the order of the calls. Its library has a function tutti_test_marks that
// returns the first, and how many there are.
struct Mark {
  enum What : int { kDomain, kSchema, kEnum, kPush, kPop } what;
  char domain[16];
  char name
      [40];  // of a domain or range; of a schema the names of its values, one behind the other, as far as there is room
  std::uint64_t schema;  // its id; of a range that of its payload, 0: it has none
  std::size_t size;      // of the payload
  std::size_t entries;   // of a schema or enum
  unsigned char payload[48];
  std::int64_t thread;
};

extern "C" const Mark* tutti_test_marks(int* count);

#endif  // TUTTI_TESTS_NVTX_MARKS_H_
