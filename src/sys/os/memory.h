// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_OS_MEMORY_H_
#define TUTTI_SYS_OS_MEMORY_H_

// Pages that several processes share: anonymous files, handed on as descriptors. They have no name in any
// file system, count against no /dev/shm quota, and vanish with the last process that holds them.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sys/os/fd.h"
#include "tutti/status.h"

namespace tutti::sys {

enum class Access : std::uint8_t { kRead, kReadWrite };

// Holds a mapping of shared memory, or none; the last holder unmaps it. The descriptor it was made from may be closed.
class SharedMapping {
 public:
  SharedMapping() = default;

  std::byte* data() const { return data_.get(); }  // page-aligned; null where there is no mapping
  std::size_t bytes() const { return bytes_; }
  Access access() const { return access_; }
  void Unmap() { *this = SharedMapping(); }

 private:
  friend Result<SharedMapping> Map(const Fd& fd, std::size_t bytes, Access access, std::size_t offset);
  friend Result<SharedMapping> MapOnce(const Fd& fd, std::size_t bytes, Access access, std::size_t offset);
  std::shared_ptr<std::byte> data_;
  std::size_t bytes_ = 0;
  Access access_ = Access::kRead;
};

// Makes a shared memory object of `bytes` zeros. Pages are allocated when first touched, on the NUMA node of
// the thread that touches them. `name` is for people (/proc/<pid>/maps) and need not be unique.
//
// Where the kernel allows it, a memfd, sealed: nobody can make it shorter, so that a mapping of it can never
// raise SIGBUS. Where memfd_create is forbidden: an unlinked file in /dev/shm, or else in /tmp, with its
// pages allocated at once, so that a full file system is an error here and not a SIGBUS later.
Result<Fd> CreateSharedMemory(const char* name, std::size_t bytes);

// Maps `bytes` of a shared memory object, from `offset` on, which is a multiple of the page size. Fails unless the object
// really has that many, so that a peer which lies about its size cannot cause SIGBUS.
Result<SharedMapping> Map(const Fd& fd, std::size_t bytes, Access access, std::size_t offset = 0);
// The same, but where this process holds a mapping of the object that MapOnce made, from that very offset, of at least
// `bytes` and with at least that access, returns it. So ranks that are threads see each other's pages at one address, and
// n of them need n mappings instead of n squared. Any thread.
Result<SharedMapping> MapOnce(const Fd& fd, std::size_t bytes, Access access, std::size_t offset = 0);

// Gives pages of a shared memory object back to the system, for all who have mapped them; they are zeros when touched
// next. REQUIRES: offset and bytes are multiples of 4096; the mapping is writable.
Status ReleasePages(const SharedMapping& mapping, std::size_t offset, std::size_t bytes);

// A descriptor of the same memory that can be mapped kRead only: what to give to peers that must not write.
// Opened through /proc/self/fd; where /proc is missing, a plain duplicate. Guards against mistakes, not
// against a process of the same user, which can open the object again.
Result<Fd> ReopenReadOnly(const Fd& fd);

// Zeros for this process alone, of which only pages that are touched take memory, however many there are.
class PrivatePages {
 public:
  PrivatePages() = default;  // none
  static Result<PrivatePages> Make(std::size_t bytes);

  // Has those that were not touched yet allocated on the NUMA node of this number, of so many bytes from the first one on. False where
  // there is no such node with memory, or where this process may not have it there.
  bool PlaceOn(int numa, std::size_t bytes) const;

  std::byte* data() const { return data_.get(); }                    // page-aligned
  const std::shared_ptr<std::byte>& owner() const { return data_; }  // keeps them mapped

 private:
  std::shared_ptr<std::byte> data_;
};

namespace internal {
// The fallback of CreateSharedMemory, for tests: an unlinked file in `directory`.
Result<Fd> CreateUnlinkedFile(const char* directory, std::size_t bytes);
}  // namespace internal

}  // namespace tutti::sys

#endif  // TUTTI_SYS_OS_MEMORY_H_
