// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "sys/os/error.h"
#include "sys/os/file_limit.h"
#include "sys/os/fork.h"
#include "sys/os/huge_pages.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif

namespace tutti::sys {
namespace {

// Hosts with vm.memfd_noexec=2 want MFD_NOEXEC_SEAL; kernels before 6.3 do not know it.
int CreateMemfd(const char* name) {
  const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
  if (fd >= 0 || errno != EINVAL) return fd;
  return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

// What MapOnce has mapped in this process, by device, inode and offset. A file keeps its inode while it is mapped, so an entry
// whose mapping has gone is of a file that may have gone too.
struct MapTable {
  using Key = std::tuple<dev_t, ino_t, std::size_t>;
  struct Entry {
    std::weak_ptr<std::byte> data;
    std::size_t bytes = 0;
    Access access = Access::kRead;
  };
  std::mutex mutex;
  std::map<Key, Entry> entries;
};
MapTable& Mapped() {
  static auto* const table = [] {
    auto* made = new MapTable;  // never destroyed: threads may outlive static objects
    FreeInForkedChildren(made->mutex);
    return made;
  }();
  return *table;
}

// A mapping in no huge page beside other memory. Null where there is none; errno says why.
std::shared_ptr<std::byte> MapApart(std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  const std::span<std::byte> reserved = ReserveHugePages(bytes);
  if (reserved.empty()) return nullptr;
  if (mmap(reserved.data(), bytes, protection, flags | MAP_FIXED, fd, offset) == MAP_FAILED) {
    const int why = errno;
    munmap(reserved.data(), reserved.size());
    errno = why;
    return nullptr;
  }
  return {reserved.data(), [all = reserved.size()](std::byte* p) { munmap(p, all); }};
}

}  // namespace

Result<Fd> internal::CreateUnlinkedFile(const char* directory, std::size_t bytes) {
  std::string path = fmt::format("{}/tutti-XXXXXX", directory);
  Fd fd(mkostemp(path.data(), O_CLOEXEC));
  if (!fd.valid()) return SystemError(errno, fmt::format("cannot create a file in {}", directory));
  unlink(path.c_str());
  const FileLimitIsAnError no_signal;
  // Allocates the pages, and unlike ftruncate notices a file system that is too small.
  const int error = posix_fallocate(fd.get(), 0, static_cast<off_t>(bytes));
  if (error != 0) {
    return SystemError(error, fmt::format("cannot allocate {} bytes in {}", bytes, directory),
                       "In a container, give it more: docker run --shm-size=1g.");
  }
  return fd;
}

Result<Fd> CreateSharedMemory(const char* name, std::size_t bytes) {
  if (bytes == 0) return Status(Code::kInvalidArgument, "shared memory of 0 bytes was asked for");
  Fd fd(CreateMemfd(name));
  if (fd.valid()) {
    const FileLimitIsAnError no_signal;
    if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
      return SystemError(errno, fmt::format("cannot make the shared memory object '{}' {} bytes long", name, bytes),
                         "Likely the limit of a file's size is lower: raise it with `ulimit -f`.");
    }
    // Failure leaves an object that works and is only less well guarded.
    fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    return fd;
  }
  const int memfd_error = errno;
  std::string tried;
  if (memfd_error != EMFILE && memfd_error != ENFILE) {
    for (const char* directory : {"/dev/shm", "/tmp"}) {
      Result<Fd> file = internal::CreateUnlinkedFile(directory, bytes);
      if (file.ok()) return file;
      tried += fmt::format(" Also tried: {}", file.status().message());
    }
  }
  return SystemError(memfd_error, fmt::format("cannot create {} bytes of shared memory: memfd_create failed", bytes),
                     fmt::format("Likely a sandbox forbids it: allow the system call memfd_create, or give the "
                                 "process a writable /dev/shm.{}",
                                 tried));
}

Result<SharedMapping> Map(const Fd& fd, std::size_t bytes, Access access, std::size_t offset) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0) {
    return SystemError(errno, fmt::format("cannot map shared memory: fstat of descriptor {} failed", fd.get()));
  }
  const auto object_bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes == 0 || !S_ISREG(info.st_mode) || object_bytes < bytes || object_bytes - bytes < offset) {
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot map {} bytes of shared memory: the object has {} bytes and is {} regular file. "
                              "Likely the two sides run different versions or settings",
                              offset + bytes, info.st_size, S_ISREG(info.st_mode) ? "a" : "not a"));
  }
  const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  SharedMapping mapping;
  mapping.data_ = MapApart(bytes, protection, MAP_SHARED, fd.get(), static_cast<off_t>(offset));
  if (mapping.data_ == nullptr) {
    return SystemError(errno, fmt::format("cannot map {} bytes of shared memory", bytes),
                       errno == EACCES ? "The descriptor allows reading only."
                                       : "Likely the address space is limited: see ulimit -v and "
                                         "sysctl vm.max_map_count.");
  }
  mapping.bytes_ = bytes;
  mapping.access_ = access;
  return mapping;
}

Result<SharedMapping> MapOnce(const Fd& fd, std::size_t bytes, Access access, std::size_t offset) {
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return Map(fd, bytes, access, offset);  // which reports it
  MapTable& table = Mapped();
  std::lock_guard lock(table.mutex);
  MapTable::Entry& entry = table.entries[{info.st_dev, info.st_ino, offset}];
  SharedMapping mapping;
  mapping.data_ = entry.data.lock();
  mapping.bytes_ = entry.bytes;
  mapping.access_ = entry.access;
  const bool may_write = entry.access == Access::kReadWrite || access == Access::kRead;
  if (mapping.data_ != nullptr && entry.bytes >= bytes && may_write) return mapping;
  Result<SharedMapping> fresh = Map(fd, bytes, access, offset);
  if (fresh.ok()) entry = {fresh->data_, bytes, access};
  std::erase_if(table.entries, [](const auto& item) { return item.second.data.expired(); });
  return fresh;
}

Status ReleasePages(const SharedMapping& mapping, std::size_t offset, std::size_t bytes) {
  if (madvise(mapping.data() + offset, bytes, MADV_REMOVE) == 0) return Status::Ok();
  return SystemError(errno, fmt::format("cannot give {} bytes of shared memory back", bytes));
}

Result<Fd> ReopenReadOnly(const Fd& fd) {
  Fd copy(open(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (copy.valid()) return copy;
  return fd.Duplicate();
}

Result<PrivatePages> PrivatePages::Make(std::size_t bytes) {
  PrivatePages pages;
  pages.data_ = MapApart(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages.data_ == nullptr) return SystemError(errno, fmt::format("cannot map {} bytes of memory", bytes));
  return pages;
}

bool PrivatePages::PlaceOn(int numa, std::size_t bytes) const {
  constexpr std::size_t kBits = 8 * sizeof(unsigned long), kMostNodes = 1024;
  if (numa < 0 || static_cast<std::size_t>(numa) >= kMostNodes) return false;
  unsigned long nodes[kMostNodes / kBits] = {};
  nodes[static_cast<std::size_t>(numa) / kBits] = 1UL << (static_cast<std::size_t>(numa) % kBits);
  // glibc has no function for it. The kernel takes one bit less than it is told.
  return syscall(SYS_mbind, data_.get(), bytes, MPOL_BIND, nodes, kMostNodes + 1, 0U) == 0;
}

}  // namespace tutti::sys
