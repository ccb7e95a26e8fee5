// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rank_zero_place.h"

#include <mutex>

#include "sys/os/fork.h"

namespace tutti::comm {
namespace {

// The last id that has no place for other hosts, and why.
struct NoPlace {
  std::mutex mutex;
  UniqueId id;  // guarded by it, as the next
  std::string why;
};

NoPlace& LastWithoutPlace() {
  static NoPlace& last = *[] {
    auto* made = new NoPlace;
    sys::FreeInForkedChildren(made->mutex);
    sys::WatchForks();
    return made;
  }();
  return last;
}

}  // namespace

void NoteNoPlace(const UniqueId& id, const std::string& why) {
  NoPlace& last = LastWithoutPlace();
  std::lock_guard lock(last.mutex);
  last.id = id;
  last.why = why;
}

std::string WhyNoPlace(const UniqueId& id) {
  NoPlace& last = LastWithoutPlace();
  std::lock_guard lock(last.mutex);
  return last.id.bytes == id.bytes ? last.why : "";
}

}  // namespace tutti::comm
