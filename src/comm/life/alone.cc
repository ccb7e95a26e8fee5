// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/machine_file.h"
#include "comm/host/log_links.h"
#include "comm/identity/settings_source.h"
#include "comm/life/creation.h"
#include "sys/os/process.h"

namespace tutti::comm {

Status Creation::RunAlone() {
  LogNetwork(made.settings);
  const Result<tune::TuningFile> stored = LoadTables(made.settings);
  if (!stored.ok()) return stored.status();
  made.machine = std::make_shared<tune::Machine>(stored->host.value_or(tune::Machine{}));
  made.cpus = common_cpus = sys::UsableCpus();
  TUTTI_RETURN_IF_ERROR(LookAtMachine());
  TUTTI_RETURN_IF_ERROR(Start());
  ReportSettings(made.settings);
  return Status::Ok();
}

}  // namespace tutti::comm
