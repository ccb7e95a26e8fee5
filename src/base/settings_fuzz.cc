// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary text to the reader of configuration files, as the user's file and as one variable of the
// environment. Lines that are taken must be what stands in the file, warnings must stay lines of bounded size and
// number, and no value may leave its range.
//
// Canary: a planted fault (a file with a line for NCCL_MAX_CTAS that is taken "crashes") must be found.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/settings_reader.h"
#include "base/settings_registry.h"

namespace tutti {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckLines(const ConfigFile& file) {
  std::string warnings;
  const std::vector<ConfigLine> lines = ParseConfigFile(file, warnings);
  Require(std::ranges::count(warnings, '\n') <= 21);
  for (const ConfigLine& line : lines) {
    Require(!line.name.empty() && line.number > 0);
    Require(line.name.data() >= file.text.data() && line.value.data() + line.value.size() <= &*file.text.end());
    Require(line.value.find('\n') == std::string_view::npos);
  }
}

void CheckSettings(const Settings& settings) {
  Require(1 <= settings.min_channels && settings.min_channels <= settings.max_channels && settings.max_channels <= 64);
  Require(settings.shared_bytes >= 4096 && settings.timeout_ms >= 1 && settings.init_timeout_ms >= 1);
  Require(settings.spin_us >= -1 && settings.log_rate >= 0);
  Require(settings.comm_blocking >= -1 && settings.comm_blocking <= 1);
  for (const auto& [name, origin] : settings.origins) Require(FindSetting(name) != nullptr && !origin.empty());
#ifdef TUTTI_FUZZ_CANARY
  Require(settings.max_channels != 9);  // a digit away from what the seeds set
#endif
  (void)LogConfig(settings);
}

}  // namespace
}  // namespace tutti

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const ConfigFile file = {.name = "f", .text = text};
  CheckLines(file);
  CheckSettings(ReadSettings({}, std::vector{file}));
  // A value of the environment ends at a zero byte.
  const std::vector<std::string> environment = {text.substr(0, text.find('\0')), "NCCL_MIN_NCHANNELS=9"};
  CheckSettings(ReadSettings(environment, std::vector{file}));
  return 0;
}
