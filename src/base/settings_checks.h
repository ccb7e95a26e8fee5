// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BASE_SETTINGS_CHECKS_H_
#define TUTTI_BASE_SETTINGS_CHECKS_H_

// Texts of settings: empty where one can be used, else what it should be ("one of text, json").

#include <string>
#include <string_view>

namespace tutti {

std::string CheckFamily(std::string_view text);       // NCCL_SOCKET_FAMILY
std::string CheckPorts(std::string_view text);        // TUTTI_PORTS
std::string CheckHostAndPort(std::string_view text);  // NCCL_RAS_ADDR
std::string CheckLevel(std::string_view text);        // NCCL_DEBUG
std::string CheckSubsystems(std::string_view text);   // NCCL_DEBUG_SUBSYS
std::string CheckLevels(std::string_view text);       // NCCL_DEBUG_TIMESTAMP_LEVELS
std::string CheckFormat(std::string_view text);       // TUTTI_LOG_FORMAT

}  // namespace tutti

#endif  // TUTTI_BASE_SETTINGS_CHECKS_H_
