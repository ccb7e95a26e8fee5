// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_CAPI_CONFIG_H_
#define TUTTI_CAPI_CONFIG_H_

#include <string>

#include "nccl.h"
#include "tutti/status.h"

namespace tutti::capi {

// What a communicator keeps of its ncclConfig_t.
struct Config {
  bool blocking = true;
  bool split_share = false;
  bool shrink_share = false;
  int max_ctas = 0;        // 0: undefined
  bool zero_ctas = false;  // NCCL_CTA_POLICY_ZERO
  std::string name;
};

// Reads a config of any size and version, as a client of NCCL 2.14 to 2.30 or later lays it out: only its first `size`
// bytes, and of them only the fields that its version knows (2.26 put trafficClass where 2.18 had padding). Fields that
// are undefined, or that the struct lacks, get their value from `defaults`. kInvalidArgument, naming the field, for a
// wrong magic number, a size that cannot be, or a value out of range. `config` may be null.
Result<Config> ReadConfig(const ncclConfig_t* config, const Config& defaults = {});

// Writes the estimated time of a group, us, into an ncclSimInfo_t of any size and version.
Status WriteSimInfo(ncclSimInfo_t* info, double estimated_us);

}  // namespace tutti::capi

#endif  // TUTTI_CAPI_CONFIG_H_
