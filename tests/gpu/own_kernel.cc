// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/own_kernel.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace tutti::tests {
namespace {

constexpr const char* kPtx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry hold(.param .u64 word)
{
  .reg .u64 %at;
  .reg .u32 %value;
  .reg .pred %waits;
  ld.param.u64 %at, [word];
again:
  ld.volatile.global.u32 %value, [%at];
  setp.eq.u32 %waits, %value, 0;
  @%waits bra again;
  ret;
}
.visible .entry spoil(.param .u64 word)
{
  .reg .u64 %at;
  ld.param.u64 %at, [word];
  st.global.u32 [%at], 1;
  ret;
}
)";
constexpr unsigned kBlockThreads = 1024, kBlocksPerMultiprocessor = 2;  // all the threads that one has room for
constexpr int kMultiprocessors = 16;                                    // the driver's name for that attribute
constexpr unsigned kMapped = 2;                                         // host memory that the GPU sees

// The driver's functions, by their names without "cu"; -1 where it has none of that name.
template <typename... Arguments>
int Call(const char* name, Arguments... arguments) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto function = reinterpret_cast<int (*)(Arguments...)>(driver == nullptr ? nullptr : dlsym(driver, name));
  return function == nullptr ? -1 : function(arguments...);
}

Status Check(int result, const char* what) {
  return result == 0 ? Status::Ok() : Status(Code::kInternal, fmt::format("{} returned {}", what, result));
}

Status LaunchOwn(const char* name, unsigned blocks, void* word, cudaStream_t stream) {
  void *module = nullptr, *function = nullptr;
  TUTTI_RETURN_IF_ERROR(Check(Call("cuModuleLoadData", &module, static_cast<const void*>(kPtx)), "cuModuleLoadData"));
  TUTTI_RETURN_IF_ERROR(Check(Call("cuModuleGetFunction", &function, module, name), "cuModuleGetFunction"));
  void* arguments[] = {&word};
  return Check(Call("cuLaunchKernel", function, blocks, 1u, 1u, kBlockThreads, 1u, 1u, 0u, static_cast<void*>(stream),
                    static_cast<void**>(arguments), static_cast<void**>(nullptr)),
               "cuLaunchKernel");
}

}  // namespace

Result<Hog> Hog::Launch(cudaStream_t stream) {
  int device = 0, multiprocessors = 0;
  TUTTI_RETURN_IF_ERROR(Check(Call("cuCtxGetDevice", &device), "cuCtxGetDevice"));
  TUTTI_RETURN_IF_ERROR(
      Check(Call("cuDeviceGetAttribute", &multiprocessors, kMultiprocessors, device), "cuDeviceGetAttribute"));
  Hog hog;
  TUTTI_RETURN_IF_ERROR(Check(Call("cuMemHostAlloc", &hog.word_, sizeof(unsigned), kMapped), "cuMemHostAlloc"));
  *static_cast<volatile unsigned*>(hog.word_) = 0;
  TUTTI_RETURN_IF_ERROR(
      LaunchOwn("hold", kBlocksPerMultiprocessor * static_cast<unsigned>(multiprocessors), hog.word_, stream));
  return hog;
}

Status BreakContext(cudaStream_t stream) {
  TUTTI_RETURN_IF_ERROR(LaunchOwn("spoil", 1, reinterpret_cast<void*>(std::uintptr_t{0x7000'0000'0000}), stream));
  if (Call("cuStreamSynchronize", static_cast<void*>(stream)) == 0)
    return Status(Code::kInternal, "a kernel has written where no memory is, and the driver says nothing of it");
  return Status::Ok();
}

}  // namespace tutti::tests
