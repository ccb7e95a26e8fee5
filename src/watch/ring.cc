// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/ring.h"

#include "watch/registry.h"

namespace tutti::watch {

void RingMonitor() {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  registry.Ring();
}

}  // namespace tutti::watch
