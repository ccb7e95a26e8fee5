// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/faults.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>

#include "comm/gpu/copies.h"
#include "comm/gpu/core.h"
#include "comm/gpu/evidence.h"
#include "comm/gpu/hosts.h"
#include "comm/host/comparer.h"
#include "comm/host/core.h"
#include "comm/host/waiter.h"
#include "exec/gpu/launch/failures.h"
#include "trace/view.h"

namespace tutti::comm {

GpuFaults::GpuFaults(GpuCore& core, exec::gpu::Failures& failures, GpuCopies& copies, Waiter& waiter,
                     Comparer& comparer)
    : core_(core),
      host_(core.host),
      failures_(failures),
      copies_(copies),
      waiter_(waiter),
      comparer_(comparer),
      evidence_(std::make_unique<GpuEvidence>(core, failures)) {}

GpuFaults::~GpuFaults() = default;

void GpuFaults::NoteEvidence(const GpuWords& words) {
  evidence_->Note(words);
  if (core_.hosts != nullptr) core_.hosts->NoteEvidence(host_.boxes[static_cast<std::size_t>(host_.rank)]);
}

void GpuFaults::CloseEvidence() {
  evidence_->Close();
  if (core_.hosts != nullptr) core_.hosts->CloseEvidence();
}

Status GpuFaults::FindGivenUp() {
  std::optional<exec::gpu::FailedWait> failed = failures_.Find();
  if (!failed) failed = copies_.Overdue();
  if (!failed) return Status::Ok();
  return Status(
      Code::kTimeout,
      fmt::format("rank {} gave up an operation on its GPU: {} for TUTTI_TIMEOUT_MS={}; raise it if that rank "
                  "may be so late, else find out what holds it up (of several communicators, the order of their calls "
                  "may differ between ranks)",
                  host_.rank, exec::gpu::Describe(*failed), host_.settings.timeout_ms),
      failed->peer);
}

Status GpuFaults::EndIfBroken() {
  if (const Status failure = FindGivenUp(); !failure.ok()) host_.Break(failure);
  if (core_.hosts != nullptr) {
    if (const Status failure = core_.hosts->EndIfBroken(); !failure.ok()) host_.Break(failure);
  }
  if (!broken()) return Status::Ok();
  core_.presence.End();
  failures_.EndKernels();
  copies_.Release();
  if (core_.hosts != nullptr) core_.hosts->Release(host_.Broken().message());
  return host_.Broken();
}

Status GpuFaults::Check() {
  TUTTI_RETURN_IF_ERROR(EndIfBroken());
  const Status peers = waiter_.TestPeers();
  const Status near = core_.hosts != nullptr && peers.ok() ? core_.hosts->Check() : Status::Ok();
  if (peers.ok() && near.ok()) return peers;
  host_.Break(peers.ok() ? near : peers);
  return EndIfBroken();
}

void GpuFaults::EndKernels() { failures_.EndKernels(); }

bool GpuFaults::broken() const { return host_.broken.load(std::memory_order_relaxed); }

bool GpuFaults::ending() const { return failures_.ending(); }

Status GpuFaults::CompareWhenQuiet() {
  const std::uint64_t calls = comparer_.CallsOfAll();  // what a peer calls later is compared too
  const bool quiet = calls == seen_calls_;
  if (!quiet) compared_ = false;
  seen_calls_ = calls;
  if (!quiet || compared_) return Status::Ok();
  compared_ = true;
  const Status s = comparer_.CompareGpuCalls();
  if (!s.ok()) host_.Break(s);
  return s;
}

}  // namespace tutti::comm
