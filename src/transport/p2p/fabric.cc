// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/p2p/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::transport::p2p {

using sys::cuda::Check;
using sys::cuda::DeviceMemory;

Result<Fabric> Fabric::Create(const FabricOptions& options) {
  Fabric fabric;
  fabric.options_ = options;
  const sys::cuda::Driver& driver = *options.driver;
  Identity& id = fabric.identity_;
  TUTTI_RETURN_IF_ERROR(Check(driver, driver.DeviceGetUuid(&id.gpu, options.device), "the UUID of a GPU"));
  TUTTI_RETURN_IF_ERROR(
      Check(driver, driver.DeviceGetAttribute(&id.multiprocessors, sys::cuda::kMultiprocessorCount, options.device),
            "the number of multiprocessors of a GPU"));
  const bool descriptors = !options.force_ipc && DeviceMemory::CanExportDescriptors(&driver, options.device);
  Result<DeviceMemory> own =
      DeviceMemory::Create(&driver, options.device, options.layout.Bytes(),
                           descriptors ? DeviceMemory::Way::kDescriptor : DeviceMemory::Way::kIpc);
  if (!own.ok()) return own.status();
  fabric.own_ = std::move(*own);
  id.way = static_cast<std::int32_t>(descriptors ? DeviceMemory::Way::kDescriptor : DeviceMemory::Way::kIpc);
  id.process = options.process;
  id.start = options.start;
  id.address = reinterpret_cast<std::uint64_t>(fabric.own_.data());
  id.bytes = fabric.own_.bytes();
  if (descriptors) {
    Result<sys::Fd> fd = fabric.own_.ExportDescriptor();
    if (!fd.ok()) return fd.status();
    fabric.descriptor_ = std::move(*fd);
  } else {
    const Result<sys::cuda::IpcHandle> ipc = fabric.own_.ExportIpc();
    if (!ipc.ok()) return ipc.status();
    id.ipc = *ipc;
  }
  const int ranks = options.layout.collectives.ranks;
  fabric.mappings_.resize(ranks);
  fabric.segments_.resize(ranks);
  fabric.identities_.resize(ranks);
  fabric.segments_[options.rank] = fabric.own_.data();
  fabric.identities_[options.rank] = id;
  return fabric;
}

Status Fabric::Connect(int peer, const Identity& theirs, const sys::Fd& descriptor) {
  identities_[peer] = theirs;
  if (peer == options_.rank) return Status::Ok();
  const bool same_process = theirs.process == identity_.process && theirs.start == identity_.start;
  const bool ipc = theirs.way == static_cast<std::int32_t>(DeviceMemory::Way::kIpc);
  if (same_process && theirs.gpu == identity_.gpu && ipc) {
    segments_[peer] = reinterpret_cast<std::byte*>(theirs.address);
    return Status::Ok();
  }
  if (same_process && ipc) {
    return Status(Code::kUnsupported,
                  fmt::format("ranks {} and {} are threads of one process on different GPUs, whose memory can not be "
                              "passed on as descriptors; start one process per GPU",
                              options_.rank, peer),
                  peer);
  }
  // Ranks of one process too: a mapping keeps the memory until its user has gone.
  Result<DeviceMemory> mapping = ipc ? DeviceMemory::Import(options_.driver, theirs.ipc, theirs.bytes)
                                     : DeviceMemory::Import(options_.driver, options_.device, descriptor, theirs.bytes);
  if (!mapping.ok()) {
    return Status(Code::kUnsupported,
                  fmt::format("rank {} can not reach the GPU of rank {}: {}; ranks need GPUs with peer access to each "
                              "other (nvidia-smi topo -p2p w)",
                              options_.rank, peer, mapping.status().message()),
                  peer);
  }
  mappings_[peer] = std::move(*mapping);
  segments_[peer] = mappings_[peer].data();
  if (same_process && theirs.gpu != identity_.gpu) EnablePeerAccess(theirs.gpu);
  return Status::Ok();
}

// Lets the current context reach all memory of another GPU of this process. Tutti has no need of it, but a program that
// drives several GPUs from one thread copies in streams of devices that are not current, and counts on what NCCL leaves
// behind. Where that can not be had the program's own copies will say so.
void Fabric::EnablePeerAccess(const sys::cuda::Uuid& gpu) const {
  const sys::cuda::Driver& driver = *options_.driver;
  int devices = 0;
  if (driver.DeviceGetCount(&devices) != 0) return;
  for (sys::cuda::Device other = 0; other < devices; ++other) {
    sys::cuda::Uuid uuid{};
    if (driver.DeviceGetUuid(&uuid, other) != 0 || uuid != gpu) continue;
    const Result<sys::cuda::PrimaryContext> context = sys::cuda::PrimaryContext::Retain(options_.driver, other);
    if (context.ok()) driver.CtxEnablePeerAccess(context->get(), 0);
  }
}

int Fabric::RanksOnGpuOf(int rank) const {
  int count = 0;
  for (const Identity& other : identities_) count += other.gpu == identities_[rank].gpu ? 1 : 0;
  return count;
}

bool Fabric::LinesArriveWhole() const {
  const sys::cuda::Driver& driver = *options_.driver;
  int devices = 0;
  if (driver.DeviceGetCount(&devices) != 0) return true;
  for (sys::cuda::Device other = 0; other < devices; ++other) {
    sys::cuda::Uuid uuid{};
    int atomics = 1;
    if (other == options_.device || driver.DeviceGetUuid(&uuid, other) != 0) continue;
    const bool peer = std::ranges::any_of(identities_, [&](const Identity& i) { return i.gpu == uuid; });
    if (!peer) continue;
    if (driver.DeviceGetP2PAttribute(&atomics, sys::cuda::kNativePeerAtomics, options_.device, other) == 0 &&
        atomics == 0) {
      return false;
    }
  }
  return true;
}

bool Fabric::SomeShareAContext() const {
  for (std::size_t a = 0; a < identities_.size(); ++a) {
    for (std::size_t b = a + 1; b < identities_.size(); ++b) {
      const Identity &x = identities_[a], &y = identities_[b];
      if (x.gpu == y.gpu && x.process == y.process && x.start == y.start) return true;
    }
  }
  return false;
}

}  // namespace tutti::transport::p2p
