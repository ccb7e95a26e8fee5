// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/top_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "sys/os/clock.h"
#include "tools/cli.h"
#include "tools/command_line.h"
#include "tools/top_view.h"

namespace tutti::tools {
namespace {

constexpr std::int64_t kOnceNs = 200'000'000;  // between the two looks that rates come from

bool WriteFile(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return true;
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), &std::fclose);
  if (file != nullptr && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() &&
      std::fflush(file.get()) == 0) {
    return true;
  }
  fmt::print(stderr, "tutti top: cannot write {}: {}\n", path, std::strerror(errno));
  return false;
}

int Fail(const Status& status) {
  fmt::print(stderr, "tutti top: {}\n", status.message());
  return kExitFailed;
}

}  // namespace

int TopCommand(int argc, char** argv) {
  CommandLine line(
      "Shows what the Tutti communicators of a process do and wait for, also while it hangs or is stopped.",
      "tutti top");
  std::int32_t pid = 0;
  bool once = false;
  double interval_s = 1;
  std::string json_path;
  line.Add("PID", pid, "the process").Required().Between(1, std::numeric_limits<std::int32_t>::max());
  line.AddFlag("--once", once, "show it once (after 0.2 s, for the rates)");
  line.Add("--interval", interval_s, "seconds between refreshes (default 1)").BetweenSeconds(0.05, 3600.0);
  line.Add("--json", json_path, "write it once to FILE (-: to stdout), with the last calls and all links")
      .Shown("FILE");
  if (const std::optional<int> exit = line.Parse(argc, argv)) return *exit;
  once |= !json_path.empty() || isatty(STDOUT_FILENO) == 0;

  Result<std::vector<BoxCopy>> before = TakeAll(pid);
  if (!before.ok()) return Fail(before.status());
  while (true) {
    sys::SleepNs(once ? kOnceNs : static_cast<std::int64_t>(interval_s * 1e9));
    Result<std::vector<BoxCopy>> now = TakeAll(pid);
    if (!now.ok()) return Fail(now.status());
    const std::vector<TopRow> rows = MakeRows(*now, *before);
    if (!json_path.empty()) return WriteFile(json_path, RowsAsJson(pid, *now, rows)) ? kExitOk : kExitFailed;
    // Home, the text with the rest of each line blanked, the rest of the screen blanked.
    std::string text = FormatRows(pid, rows);
    if (!once) {
      for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4) text.insert(at, "\033[K");
      text = "\033[H" + text + "\033[J";
    }
    fmt::print("{}", text);
    std::fflush(stdout);
    if (once) return kExitOk;
    before = std::move(now);
  }
}

}  // namespace tutti::tools
