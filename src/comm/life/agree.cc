// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/measure.h"
#include "comm/agree/profiles.h"
#include "comm/life/creation.h"

namespace tutti::comm {

Status Creation::Agree() {
  if (const tune::Machine* stored = profiles->machine()) {
    made.machine = std::make_shared<tune::Machine>(*stored);
  } else if (with_rank_zero) {
    const Result<tune::Machine> measured = MeasureMachine(
        *made.fabric, [this](const std::function<bool()>& ready, const char* what) { return Await(ready, what); });
    if (!measured.ok()) return measured.status();
    made.machine = std::make_shared<tune::Machine>(*measured);
  }
  common_cpus = profiles->cpus();
  profiles->Report(made.settings);
  profiles->TakeFromRankZero(made.settings);
  return Status::Ok();
}

}  // namespace tutti::comm
