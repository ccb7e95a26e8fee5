// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ncclConfig_t or ncclSimInfo_t, in memory that ends where the struct says it does.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "capi/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 17 || size > 512) return 0;
  const bool honest = data[0] % 2 == 0;  // says its true size and magic
  ++data;
  --size;
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[size]);
  std::memcpy(bytes.get(), data, size);
  auto* config = reinterpret_cast<ncclConfig_t*>(bytes.get());
  std::size_t said;
  std::memcpy(&said, data, sizeof(said));
  if (honest || said > size) {
    std::memcpy(bytes.get(), &size, sizeof(size));
    const unsigned magic = NCCL_API_MAGIC;
    std::memcpy(bytes.get() + 8, &magic, sizeof(magic));
  }
  // Pointers in it would be followed.
  for (const std::size_t pointer : {std::size_t{32}, std::size_t{48}}) {
    if (pointer < size) std::memset(bytes.get() + pointer, 0, std::min<std::size_t>(8, size - pointer));
  }
  const tutti::Result<tutti::capi::Config> read = tutti::capi::ReadConfig(config);
  if (!read.ok() && read.status().message().empty()) std::abort();
#ifdef TUTTI_FUZZ_CANARY
  if (read.ok() && read->split_share) std::abort();
#endif
  (void)tutti::capi::WriteSimInfo(reinterpret_cast<ncclSimInfo_t*>(bytes.get()), 1.0);
  return 0;
}
