// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/results_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <thread>

namespace tutti::tests {
namespace {

// The kind of processor, and how many cores.
std::string Machine() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name"))
      return fmt::format("{}, {} cores", line.substr(line.find(": ") + 2), std::thread::hardware_concurrency());
  }
  return "an unknown machine";
}

}  // namespace

void WriteResults(const std::string& path, const std::string& kind, const std::string& command,
                  const std::vector<nlohmann::json>& rows) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm date{};
  gmtime_r(&now, &date);
  const nlohmann::ordered_json head = {{"kind", kind},         {"date", fmt::format("{:%Y-%m-%dT%H:%M}", date)},
                                       {"machine", Machine()}, {"command", command},
                                       {"revision", nullptr},  {"recorded_in", "the commit that has this file"}};
  const std::string text = head.dump(1);
  std::ofstream file(path);
  file << text.substr(0, text.size() - 2) << ",\n \"rows\": [";
  for (std::size_t i = 0; i < rows.size(); ++i) file << (i == 0 ? "\n  " : ",\n  ") << rows[i].dump();
  file << "\n ]\n}\n";
}

}  // namespace tutti::tests
