// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_CORE_FILE_H_
#define TUTTI_SYS_OS_CORE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tutti/status.h"

namespace tutti::sys {

// A core file: the memory of a process as it was when a signal ended it, or when gcore copied it. ELF of 64 bits, little-endian, as Linux
// writes it. The file may hold anything: nothing in it is trusted further than its own bounds. Threads: one.
class CoreFile {
 public:
  // Where the bytes of the file are. `read` fills all of its argument, or says why not; it is asked for nothing beyond `bytes`.
  struct Source {
    std::uint64_t bytes = 0;
    std::function<Status(std::uint64_t offset, std::span<std::byte> to)> read;
  };
  // A range of the process's memory.
  struct Region {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;      // the first address behind it
    std::uint64_t in_file = 0;  // how many of its bytes are there, from `begin` on
    std::uint64_t offset = 0;   // where, in the file
    bool writable = false;
  };
  // What was mapped from a file, or from shared memory.
  struct MappedFile {
    std::uint64_t begin = 0, end = 0;
    std::string path;  // "/memfd:name (deleted)"
  };

  // kInvalidArgument for what is no core file, kSystem where it cannot be read.
  static Result<CoreFile> Open(const std::string& path);
  static Result<CoreFile> Parse(Source source);

  std::uint64_t bytes() const { return source_.bytes; }    // of the file
  std::int32_t pid() const { return pid_; }                // 0: not known
  const std::string& program() const { return program_; }  // at most 15 characters
  int signal() const { return signal_; }                   // that ended it; 0: none, or not known
  int threads() const { return threads_; }
  const std::vector<Region>& regions() const { return regions_; }  // ascending, and apart from each other
  const std::vector<MappedFile>& mapped_files() const { return mapped_files_; }
  // Whether the file ends before the memory that it says it holds.
  bool is_cut() const { return is_cut_; }

  // All of `to`, or kInvalidArgument where some of it is not in the file.
  Status ReadMemory(std::uint64_t address, std::span<std::byte> to) const;
  // How many bytes can be read in one piece, from `address` on.
  std::uint64_t BytesFrom(std::uint64_t address) const;

 private:
  Status ReadHeaders();
  Status ReadNotes(std::uint64_t offset, std::uint64_t bytes);
  void ReadNote(std::uint32_t type, std::span<const std::byte> content);
  void ReadMappedFiles(std::span<const std::byte> content);
  const Region* RegionOf(std::uint64_t address) const;

  Source source_;
  std::int32_t pid_ = 0;
  std::string program_;
  int signal_ = 0;
  int threads_ = 0;
  std::vector<Region> regions_;
  std::vector<MappedFile> mapped_files_;
  bool is_cut_ = false;
};

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_CORE_FILE_H_
