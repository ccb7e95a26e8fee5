// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/codes.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <utility>

namespace tutti::mpi {
namespace {

struct Sentences {
  std::mutex mutex;
  std::array<std::string, kCodes> kept;  // guarded by mutex
  std::size_t next = 0;                  // likewise
};

// Never destroyed: other threads may still be in a call when the process ends.
Sentences& TheSentences() {
  static auto* sentences = new Sentences;
  return *sentences;
}

const char* ClassName(int number) {
#define TUTTI_MPI_CASE(name)                  \
  case static_cast<int>(ErrorClass::k##name): \
    return "MPI_ERR_" #name;
  switch (number) {
    case static_cast<int>(ErrorClass::kSuccess):
      return "MPI_SUCCESS";
      TUTTI_MPI_ERRORS(TUTTI_MPI_CASE)
    default:
      return nullptr;
  }
#undef TUTTI_MPI_CASE
}

}  // namespace

int CodeOf(const std::string& sentence) {
  Sentences& all = TheSentences();
  const std::lock_guard lock(all.mutex);
  for (std::size_t i = 0; i < all.kept.size(); ++i) {
    if (all.kept[i] == sentence) return kFirstCode + static_cast<int>(i);
  }
  const std::size_t place = all.next;
  all.next = (all.next + 1) % all.kept.size();
  all.kept[place] = sentence;
  return kFirstCode + static_cast<int>(place);
}

std::string SentenceOf(int code) {
  if (const char* name = ClassName(code)) return name;
  const int place = code - kFirstCode;
  Sentences& all = TheSentences();
  const std::lock_guard lock(all.mutex);
  if (place < 0 || place >= kCodes || all.kept[place].empty()) return fmt::format("{} is no error code of MPI", code);
  return all.kept[place];
}

int Answer(const char* function, const Status& status) {
  if (status.ok()) [[likely]]
    return static_cast<int>(ErrorClass::kSuccess);
  return CodeOf(fmt::format("{}: {}", function, status.message()));
}

int AnswerAloud(const char* function, const Status& status) {
  if (!status.ok()) Say(fmt::format("{}: {}", function, status.message()));
  return Answer(function, status);
}

void Say(const std::string& sentence) {
  const std::string line = fmt::format("tutti: {}\n", sentence);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace tutti::mpi
