// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_ENVIRONMENT_H_
#define TUTTI_DOCTOR_ENVIRONMENT_H_

#include <span>
#include <string>
#include <vector>

#include "base/settings_reader.h"
#include "doctor/finding.h"

namespace tutti::doctor {

// What is set, for the checks below.
struct Environment {
  std::vector<std::string> variables;   // "NAME=value"
  std::vector<ConfigFile> files;        // the strongest first
  std::string warnings;                 // of finding those
  std::vector<std::string> interfaces;  // names of this host's; empty: not known

  // The value of a variable, from the first place that has one; empty: it is not set.
  std::string ValueOf(std::string_view name) const;
};

// Variables of NCCL_ and TUTTI_ that nobody knows, with the name that was probably meant; values that cannot be read; those that are set
// and have no effect; and what ExamineContradictions says.
void ExamineEnvironment(const Environment& environment, Findings& findings);

// Values that contradict each other, or this host: a pair of which one has no effect or leaves nothing over, files that are not there,
// interfaces that do not exist. Costs some file look-ups where files are named, else microseconds.
void ExamineContradictions(const Environment& environment, Findings& findings);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_ENVIRONMENT_H_
