// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/p2p/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::transport::p2p {

using sys::cuda::Check;
using sys::cuda::DeviceMemory;

namespace {

Status CannotHandOn(const Status& why) {
  return Status(Code::kUnsupported,
                fmt::format("device memory can not be handed on to other processes here: {}", why.message()));
}

}  // namespace

Result<Fabric> Fabric::Create(const FabricOptions& options) {
  Fabric fabric;
  fabric.options_ = options;
  const sys::cuda::Driver& driver = *options.driver;
  Identity& id = fabric.identity_;
  TUTTI_RETURN_IF_ERROR(Check(driver, driver.DeviceGetUuid(&id.gpu, options.device), "the UUID of a GPU"));
  TUTTI_RETURN_IF_ERROR(
      Check(driver, driver.DeviceGetAttribute(&id.multiprocessors, sys::cuda::kMultiprocessorCount, options.device),
            "the number of multiprocessors of a GPU"));
  const int ranks = options.sections.ranks;
  fabric.mappings_.resize(ranks);
  fabric.pages_.resize(ranks);
  fabric.segments_.resize(ranks);
  fabric.identities_.resize(ranks);
  fabric.state_shifts_.resize(static_cast<std::size_t>(options.sections.count()));
  TUTTI_RETURN_IF_ERROR(fabric.staged() ? fabric.AllocateOnHost() : fabric.AllocateOnDevice());
  id.process = options.process;
  id.start = options.start;
  id.address = reinterpret_cast<std::uint64_t>(fabric.segments_[options.rank]);
  fabric.identities_[options.rank] = id;
  return fabric;
}

Status Fabric::AllocateOnDevice() {
  const auto way =
      options_.force_ipc ? DeviceMemory::Way::kIpc : DeviceMemory::BestWay(options_.driver, options_.device);
  Result<DeviceMemory> own = DeviceMemory::Create(options_.driver, options_.device, options_.sections.Bytes(), way);
  if (!own.ok()) return own.status();
  own_ = std::move(*own);
  segments_[options_.rank] = own_.data();
  identity_.way = static_cast<std::int32_t>(way);
  identity_.bytes = own_.bytes();
  if (way == DeviceMemory::Way::kDescriptor) {
    Result<sys::Fd> fd = own_.ExportDescriptor();
    if (!fd.ok()) return CannotHandOn(fd.status());
    descriptor_ = std::move(*fd);
  } else {
    const Result<sys::cuda::IpcHandle> ipc = own_.ExportIpc();
    if (!ipc.ok()) return CannotHandOn(ipc.status());
    identity_.ipc = *ipc;
  }
  return Status::Ok();
}

Status Fabric::AllocateHostMemory(std::size_t bytes) {
  Result<DeviceMemory> made = DeviceMemory::CreateOnHost(options_.driver, options_.device, bytes);
  if (!made.ok()) return Status(Code::kUnsupported, made.status().message());
  Result<sys::Fd> fd = made->ExportDescriptor();
  if (!fd.ok()) return Status(Code::kUnsupported, fd.status().message());
  descriptor_ = std::move(*fd);
  DeviceMemory& own = mappings_[options_.rank];
  own = std::move(*made);
  segments_[options_.rank] = own.data();
  identity_.way = static_cast<std::int32_t>(DeviceMemory::Way::kDescriptor);
  identity_.bytes = own.bytes();
  return Status::Ok();
}

Status Fabric::AllocateHostPages(std::size_t bytes) {
  sys::cuda::SharedHostMemory::ReleaseUnused();
  constexpr std::size_t kPage = 4096;
  identity_.way = kHostPages;
  identity_.bytes = (bytes + kPage - 1) / kPage * kPage;
  Result<sys::Fd> fd = sys::CreateSharedMemory("tutti-gpu", identity_.bytes);
  if (!fd.ok()) return fd.status();
  descriptor_ = std::move(*fd);
  return ConnectByPages(options_.rank, identity_.bytes, descriptor_);
}

Status Fabric::AllocateOnHost() {
  const Sections& sections = options_.sections;
  const bool pages = options_.memory == Memory::kPages;
  TUTTI_RETURN_IF_ERROR(pages ? AllocateHostPages(sections.Bytes()) : AllocateHostMemory(sections.Bytes()));
  // Of each section the positions of collectives, then those of transfers and the counts.
  const auto states = [](const Layout& layout) { return layout.collectives.State(0, 0); };
  const auto states_bytes = [&](const Layout& layout) {
    return layout.collectives.State(kProtocols, 0) - states(layout);
  };
  const auto transfer_states = [](const Layout& layout) { return layout.TransferState(0, 0, 0, 0); };
  const auto bytes_of = [&](const Layout& layout) {
    return states_bytes(layout) + layout.Bytes() - transfer_states(layout);
  };
  std::size_t bytes = 0;
  for (int s = 0; s < sections.count(); ++s) bytes += bytes_of(sections.At(s));
  const auto way = DeviceMemory::BestWay(options_.driver, options_.device);
  Result<DeviceMemory> own = DeviceMemory::Create(options_.driver, options_.device, bytes, way);
  if (!own.ok()) return own.status();
  own_ = std::move(*own);
  const auto segment = reinterpret_cast<std::uint64_t>(segments_[options_.rank]);
  auto words = reinterpret_cast<std::uint64_t>(own_.data());
  for (int s = 0; s < sections.count(); ++s) {
    const Layout& layout = sections.At(s);
    const std::uint64_t section = segment + sections.Begin(s);
    StateShift& shift = state_shifts_[static_cast<std::size_t>(s)];
    shift.collectives = words - (section + states(layout));
    shift.transfers = words + states_bytes(layout) - (section + transfer_states(layout));
    words += bytes_of(layout);
  }
  return Status::Ok();
}

LaunchCounts* Fabric::counts() const {
  return reinterpret_cast<LaunchCounts*>(reinterpret_cast<std::uint64_t>(segments_[options_.rank]) +
                                         options_.sections.Counts() + state_shifts_.back().transfers);
}

Status Fabric::ConnectByPages(int rank, std::size_t bytes, const sys::Fd& descriptor) {
  Result<sys::cuda::SharedHostMemory> pages =
      sys::cuda::SharedHostMemory::Register(options_.driver, options_.device, descriptor, bytes);
  if (!pages.ok()) return pages.status();
  pages_[rank] = std::move(*pages);
  segments_[rank] = pages_[rank].device();
  return Status::Ok();
}

Status Fabric::Connect(int peer, const Identity& theirs, const sys::Fd& descriptor) {
  identities_[peer] = theirs;
  if (peer == options_.rank) return Status::Ok();
  if (theirs.way == kHostPages) return ConnectByPages(peer, theirs.bytes, descriptor);
  const bool same_process = theirs.process == identity_.process && theirs.start == identity_.start;
  const bool ipc = theirs.way == static_cast<std::int32_t>(DeviceMemory::Way::kIpc);
  if (same_process && theirs.gpu == identity_.gpu && ipc) {
    segments_[peer] = reinterpret_cast<std::byte*>(theirs.address);
    return Status::Ok();
  }
  if (same_process && ipc) {
    return Status(Code::kUnsupported,
                  fmt::format("ranks {} and {} are threads of one process on different GPUs, whose memory can not be "
                              "passed on as descriptors",
                              options_.rank, peer),
                  peer);
  }
  int can_reach = 1;
  const sys::cuda::Device other = staged() ? -1 : Find(theirs.gpu);
  if (other >= 0 && options_.driver->DeviceCanAccessPeer(&can_reach, options_.device, other) == 0 && can_reach == 0) {
    return Status(Code::kUnsupported,
                  fmt::format("the driver says that CUDA device {} of rank {} has no peer access to device {} of rank "
                              "{} (nvidia-smi topo -p2p w)",
                              options_.device, options_.rank, other, peer),
                  peer);
  }
  // Ranks of one process too: a mapping keeps the memory until its user has gone.
  Result<DeviceMemory> mapping = ipc ? DeviceMemory::Import(options_.driver, theirs.ipc, theirs.bytes)
                                     : DeviceMemory::Import(options_.driver, options_.device, descriptor, theirs.bytes);
  if (!mapping.ok()) {
    return Status(Code::kUnsupported,
                  fmt::format("rank {} can not reach the GPU memory of rank {}: {}", options_.rank, peer,
                              mapping.status().message()),
                  peer);
  }
  mappings_[peer] = std::move(*mapping);
  segments_[peer] = mappings_[peer].data();
  if (same_process && !staged() && theirs.gpu != identity_.gpu) EnablePeerAccess(theirs.gpu);
  return Status::Ok();
}

sys::cuda::Device Fabric::Find(const sys::cuda::Uuid& gpu) const {
  const sys::cuda::Driver& driver = *options_.driver;
  int devices = 0;
  if (driver.DeviceGetCount(&devices) != 0) return -1;
  for (sys::cuda::Device other = 0; other < devices; ++other) {
    sys::cuda::Uuid uuid{};
    if (other != options_.device && driver.DeviceGetUuid(&uuid, other) == 0 && uuid == gpu) return other;
  }
  return -1;
}

// Lets the current context reach all memory of another GPU of this process. Tutti has no need of it, but a program that
// drives several GPUs from one thread copies in streams of devices that are not current, and counts on what NCCL leaves
// behind. Where that can not be had the program's own copies will say so.
void Fabric::EnablePeerAccess(const sys::cuda::Uuid& gpu) const {
  const sys::cuda::Device other = Find(gpu);
  if (other < 0) return;
  const Result<sys::cuda::PrimaryContext> context = sys::cuda::PrimaryContext::Retain(options_.driver, other);
  if (context.ok()) options_.driver->CtxEnablePeerAccess(context->get(), 0);
}

int Fabric::RanksOnGpuOf(int rank) const {
  int count = 0;
  for (const Identity& other : identities_) count += other.gpu == identities_[rank].gpu ? 1 : 0;
  return count;
}

bool Fabric::LinesArriveWhole() const {
  if (staged()) return false;
  return std::ranges::none_of(identities_, [&](const Identity& peer) {
    const sys::cuda::Device other = Find(peer.gpu);
    int atomics = 1;
    return other >= 0 &&
           options_.driver->DeviceGetP2PAttribute(&atomics, sys::cuda::kNativePeerAtomics, options_.device, other) ==
               0 &&
           atomics == 0;
  });
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
