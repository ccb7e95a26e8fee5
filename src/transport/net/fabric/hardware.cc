// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <system_error>

#include "transport/net/fabric/fabric.h"

namespace tutti::transport::net::fabric {

bool HasHardware(const std::string& root) {
  for (const char* folder : {"/sys/class/infiniband", "/sys/class/cxi"}) {
    std::error_code error;
    const std::filesystem::directory_iterator entries(root + folder, error);
    if (!error && entries != std::filesystem::directory_iterator()) return true;
  }
  return false;
}

}  // namespace tutti::transport::net::fabric
