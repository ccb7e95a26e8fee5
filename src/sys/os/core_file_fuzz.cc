// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to the reader of core files. What it takes must lie within the file, whoever has written that.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (a core file of a process that signal 11 ended "crashes") must be found within seconds.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "sys/os/core_file.h"

namespace tutti::sys {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadEverything(const CoreFile& core) {
#ifdef TUTTI_FUZZ_CANARY
  Require(core.signal() != 11);
#endif
  Require(core.threads() >= 0 && core.program().size() <= 16);
  for (const CoreFile::MappedFile& file : core.mapped_files()) Require(file.path.find('\n') == std::string::npos);
  std::uint64_t last = 0;
  for (const CoreFile::Region& region : core.regions()) {
    Require(region.begin >= last && region.end > region.begin && region.in_file <= region.end - region.begin);
    last = region.end;
    const std::uint64_t bytes = core.BytesFrom(region.begin);
    Require(bytes >= region.in_file);
    std::vector<std::byte> memory(std::min<std::uint64_t>(bytes, 1 << 16));
    Require(core.ReadMemory(region.begin, memory).ok());
    if (bytes == memory.size()) {
      memory.push_back({});
      Require(!core.ReadMemory(region.begin, memory).ok());
    }
  }
}

}  // namespace
}  // namespace tutti::sys

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::sys;
  const auto read = [&](std::uint64_t offset, std::span<std::byte> to) {
    Require(offset <= size && to.size() <= size - offset);
    std::ranges::copy(std::as_bytes(std::span(data, size)).subspan(offset, to.size()), to.begin());
    return tutti::Status();
  };
  const tutti::Result<CoreFile> core = CoreFile::Parse({.bytes = size, .read = read});
  if (core.ok()) ReadEverything(*core);
  return 0;
}
