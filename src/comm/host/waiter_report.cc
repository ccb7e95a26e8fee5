// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the black box says of a wait.
#include "comm/host/core.h"
#include "comm/host/observed_calls.h"
#include "comm/host/waiter.h"
#include "exec/cpu/engine.h"
#include "sys/os/thread.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

// Pages that only the awaited peer has yet to read are room in the link to it.
trace::WaitKind Waiter::KindOf(const exec::cpu::Job& job) const {
  const auto kind = static_cast<trace::WaitKind>(job.waits_what);
  return kind == trace::WaitKind::kPages && core_.engine->WaitsOnlyForPeer() ? trace::WaitKind::kRoom : kind;
}

void Waiter::Tell(const exec::cpu::Job& job) { core_.observed->Waits(job, KindOf(job)); }

void Waiter::ReportWait(std::int64_t since_ns, std::int64_t now_ns, Caller caller) {
  exec::cpu::Job* job = core_.engine->current();
  if (job == nullptr) return;
  wait_reported_ = true;
  last_report_ns_ = now_ns;
  const int channel = job->collective == Collective::kSendRecv ? 0 : job->waiting_part;
  const trace::WaitKind kind = KindOf(*job);
  core_.recorder.Wait(job->calls.last, job->waits_for, kind, channel, since_ns, now_ns,
                      {.thread = sys::ThreadId(), .inside = caller == Caller::kInside});
  ReportLinks();
  if (core_.observed != nullptr) Tell(*job);
}

void Waiter::ReportLinks() {
  for (int c = 0; c < core_.fabric->channels(); ++c) {
    for (int peer = 0; peer < core_.ranks; ++peer) {
      if (peer == core_.rank) continue;
      const transport::Outgoing& tx = core_.fabric->out(c, peer);
      const transport::Incoming& rx = core_.fabric->in(c, peer);
      core_.recorder.Count(c, peer,
                           {.sent = {tx.ll_head, tx.ll128_head, tx.post_head},
                            .received = {rx.ll_head, rx.ll128_head, rx.post_head},
                            .credit = {tx.ll_consumed, tx.ll128_consumed, tx.posts_consumed}});
    }
  }
}

void Waiter::EndReport() {
  if (!wait_reported_) return;
  wait_reported_ = false;
  core_.recorder.EndWait();
}

}  // namespace tutti::comm
