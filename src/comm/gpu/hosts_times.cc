// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/hosts_times.h"

#include <vector>

#include "comm/gpu/host_stages.h"
#include "comm/gpu/predict_hosts.h"
#include "comm/gpu/runner_communicator.h"
#include "comm/gpu/within_host.h"
#include "comm/host/chooser_of.h"
#include "comm/host/predict.h"

namespace tutti::comm {

struct HostsTimes::Inside {
  std::vector<std::shared_ptr<tune::Chooser>> choosers;  // by communicator; a thread runs pieces over those meanwhile
  HostsModel model;
};

HostsTimes::HostsTimes(std::span<RunnerCommunicator> communicators, const HostShape& shape, bool has_kernel,
                       GpuWithinHost* within)
    : inside_(std::make_unique<Inside>()) {
  for (RunnerCommunicator& over : communicators) {
    inside_->choosers.push_back(ChooserOf(over.communicator));
  }
  HostsModel& model = inside_->model;
  const Communicator& all = communicators[0].communicator;
  model.rank = all.rank();
  model.ranks = all.ranks();
  model.has_kernel = has_kernel;
  model.in_host_memory = [this](HostsPlace place, std::span<const Operation> operations) {
    return PredictGroupUs(*inside_->choosers[place == HostsPlace::kRail ? 1 : 0], operations);
  };
  if (within == nullptr) return;
  model.shape = shape;
  model.within = [within](std::span<const Operation> operations) { return within->PredictUs(operations); };
}

HostsTimes::~HostsTimes() = default;

Result<double> HostsTimes::PredictUs(std::span<const Operation> operations) {
  const Result<HostsTime> time = PredictAcrossHosts(inside_->model, operations);
  if (!time.ok()) return time.status();
  return time->us;
}

}  // namespace tutti::comm
