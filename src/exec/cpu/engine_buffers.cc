// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// The part of Engine that has buffers moved to huge pages.

#include <memory>

#include "exec/cpu/engine.h"
#include "exec/cpu/huge_buffers.h"
#include "exec/cpu/prepared_plan.h"
#include "sys/os/huge_edges.h"
#include "sys/os/huge_gaps.h"
#include "sys/os/huge_pages.h"
#include "transport/shm/fabric.h"

namespace tutti::exec::cpu {

static_assert(kLeastMovedBytes == HugeBuffers::kLeastBytes);

void Engine::UseHugePages() {
  bool read = false;
  for (int peer = 0; fabric_ != nullptr && peer < ranks_; ++peer) {
    read |= fabric_->in(0, peer).reach == transport::Reach::kSystemCall;
  }
  if (!read || !sys::MayUseHugePages()) return;
  struct Places {
    sys::HugeGaps gaps;  // of what the program asks for from here on
    sys::HugeEdges edges;
  };
  huge_ = std::make_shared<HugeBuffers>(
      [places = std::make_shared<Places>()](std::byte* page) { return places->edges.Move(page); });
}

void Engine::UseBuffers(const Job& job) {
  if (job.collective == Collective::kSendRecv) {
    for (const SendBlock& block : job.group.sends) huge_->Use(block.address, block.bytes);
    for (const ReceiveBlock& block : job.group.receives) huge_->Use(block.address, block.bytes);
    return;
  }
  const plan::RankPlan& plan = job.first_plan().plan;
  const std::size_t piece = job.count * job.element;
  if (plan.in_blocks > 0) huge_->Use(job.in, plan::InPieces(job.collective, ranks_) * piece);
  if (plan.out_blocks > 0) huge_->Use(job.out, plan::OutPieces(job.collective, ranks_) * piece);
}

}  // namespace tutti::exec::cpu
