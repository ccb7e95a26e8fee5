// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/private_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <memory>

#include "sys/os/error.h"
#include "sys/os/fd.h"
#include "sys/os/file_limit.h"
#include "sys/os/random_bytes.h"

namespace tutti::sys {
namespace {

Status MakeFoldersAbove(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return SystemError(errno, fmt::format("cannot make folder {}", folder));
    }
  }
  return Status::Ok();
}

// A name beside `path` that no other process or thread takes.
Result<std::string> TemporaryName(const std::string& path) {
  std::array<std::byte, 8> random;
  TUTTI_RETURN_IF_ERROR(FillRandom(random));
  std::string name = path + ".";
  for (const std::byte byte : random) name += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return name;
}

Status WriteNewFile(const std::string& path, std::span<const std::byte> content, std::int64_t useful_s = 0) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return SystemError(errno, fmt::format("cannot make {}", path));
  const FileLimitIsAnError no_signal;
  const ssize_t n = write(fd.get(), content.data(), content.size());
  if (n != static_cast<ssize_t>(content.size())) {
    return SystemError(n < 0 ? errno : ENOSPC, fmt::format("cannot write {}", path));
  }
  if (useful_s == 0) return Status::Ok();
  const timespec until = {.tv_sec = time(nullptr) + useful_s, .tv_nsec = 0};
  const std::array<timespec, 2> times = {until, until};
  if (futimens(fd.get(), times.data()) != 0) return SystemError(errno, fmt::format("cannot change {}", path));
  return Status::Ok();
}

}  // namespace

Result<std::vector<std::byte>> ReadPrivateFile(const std::string& path, std::size_t limit_bytes) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return SystemError(errno, fmt::format("cannot open {}", path));
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return SystemError(errno, fmt::format("cannot look at {}", path));
  if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077) != 0) {
    return Status(Code::kInvalidUsage, fmt::format("{} holds a secret, and is not a plain file that user {} owns and "
                                                   "nobody else may read or write: remove it, a new one will be made",
                                                   path, geteuid()));
  }
  std::vector<std::byte> content(limit_bytes + 1);
  const ssize_t n = read(fd.get(), content.data(), content.size());
  if (n < 0) return SystemError(errno, fmt::format("cannot read {}", path));
  content.resize(static_cast<std::size_t>(n));
  if (content.size() <= limit_bytes) return content;
  return Status(Code::kInvalidUsage,
                fmt::format("{} holds more than {} bytes: remove it, a new one will be made", path, limit_bytes));
}

Status CreatePrivateFile(const std::string& path, std::span<const std::byte> content) {
  TUTTI_RETURN_IF_ERROR(MakeFoldersAbove(path));
  const Result<std::string> temporary = TemporaryName(path);
  if (!temporary.ok()) return temporary.status();
  Status status = WriteNewFile(*temporary, content);
  if (status.ok() && link(temporary->c_str(), path.c_str()) != 0 && errno != EEXIST) {
    status = SystemError(errno, fmt::format("cannot make {}", path));
  }
  unlink(temporary->c_str());
  return status;
}

Status ReplacePrivateFile(const std::string& path, std::span<const std::byte> content, std::int64_t useful_s) {
  const Result<std::string> temporary = TemporaryName(path);
  if (!temporary.ok()) return temporary.status();
  Status status = WriteNewFile(*temporary, content, useful_s);
  if (status.ok() && rename(temporary->c_str(), path.c_str()) != 0) {
    status = SystemError(errno, fmt::format("cannot make {}", path));
  }
  if (!status.ok()) unlink(temporary->c_str());
  return status;
}

void RemoveFile(const std::string& path) { unlink(path.c_str()); }

void RemoveUselessFiles(const std::string& folder, std::string_view prefix) {
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(opendir(folder.c_str()), &closedir);
  if (opened == nullptr) return;
  while (const dirent* entry = readdir(opened.get())) {
    struct stat info;
    if (!std::string_view(entry->d_name).starts_with(prefix)) continue;
    if (fstatat(dirfd(opened.get()), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || info.st_mtime >= time(nullptr)) continue;
    unlinkat(dirfd(opened.get()), entry->d_name, 0);
  }
}

}  // namespace tutti::sys
