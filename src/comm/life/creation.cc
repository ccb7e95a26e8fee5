// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/creation.h"

#include "comm/agree/profiles.h"
#include "comm/host/log_links.h"
#include "comm/life/watch_over.h"
#include "sys/os/clock.h"
#include "transport/net/remote_peer.h"

namespace tutti::comm {

Creation::Creation(Communicator::Impl& made, const std::atomic<bool>* cancel)
    : made(made), cancel(cancel), deadline_ns(sys::NowNs() + made.settings.init_timeout_ms * sys::kNsPerMs) {}

Creation::~Creation() = default;

Status Creation::Run() {
  LogNetwork(made.settings);
  TUTTI_RETURN_IF_ERROR(Offer());
  BeginWatch(made);
  TUTTI_RETURN_IF_ERROR(Meet());
  looked = LookAtMachine();
  if (!made.several_hosts) TUTTI_RETURN_IF_ERROR(looked);  // else others hear of it in JoinHosts
  TUTTI_RETURN_IF_ERROR(Connect());
  TUTTI_RETURN_IF_ERROR(Agree());
  if (made.several_hosts) {
    TUTTI_RETURN_IF_ERROR(JoinHosts());
  } else {
    StartTuner();
  }
  LogChannels();
  TUTTI_RETURN_IF_ERROR(Start());
  EndBeginning(made);
  return Status::Ok();
}

}  // namespace tutti::comm
