// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Whatever Parse accepts must survive printing and parsing again, and nothing may crash it.
//
// Canary: with TUTTI_FUZZ_CANARY defined, a plan with a step of stage 7 or later ends the process, as a defect would. A fuzzer that
// cannot find it from the plans in text_fuzz_seeds is not working.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "plan/text.h"

namespace {

#ifdef TUTTI_FUZZ_CANARY
bool HasCanary(const std::vector<tutti::plan::RankPlan>& plans) {
  for (const tutti::plan::RankPlan& plan : plans) {
    for (int i = 0; i < plan.step_count(); ++i) {
      if (plan.step(i).stage >= 7) return true;
    }
  }
  return false;
}
#endif

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto plans = tutti::plan::Parse({reinterpret_cast<const char*>(data), size});
  if (!plans.ok()) return 0;
#ifdef TUTTI_FUZZ_CANARY
  if (HasCanary(*plans)) std::abort();
#endif
  const std::string text = tutti::plan::Print(*plans);
  const auto again = tutti::plan::Parse(text);
  if (!again.ok() || *again != *plans || tutti::plan::Print(*again) != text) std::abort();
  return 0;
}
