// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_AGREE_BYTES_H_
#define TUTTI_COMM_AGREE_BYTES_H_

#include <cstddef>

#include "tutti/operation.h"

namespace tutti::comm {

// A collective on bytes, by which ranks tell each other what they have to agree on.
inline Operation Bytes(Collective kind, const void* in, void* out, std::size_t count) {
  return {.kind = kind, .in = in, .out = out, .count = count, .type = DataType::kUint8};
}

}  // namespace tutti::comm

#endif  // TUTTI_COMM_AGREE_BYTES_H_
