// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tutti/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

namespace tutti {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongest = 1'000'000'000'000;  // some years; what is computed from it cannot overflow
constexpr std::int64_t kMostChannels = 64;            // as NCCL's MAXCHANNELS

// The variable's value; nullopt where it is not set, or empty, which is how shells unset it for one command.
std::optional<std::string_view> Variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// A whole decimal number and nothing else.
std::optional<std::int64_t> ParseNumber(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A number of bytes: "4096", "64K", "6M", "1G", in powers of 1024.
std::optional<std::int64_t> ParseBytes(std::string_view text) {
  constexpr std::string_view kSuffixes = "KMG";
  int shift = 0;
  if (!text.empty()) {
    const std::size_t suffix = kSuffixes.find(static_cast<char>(std::toupper(static_cast<unsigned char>(text.back()))));
    if (suffix != std::string_view::npos) {
      shift = 10 * (static_cast<int>(suffix) + 1);
      text.remove_suffix(1);
    }
  }
  const std::optional<std::int64_t> number = ParseNumber(text);
  if (!number || *number < 0 || *number > kLargest >> shift) return std::nullopt;
  return *number << shift;
}

class Reader {
 public:
  void Read(const char* name, std::string& field) {
    if (const std::optional<std::string_view> value = Variable(name)) field = *value;
  }

  using Parse = std::optional<std::int64_t> (*)(std::string_view);
  // Whether the variable was set and good.
  template <typename Field>
  bool Read(const char* name, const char* what, std::int64_t least, std::int64_t most, Field& field,
            Parse parse = &ParseNumber) {
    const std::optional<std::string_view> value = Variable(name);
    if (!value) return false;
    const std::optional<std::int64_t> number = parse(*value);
    if (number && *number >= least && *number <= most) {
      field = static_cast<Field>(*number);
      return true;
    }
    const std::string bounds =
        most == kLargest ? fmt::format("at least {}", least) : fmt::format("{} to {}", least, most);
    Warn(fmt::format("{}=\"{}\" is not {}, {}; using {}", name, *value, what, bounds, field));
    return false;
  }

  void Read(const char* name, SingleCopy& field) {
    const std::optional<std::string_view> value = Variable(name);
    if (!value) return;
    std::string lower(*value);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    if (lower == "auto") {
      field = SingleCopy::kAuto;
    } else if (lower == "off") {
      field = SingleCopy::kOff;
    } else if (lower == "force") {
      field = SingleCopy::kForce;
    } else {
      Warn(fmt::format("{}=\"{}\" is none of auto, off, force; using auto", name, *value));
    }
  }

  void Warn(const std::string& line) { warnings_ += line + "\n"; }
  std::string TakeWarnings() { return std::move(warnings_); }

 private:
  std::string warnings_;
};

// The fewest channels bind: they raise a maximum that nobody has set. NCCL's users set only the minimum.
void ReadChannels(Reader& reader, Settings& settings) {
  const Settings standard;
  const char* what = "a number of channels";
  const bool max_set = reader.Read("NCCL_MAX_NCHANNELS", what, 1, kMostChannels, settings.max_channels);
  const bool min_set = reader.Read("NCCL_MIN_NCHANNELS", what, 1, kMostChannels, settings.min_channels);
  if (settings.min_channels <= settings.max_channels) return;
  if (min_set && !max_set) {
    settings.max_channels = settings.min_channels;
    return;
  }
  reader.Warn(fmt::format("NCCL_MIN_NCHANNELS={} exceeds NCCL_MAX_NCHANNELS={}; using {} to {}", settings.min_channels,
                          settings.max_channels, standard.min_channels, standard.max_channels));
  settings.min_channels = standard.min_channels;
  settings.max_channels = standard.max_channels;
}

}  // namespace

Settings Settings::FromEnvironment() {
  Settings settings;
  Reader reader;
  reader.Read("NCCL_ALGO", settings.algo);
  reader.Read("NCCL_PROTO", settings.proto);
  reader.Read("TUTTI_TIMEOUT_MS", "a number of milliseconds", 1, kLongest, settings.timeout_ms);
  reader.Read("TUTTI_INIT_TIMEOUT_MS", "a number of milliseconds", 1, kLongest, settings.init_timeout_ms);
  reader.Read("TUTTI_SINGLE_COPY", settings.single_copy);
  reader.Read("TUTTI_SHARED_BYTES", "a number of bytes (K, M and G may follow)", 4096, kLargest, settings.shared_bytes,
              &ParseBytes);
  ReadChannels(reader, settings);
  reader.Read("TUTTI_TUNING_FILE", settings.tuning_file);
  reader.Read("TUTTI_SPIN_US", "a number of microseconds", -1, kLongest, settings.spin_us);
  settings.warnings = reader.TakeWarnings();
  return settings;
}

}  // namespace tutti
