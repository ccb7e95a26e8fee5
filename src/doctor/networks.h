// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DOCTOR_NETWORKS_H_
#define TUTTI_DOCTOR_NETWORKS_H_

#include <vector>

#include "doctor/finding.h"
#include "doctor/root.h"
#include "sys/net/interfaces.h"
#include "sys/os/device_tree.h"

namespace tutti::doctor {

// Cards without a link, slower than their like, or with another MTU; and what ports have counted: errors, and how often the link went.
void ExamineInterfaces(const Root& root, const std::vector<sys::Interface>& interfaces, Findings& findings);
void ExamineInfiniband(const Root& root, const std::vector<sys::InfinibandDevice>& devices, Findings& findings);

}  // namespace tutti::doctor

#endif  // TUTTI_DOCTOR_NETWORKS_H_
