// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_SCRATCH_FOLDER_H_
#define TUTTI_TESTS_SUPPORT_SCRATCH_FOLDER_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tutti::tests {

// A new folder for one test, removed at its end with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "tutti-test-XXXXXX";
    EXPECT_NE(mkdtemp(pattern.data()), nullptr) << "no folder can be made like " << pattern;
    path_ = pattern;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  // Of a file in it, whether there is one or not.
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_SCRATCH_FOLDER_H_
