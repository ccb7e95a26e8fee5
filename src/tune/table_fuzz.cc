// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary text to the reader of tuning files. What is taken must say the same when it is written and read again, and
// choices must be made by it without a fault; what is refused needs a sentence of one line and bounded length.
//
// Canary: a planted fault (a table whose parts for teams are not as many as the seed's "crashes") must be found.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tune/gpu_model.h"
#include "tune/tuning_file.h"

namespace tutti::tune {
namespace {

constexpr std::size_t kMostSentence = 500;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckChoices(const GpuTable& table) {
  for (const int ranks : {2, 4}) {
    Result<GpuChooser> chooser =
        GpuChooser::Create({.ranks = ranks, .max_channels = 128, .direct = true, .machine = table.machine});
    Require(chooser.ok());
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20, std::size_t{1} << 32}) {
      for (const GpuChoice& choice : chooser->Candidates(Collective::kAllReduce, bytes)) {
        Require(std::isfinite(choice.predicted_us));
        Require(choice.channels >= 1 && choice.channels <= 128);
        Require(choice.threads >= 32 && choice.threads <= 512 && choice.threads % 32 == 0);
      }
    }
  }
}

void Check(std::string_view text) {
  const Result<TuningFile> file = TuningFile::Parse(text);
  if (!file.ok()) {
    const std::string& sentence = file.status().message();
    Require(!sentence.empty() && sentence.size() < kMostSentence && sentence.find('\n') == std::string::npos);
    return;
  }
  const Result<TuningFile> again = TuningFile::Parse(file->ToText());
  Require(again.ok() && again->ToText() == file->ToText());
  for (const GpuTable& table : file->gpus) {
    CheckChoices(table);
#ifdef TUTTI_FUZZ_CANARY
    Require(table.machine.team_parts == 4);
#endif
  }
}

}  // namespace
}  // namespace tutti::tune

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::tune::Check({reinterpret_cast<const char*>(data), size});
  return 0;
}
