// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/job_id.h"

namespace tutti {

Result<Communicator> Communicator::FromEnvironment(const Settings& settings) {
  Result<comm::LaunchIdentity> identity = comm::NextIdentityFromEnvironment();
  if (!identity.ok()) return identity.status();
  return Create({.rank = identity->rank, .ranks = identity->ranks, .id = identity->id, .settings = settings});
}

}  // namespace tutti
