// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The shared library as the linker and the loader see it.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

std::string Output(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> part;
  while (std::size_t bytes = fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), bytes);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

std::set<std::string> Lines(std::istream&& stream) {
  std::set<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

// exports.txt: "W ncclX", weak, and "T pncclX", strong. A name that comes or goes must come or go there too.
TEST(Exports, AreTheListedOnes) {
  const std::string real = Output("nm -D --defined-only " TUTTI_NCCL_LIBRARY " | awk '{print $2, $3}'");
  const std::set<std::string> exported = Lines(std::istringstream(real));
  const std::set<std::string> listed = Lines(std::ifstream(TUTTI_SOURCE_DIR "/src/capi/exports.txt"));
  for (const std::string& name : exported) EXPECT_TRUE(listed.contains(name)) << name << " is not in exports.txt";
  for (const std::string& name : listed) EXPECT_TRUE(exported.contains(name)) << name << " is not exported";
  EXPECT_GT(listed.size(), 100u);
}

TEST(Exports, EveryFunctionHasBothNames) {
  std::set<std::string> names = Lines(std::ifstream(TUTTI_SOURCE_DIR "/src/capi/exports.txt"));
  for (const std::string& name : names) {
    if (name == "T ncclResetDebugInitInternal") continue;  // NCCL has no other name for it either
    const bool weak = name.starts_with("W nccl"), strong = name.starts_with("T pnccl");
    EXPECT_TRUE(weak || strong) << name;
    if (weak) {
      EXPECT_TRUE(names.contains("T p" + name.substr(2))) << name;
    }
  }
}

TEST(Library, IsNamedAndNeedsLibcAlone) {
  const std::string dynamic = Output("readelf -d " TUTTI_NCCL_LIBRARY);
  EXPECT_NE(dynamic.find("soname: [libnccl.so.2]"), std::string::npos) << dynamic;
  EXPECT_NE(dynamic.find("SYMBOLIC"), std::string::npos) << dynamic;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers are libraries of their own";
#endif
  std::istringstream lines(dynamic);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    EXPECT_TRUE(line.find("[libc.so.6]") != std::string::npos || line.find("[ld-linux") != std::string::npos) << line;
  }
}

// A drop-in is loaded into programs of all kinds: it must not change their environment, end them, or print.
TEST(Library, CallsNothingThatItMustNot) {
  const std::string undefined = Output("nm -D --undefined-only " TUTTI_NCCL_LIBRARY " | awk '{print $2}'");
  for (const std::string& line : Lines(std::istringstream(undefined))) {
    const std::string name = line.substr(0, line.find('@'));
    for (const char* forbidden :
         {"setenv", "putenv", "unsetenv", "clearenv", "exit", "quick_exit", "printf", "puts", "stdout", "putchar"}) {
      EXPECT_NE(name, forbidden);
    }
  }
}

}  // namespace
