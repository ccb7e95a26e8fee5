// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/several_hosts.h"

#include <optional>
#include <utility>

#include "comm/gpu/across_hosts.h"
#include "comm/gpu/by_hosts.h"
#include "comm/gpu/hosts_times.h"
#include "comm/gpu/within_host.h"
#include "sys/os/clock.h"

namespace tutti::comm {
namespace {

// How long the thread polls where each rank has a core: as long as it stays awake.
constexpr std::int64_t kSpinNs = sys::kNsPerMs;

class SeveralHosts final : public GpuHosts {
 public:
  SeveralHosts(std::unique_ptr<GpuAcrossHosts> across, std::unique_ptr<HostsTimes> times, HostsOptions& options)
      : across_(std::move(across)), within_(std::move(options.within)), times_(std::move(times)) {
    if (within_ == nullptr) return;
    by_hosts_.emplace(options.driver, options.shape, *across_,
                      [this](std::span<const Operation> operations, const ProgramCalls& calls,
                             sys::cuda::Stream stream) { return within_->Run(operations, calls, stream); });
  }

  Status Run(std::span<const Operation> operations, const ProgramCalls& calls, sys::cuda::Stream stream) override {
    return by_hosts_ ? by_hosts_->Run(operations, calls, stream)
                     : across_->Run(GpuAcrossHosts::kAll, operations, calls, stream);
  }
  Result<double> PredictUs(std::span<const Operation> operations) override { return times_->PredictUs(operations); }
  std::string Explain(const Operation& operation) const override {
    return by_hosts_ ? by_hosts_->Explain(operation) : "through host memory";
  }
  Status Check() override { return within_ == nullptr ? Status::Ok() : within_->Check(); }
  Status EndIfBroken() override { return within_ == nullptr ? Status::Ok() : within_->EndIfBroken(); }
  void NoteEvidence(const trace::View& whole) override {
    across_->NoteCalls(whole);
    if (within_ != nullptr) within_->NoteEvidence(whole);
  }
  void CloseEvidence() override {
    if (within_ != nullptr) within_->CloseEvidence();
  }
  void Release(const std::string& why) override {
    across_->Release(why);
    if (within_ != nullptr) within_->Abort(why);
  }
  bool Drain(std::int64_t timeout_ns) override {
    return across_->Drain(timeout_ns) && (within_ == nullptr || within_->Drain());
  }
  std::size_t device_bytes() const override {
    return by_hosts_ ? within_->device_bytes() + by_hosts_->device_bytes() : 0;
  }
  std::size_t host_bytes() const override { return across_->host_bytes(); }

 private:
  const std::unique_ptr<GpuAcrossHosts> across_;
  const std::unique_ptr<GpuWithinHost> within_;
  const std::unique_ptr<HostsTimes> times_;
  std::optional<GpuByHosts> by_hosts_;
};

}  // namespace

Result<std::unique_ptr<GpuHosts>> MakeGpuHosts(HostsOptions options) {
  const GpuAcrossHosts::StartKernel start_kernel = GpuAcrossHosts::FindKernel(options.driver, options.who);
  auto times =
      std::make_unique<HostsTimes>(options.communicators, options.shape, start_kernel != nullptr, options.within.get());
  Result<std::unique_ptr<GpuAcrossHosts>> across = GpuAcrossHosts::Create({.driver = options.driver,
                                                                           .device = options.device,
                                                                           .context = options.context,
                                                                           .spin_ns = options.spin_ns.value_or(kSpinNs),
                                                                           .broken = options.broken,
                                                                           .start_kernel = start_kernel},
                                                                          std::move(options.communicators));
  if (!across.ok()) return across.status();
  return std::unique_ptr<GpuHosts>(std::make_unique<SeveralHosts>(std::move(*across), std::move(times), options));
}

}  // namespace tutti::comm
