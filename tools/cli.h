// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_CLI_H_
#define TUTTI_TOOLS_CLI_H_

// What every command of `tutti` shares: exit codes, and sizes as people write them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/nearest.h"
#include "tutti/status.h"

namespace tutti::tools {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;  // the operation failed
inline constexpr int kExitUsage = 2;   // the command line is wrong
inline constexpr int kExitWrong = 7;   // it ran, and the values are wrong (as in nccl-tests)

// "0.1.0"
std::string_view Version();

// "8", "32M", "1.5G", "4KiB": a number with an optional binary suffix, any case. nullopt for anything else.
std::optional<std::size_t> ParseBytes(std::string_view text);
// "8 B", "32 MiB", "1.5 GiB".
std::string FormatBytes(std::size_t bytes);

using tutti::Nearest;

// Prints "tutti perf: <message>" and a hint at --help to stderr. Returns kExitUsage.
int UsageError(std::string_view command, std::string_view message);

// Writes a text to a file, or to the standard output for "-". Fails with a sentence that names the file.
Status WriteText(const std::string& path, std::string_view text);
// The same; where it fails, "tutti perf: <sentence>" is printed to stderr, and false returned.
bool WriteTextOrSay(std::string_view command, const std::string& path, std::string_view text);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_CLI_H_
