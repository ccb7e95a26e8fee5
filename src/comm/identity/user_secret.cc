// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/identity/user_secret.h"

#include <fmt/format.h>

#include <optional>
#include <span>

#include "sys/os/private_file.h"
#include "sys/os/process.h"
#include "sys/os/random_bytes.h"

namespace tutti::comm {
namespace {

constexpr std::size_t kSecretBytes = 32;

std::optional<std::string> Folder() {
  if (const auto cache = sys::GetEnv("XDG_CACHE_HOME"); cache && cache->starts_with('/')) return *cache + "/tutti";
  if (const auto home = sys::GetEnv("HOME"); home && home->starts_with('/')) return *home + "/.cache/tutti";
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::byte>> internal::UserSecretIn(const std::string& path) {
  Result<std::vector<std::byte>> secret = sys::ReadPrivateFile(path, kSecretBytes);
  if (secret.status().code() == Code::kSystem) {
    std::vector<std::byte> fresh(kSecretBytes);
    TUTTI_RETURN_IF_ERROR(sys::FillRandom(fresh));
    if (!sys::CreatePrivateFile(path, fresh).ok()) return std::vector<std::byte>();
    secret = sys::ReadPrivateFile(path, kSecretBytes);
  }
  if (!secret.ok() || secret->size() == kSecretBytes) return secret;
  return Status(Code::kInvalidUsage, fmt::format("{} holds {} bytes and not {}: remove it, a new one will be made",
                                                 path, secret->size(), kSecretBytes));
}

Result<std::vector<std::byte>> UserSecret() {
  if (const std::optional<std::string> given = sys::GetEnv("TUTTI_SECRET"); given && !given->empty()) {
    if (given->size() < kLeastSecret) {
      return Status(
          Code::kInvalidUsage,
          fmt::format("TUTTI_SECRET has {} characters, which others may guess: give it at least {}, the same on "
                      "all hosts, or unset it",
                      given->size(), kLeastSecret));
    }
    const auto bytes = std::as_bytes(std::span(*given));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }
  const std::optional<std::string> folder = Folder();
  if (!folder) return std::vector<std::byte>();
  return internal::UserSecretIn(*folder + "/secret");
}

}  // namespace tutti::comm
