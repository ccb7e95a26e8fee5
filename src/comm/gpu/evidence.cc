// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/evidence.h"

#include <algorithm>

#include "comm/gpu/begun_probe.h"
#include "comm/gpu/core.h"
#include "comm/gpu/kernel_waits.h"
#include "comm/host/core.h"
#include "sys/os/clock.h"
#include "trace/view.h"
#include "transport/p2p/fabric.h"

namespace tutti::comm {
namespace {

// How long kernels of another rank wait until the GPU that they wait for is worth a question, and how often it is asked then.
constexpr std::int64_t kLongNs = 300 * sys::kNsPerMs, kAskEveryNs = 300 * sys::kNsPerMs;
// How long the driver may keep a question when a communicator ends. Who ends it comes to the same driver then.
constexpr std::int64_t kProbeNs = 5 * sys::kNsPerSecond;

// Whether kernels of others wait for this rank, or may: of those that wait for several peers one says one of them.
bool IsAwaited(const Core& host, bool waits, std::int64_t now_ns) {
  return std::ranges::any_of(host.boxes, [&](const trace::View& box) {
    const trace::WaitView wait = box.wait();
    return wait.on_gpu && (wait.peer == host.rank || !waits) && now_ns - wait.since_ns >= kLongNs;
  });
}

}  // namespace

// By its handle, which is the same in all communicators; the default stream by that of the legacy one.
void NoteStream(GpuCore& core, sys::cuda::Stream stream) {
  constexpr std::uint64_t kLegacy = 1;
  core.host.recorder.NoteStream(stream == nullptr ? kLegacy : reinterpret_cast<std::uintptr_t>(stream));
}

struct GpuEvidence::Inside {
  Inside(GpuCore& core, const exec::gpu::Failures& failures) : core(core), failures(failures) {}
  GpuCore& core;
  const exec::gpu::Failures& failures;
  KernelWaits kernels;
  BegunProbe probe;
  std::int64_t asked_ns = 0;  // when it was last asked
};

GpuEvidence::GpuEvidence(GpuCore& core, const exec::gpu::Failures& failures)
    : inside_(std::make_unique<Inside>(core, failures)) {}

GpuEvidence::~GpuEvidence() = default;

void GpuEvidence::Note(const GpuWords& words) {
  Inside& c = *inside_;
  const std::int64_t now_ns = sys::NowNs();
  trace::GpuNote note = c.kernels.Look(c.failures, c.core.host.recorder.last(), now_ns);
  if (c.core.fabric == nullptr || !IsAwaited(c.core.host, note.kind != trace::WaitKind::kNothing, now_ns)) {
    c.probe.Forget();
  } else {
    if (now_ns - c.asked_ns >= kAskEveryNs) {
      c.asked_ns = now_ns;
      c.probe.Ask({.driver = c.core.driver,
                   .context = c.core.context.get(),
                   .stream = c.core.inner,
                   .counts = reinterpret_cast<sys::cuda::Address>(c.core.fabric->counts())},
                  words);
    }
    if (c.probe.begun() > c.failures.without_kernel()) note.begun = c.probe.begun();
  }
  c.core.host.recorder.NoteGpu(note);
}

void GpuEvidence::Close() { (void)inside_->probe.Close(kProbeNs); }

}  // namespace tutti::comm
