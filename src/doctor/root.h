// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_ROOT_H_
#define TUTTI_DOCTOR_ROOT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::doctor {

// Small files of /proc, /sys and /dev below a folder: "" is this machine, tests have a folder of their own. Paths begin with '/'.
class Root {
 public:
  explicit Root(std::string folder = "") : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  // The content without blanks at its ends; nullopt where it cannot be read.
  std::optional<std::string> Text(const std::string& path) const;
  // The same with all its bytes.
  std::optional<std::string> Bytes(const std::string& path) const;
  // The text as a number; nullopt where it is none, as "max".
  std::optional<std::int64_t> Number(const std::string& path) const;
  // Names in a folder, sorted; none where there is no such folder.
  std::vector<std::string> Names(const std::string& path) const;
  bool Exists(const std::string& path) const;

 private:
  std::string folder_;
};

// The rest of the line that begins with `key`, without blanks and a colon before it; nullopt where there is no such line.
std::optional<std::string> ValueOf(std::string_view text, std::string_view key);
// The same as a number, as far as the value begins with one.
std::optional<std::int64_t> NumberOf(std::string_view text, std::string_view key);

// "64 KiB", "1.5 GiB".
std::string BytesText(double bytes);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_ROOT_H_
