// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "comm/life/creation.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "trace/view.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

// Formats the own black box. The peers do so before they say that they are connected.
void Creation::CreateBlackBox() {
  made.recorder = trace::Recorder(made.fabric->own().box(), {.communicator = made.id_hash,
                                                             .name = made.name,
                                                             .rank = made.rank,
                                                             .ranks = made.ranks,
                                                             .channels = made.fabric->channels(),
                                                             .pid = sys::Self().pid,
                                                             .created_ns = sys::NowNs(),
                                                             .created_unix_ns = sys::UnixNs()});
}

Status Creation::OpenBlackBoxes() {
  for (int r = 0; r < made.ranks && made.fabric != nullptr; ++r) {
    const Result<trace::View> view =
        trace::View::Open(made.fabric->segment(r).box(), made.fabric->own().geometry().box_bytes);
    if (!view.ok()) return Status(Code::kRemote, fmt::format("rank {}: {}", r, view.status().message()), r);
    made.boxes.push_back(*view);
  }
  return Status::Ok();
}

}  // namespace tutti::comm
