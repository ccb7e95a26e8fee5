// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/os/error.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace tutti::sys {
namespace {

std::string DescriptorHint(int error_number) {
  if (error_number == ENFILE) return ". The whole host is out of file descriptors: raise sysctl fs.file-max.";
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return ". Raise the limit of open files: ulimit -n.";
  return fmt::format(". This process may have {} open files; raise the limit with `ulimit -n` (up to {}).",
                     limit.rlim_cur, limit.rlim_max);
}

}  // namespace

Status SystemError(int error_number, std::string_view what, std::string_view hint) {
  std::string text =
      fmt::format("{}: {} (errno {})", what, std::generic_category().message(error_number), error_number);
  if (error_number == EMFILE || error_number == ENFILE) text += DescriptorHint(error_number);
  if (!hint.empty()) text.append(text.ends_with('.') ? " " : ". ").append(hint);
  if (text.ends_with('.')) text.pop_back();
  return Status(Code::kSystem, std::move(text));
}

}  // namespace tutti::sys
