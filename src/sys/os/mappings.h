// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_MAPPINGS_H_
#define TUTTI_SYS_OS_MAPPINGS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/status.h"

namespace tutti::sys {

// A range of a process's address space, as a line of /proc/<pid>/maps tells of it.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;     // the first address behind it
  std::uint64_t offset = 0;  // in the object that is mapped
  bool readable = false;
  bool writable = false;
  bool shared = false;
  std::string path;  // "/memfd:name (deleted)", "[heap]", "/usr/lib/x.so"; empty where there is none

  // Readable and writable memory of this process alone that has no name: not the heap nor the first thread's stack, which grow.
  bool IsOrdinaryMemory() const { return readable && writable && !shared && path.empty(); }
  // "name" for an object that CreateSharedMemory made under a name that begins so.
  bool IsSharedMemory(std::string_view name) const;
};

// Lines that are none are left out.
std::vector<Mapping> ParseMappings(std::string_view text);

// The mappings of a process of this user. Codes: kInvalidArgument where there is no such process, kSystem where it may
// not be looked at. The process need not run: it may be stopped or hang.
Result<std::vector<Mapping>> ReadMappings(std::int32_t pid);

// Maps memory of this process's own at exactly these addresses. False where something is mapped there, and where it can not be. `protection`: as
// mmap takes it.
bool MapIfFree(std::span<std::byte> range, int protection);

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_MAPPINGS_H_
