// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "comm/agree/gpu_bus_id.h"
#include "comm/host/origin.h"
#include "comm/life/creation.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "sys/os/thread.h"
#include "trace/view.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

// Formats the own black box. The peers do so before they say that they are connected.
void Creation::CreateBlackBox() {
  const sys::ProcessId self = sys::Self();
  const transport::RingSizes& rings = made.fabric->rings();
  const std::string gpu_bus_id = GpuBusId(made.settings, made.gpu);
  const bool is_part = made.origin != nullptr && made.origin->whole() != 0;
  made.recorder = trace::Recorder(
      made.fabric->own().box(),
      {.communicator = made.id_hash,
       .name = made.name,
       .rank = made.rank,
       .ranks = made.ranks,
       .channels = made.fabric->channels(),
       .pid = self.pid,
       .created_ns = sys::NowNs(),
       .created_unix_ns = sys::UnixNs(),
       .start_ticks = self.start_ticks,
       .thread = sys::ThreadId(),
       .window = {static_cast<std::uint32_t>(rings.ll_units()), static_cast<std::uint32_t>(rings.ll128_lines()),
                  static_cast<std::uint32_t>(rings.posts())},
       .gpu_bus_id = gpu_bus_id,
       .gpu = gpu_bus_id.empty() ? -1 : made.gpu,
       .whole = is_part ? made.origin->whole() : 0,
       .rank_of_whole = is_part ? made.origin->RankOfWhole(made.rank) : -1});
}

// What is seen of ranks of other hosts: nothing written down.
Status Creation::CreateBlankBox(std::size_t bytes) {
  const Result<sys::PrivatePages> pages = sys::PrivatePages::Make(bytes);
  if (!pages.ok()) return pages.status();
  made.blank_box = {pages->owner(), pages->data()};
  const trace::Recorder format(
      pages->data(), {.communicator = made.id_hash, .ranks = made.ranks, .channels = made.fabric->channels()});
  return Status::Ok();
}

Status Creation::OpenBlackBoxes() {
  if (made.fabric == nullptr) return Status::Ok();
  const std::size_t bytes = made.fabric->own().geometry().box_bytes;
  if (made.fabric->remote() != nullptr) TUTTI_RETURN_IF_ERROR(CreateBlankBox(bytes));
  for (int r = 0; r < made.ranks; ++r) {
    const std::byte* box = made.fabric->IsRemote(r) ? made.blank_box.get() : made.fabric->segment(r).box();
    const Result<trace::View> view = trace::View::Open(box, bytes);
    if (!view.ok()) return Status(Code::kRemote, fmt::format("rank {}: {}", r, view.status().message()), r);
    made.boxes.push_back(*view);
  }
  return Status::Ok();
}

}  // namespace tutti::comm
