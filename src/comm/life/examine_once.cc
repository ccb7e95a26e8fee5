// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/examine_once.h"

#include "base/log.h"
#include "comm/identity/settings_source.h"
#include "doctor/examine.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kBudgetNs = 500'000;  // a check that begins in time ends some 100 us later

}  // namespace

void ExamineOnce(const Settings& settings) {
  if (!settings.doctor || !log::Enabled(log::Level::kWarn, log::kAllSubsystems)) return;
  if (!log::FirstTime("this host has been examined")) return;
  const SettingsSources sources = FindSettings();
  doctor::Environment environment;
  environment.variables = sources.environment;
  environment.files = sources.files;
  for (const doctor::Finding& finding : doctor::ExamineQuickly("", environment, kBudgetNs)) {
    if (finding.severity >= doctor::Severity::kWarn) {
      TUTTI_WARN("{}; `tutti doctor` looks closer", doctor::TextOf(finding));
    } else {
      TUTTI_INFO(log::kInit, "{}", doctor::TextOf(finding));
    }
  }
}

}  // namespace tutti::comm
