// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_FAKE_CUDA_H_
#define TUTTI_TESTS_SUPPORT_FAKE_CUDA_H_

// What a program may ask of the driver of fake_cuda.cc, which it loads by its path (FakeCuda::Load).

#include <dlfcn.h>

#include <cstddef>
#include <span>

#include "sys/cuda/cuda.h"

namespace tutti::tests {

// Called by the thread that enqueues, in place of the GPU. A hook that is null leaves it at what fake_cuda.cc does.
struct FakeCudaHooks {
  void (*launch)(const char* kernel, const sys::cuda::LaunchConfig& config, const void* argument) = nullptr;
  void (*copy)(sys::cuda::Address to, sys::cuda::Address from, std::size_t bytes) = nullptr;
  // Before the words are written. Returns how many of the operations come to pass; the others never do.
  std::size_t (*words)(std::span<const sys::cuda::MemoryOperation> operations) = nullptr;
  bool (*is_host)(sys::cuda::Address address) = nullptr;  // no memory of a GPU; unset: everything is
};

// How many GPUs the driver has: from the variable of this name when it is loaded, else 1. One alone has memory that only
// threads of a process share; several have memory that is passed on by descriptors, and streams that exchange words.
inline constexpr const char* kFakeGpus = "FAKE_CUDA_GPUS";

inline constexpr const char* kSetFakeCudaHooks = "TuttiSetFakeCudaHooks";

// Before anything of Tutti asks for the driver. False where it can not be loaded.
inline bool LoadFakeCuda(const char* path, const FakeCudaHooks& hooks = {}) {
  void* const driver = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (driver == nullptr) return false;
  reinterpret_cast<void (*)(const FakeCudaHooks&)>(dlsym(driver, kSetFakeCudaHooks))(hooks);
  return true;
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_FAKE_CUDA_H_
