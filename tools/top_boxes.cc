// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/top_boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "sys/os/clock.h"
#include "sys/os/mappings.h"
#include "sys/os/process.h"
#include "transport/shm/segment.h"

namespace tutti::tools {
namespace {

using trace::View;

std::byte* AllocateCopy(std::size_t bytes) {
  return static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
}

}  // namespace

void BoxCopy::Free::operator()(std::byte* memory) const { std::free(memory); }

Result<BoxCopy> BoxCopy::Take(std::int32_t pid, std::uint64_t address, std::size_t bytes) {
  const auto read = [pid](std::uint64_t from, std::byte* to, std::size_t length) {
    return sys::ReadProcessMemory(pid, reinterpret_cast<const void*>(from), to, length).status();
  };
  return Take(read, address, bytes);
}

Result<BoxCopy> BoxCopy::Take(const ReadMemory& read, std::uint64_t address, std::size_t bytes) {
  const std::unique_ptr<std::byte, Free> header(AllocateCopy(sizeof(trace::BoxHeader)));
  if (bytes < sizeof(trace::BoxHeader)) return Status(Code::kInvalidArgument, "less mapped than a black box has");
  if (const Status got = read(address, header.get(), sizeof(trace::BoxHeader)); !got.ok()) return got;
  const Result<std::size_t> size = View::BytesOf(header.get(), sizeof(trace::BoxHeader));
  if (!size.ok()) return size.status();
  if (*size > bytes) return Status(Code::kInvalidArgument, "less mapped than this black box says it has");
  BoxCopy copy;
  copy.memory_.reset(AllocateCopy(*size));
  const std::unique_ptr<std::byte, Free> second(AllocateCopy(*size));
  copy.taken_ns_ = sys::NowNs();
  for (std::byte* to : {copy.memory_.get(), second.get()}) {
    if (const Status got = read(address, to, *size); !got.ok()) return got;
  }
  trace::DropTornRecords(*reinterpret_cast<const trace::BoxHeader*>(header.get()), copy.memory_.get(), second.get(),
                         *size);
  const Result<View> view = View::Open(copy.memory_.get(), *size);
  if (!view.ok()) return view.status();
  copy.view_ = *view;
  return copy;
}

Result<std::vector<BoxCopy>> TakeAll(std::int32_t pid) {
  const Result<std::vector<sys::Mapping>> mappings = sys::ReadMappings(pid);
  if (!mappings.ok()) return mappings.status();
  std::vector<BoxCopy> boxes;
  Status problem;
  for (const sys::Mapping& m : *mappings) {
    // A rank's own segment is writable; those of its peers are mapped for reading only.
    if (!m.IsSharedMemory(transport::shm::kSegmentName) || !m.writable || m.offset != 0) continue;
    if (m.end - m.begin <= transport::shm::kBoxOffset) continue;
    Result<BoxCopy> box =
        BoxCopy::Take(pid, m.begin + transport::shm::kBoxOffset, m.end - m.begin - transport::shm::kBoxOffset);
    if (box.ok()) {
      boxes.push_back(std::move(*box));
    } else {
      problem = box.status();
    }
  }
  if (boxes.empty() && problem.ok()) {
    problem = Status(Code::kInvalidArgument,
                     fmt::format("process {} has no Tutti communicator of two or more ranks; is it another process of "
                                 "the job, or has it not created one yet, or destroyed it already?",
                                 pid));
  }
  if (boxes.empty()) return problem;
  std::ranges::sort(boxes, {}, [](const BoxCopy& b) {
    return std::tuple(b.view().created_ns() / 1000000000, b.view().communicator(), b.view().rank());
  });
  return boxes;
}

}  // namespace tutti::tools
