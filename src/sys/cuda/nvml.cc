// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/cuda/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "sys/os/device_tree.h"
#include "sys/os/notes.h"
#include "sys/os/shared_library.h"

namespace tutti::sys::cuda {
namespace {

using namespace nvml_abi;

using Device = void*;

// NVML's functions, under their own names without "nvml". Each returns one of its codes. Null: this NVML has no such
// function.
struct Functions {
  int (*Init)();
  int (*Shutdown)();
  const char* (*ErrorString)(int);
  int (*SystemGetDriverVersion)(char*, unsigned);
  int (*DeviceGetCount)(unsigned*);
  int (*DeviceGetHandleByIndex)(unsigned, Device*);
  int (*DeviceGetName)(Device, char*, unsigned);
  int (*DeviceGetUUID)(Device, char*, unsigned);
  int (*DeviceGetPciInfo)(Device, PciInfo*);
  int (*DeviceGetCudaComputeCapability)(Device, int*, int*);
  int (*DeviceGetCurrPcieLinkGeneration)(Device, unsigned*);
  int (*DeviceGetCurrPcieLinkWidth)(Device, unsigned*);
  int (*DeviceGetMaxPcieLinkGeneration)(Device, unsigned*);
  int (*DeviceGetMaxPcieLinkWidth)(Device, unsigned*);
  int (*DeviceGetFieldValues)(Device, int, FieldValue*);
  int (*DeviceGetNvLinkState)(Device, unsigned, int*);
  int (*DeviceGetNvLinkCapability)(Device, unsigned, int, unsigned*);
  int (*DeviceGetNvLinkRemotePciInfo)(Device, unsigned, PciInfo*);
  int (*DeviceGetNvLinkRemoteDeviceType)(Device, unsigned, int*);
  int (*DeviceGetP2PStatus)(Device, Device, int, int*);
  int (*DeviceGetGpuFabricInfoV)(Device, FabricInfo*);
};

template <typename F>
void Find(const SharedLibrary& library, const char* symbol, F& function) {
  function = reinterpret_cast<F>(library.Find(symbol));
}

Functions FindAll(const SharedLibrary& library) {
  Functions f{};
  Find(library, "nvmlInit_v2", f.Init);
  Find(library, "nvmlShutdown", f.Shutdown);
  Find(library, "nvmlErrorString", f.ErrorString);
  Find(library, "nvmlSystemGetDriverVersion", f.SystemGetDriverVersion);
  Find(library, "nvmlDeviceGetCount_v2", f.DeviceGetCount);
  Find(library, "nvmlDeviceGetHandleByIndex_v2", f.DeviceGetHandleByIndex);
  Find(library, "nvmlDeviceGetName", f.DeviceGetName);
  Find(library, "nvmlDeviceGetUUID", f.DeviceGetUUID);
  Find(library, "nvmlDeviceGetPciInfo_v3", f.DeviceGetPciInfo);
  Find(library, "nvmlDeviceGetCudaComputeCapability", f.DeviceGetCudaComputeCapability);
  Find(library, "nvmlDeviceGetCurrPcieLinkGeneration", f.DeviceGetCurrPcieLinkGeneration);
  Find(library, "nvmlDeviceGetCurrPcieLinkWidth", f.DeviceGetCurrPcieLinkWidth);
  Find(library, "nvmlDeviceGetMaxPcieLinkGeneration", f.DeviceGetMaxPcieLinkGeneration);
  Find(library, "nvmlDeviceGetMaxPcieLinkWidth", f.DeviceGetMaxPcieLinkWidth);
  Find(library, "nvmlDeviceGetFieldValues", f.DeviceGetFieldValues);
  Find(library, "nvmlDeviceGetNvLinkState", f.DeviceGetNvLinkState);
  Find(library, "nvmlDeviceGetNvLinkCapability", f.DeviceGetNvLinkCapability);
  Find(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", f.DeviceGetNvLinkRemotePciInfo);
  Find(library, "nvmlDeviceGetNvLinkRemoteDeviceType", f.DeviceGetNvLinkRemoteDeviceType);
  Find(library, "nvmlDeviceGetP2PStatus", f.DeviceGetP2PStatus);
  Find(library, "nvmlDeviceGetGpuFabricInfoV", f.DeviceGetGpuFabricInfoV);
  return f;
}

// A function that is missing answers as NVML does for one that it cannot find in the driver.
template <typename F, typename... Arguments>
int Call(F function, Arguments... arguments) {
  return function == nullptr ? kFunctionNotFound : function(arguments...);
}

long long ValueOf(const FieldValue& field) {
  switch (field.type) {
    case kDouble:
      return static_cast<long long>(field.as_double);
    case kUnsigned:
      return field.as_unsigned;
    case kUnsignedLong:
      return static_cast<long long>(field.as_unsigned_long);
    case kUnsignedLongLong:
      return static_cast<long long>(field.as_unsigned_long_long);
    case kLongLong:
      return field.as_long_long;
    case kInt:
      return field.as_int;
    case kUnsignedShort:
      return field.as_unsigned_short;
    default:
      return -1;
  }
}

// Hidden devices have a bus id of ones.
std::string BusIdOf(const PciInfo& info) {
  return NormalBusId(fmt::format("{:x}:{:x}:{:x}.0", info.domain, info.bus, info.device)).value_or("");
}

// Asks a started NVML.
class Reader {
 public:
  explicit Reader(const Functions& functions) : f_(functions) {}

  Result<NvmlFacts> Read() {
    NvmlFacts facts;
    facts.driver = Text(f_.SystemGetDriverVersion, "the driver's version");
    unsigned count = 0;
    if (const int result = Call(f_.DeviceGetCount, &count); result != kSuccess) {
      return Status(Code::kSystem, fmt::format("NVML does not say how many GPUs there are: {}", Why(result)));
    }
    std::vector<Device> devices(std::min(count, kMostGpus), nullptr);
    for (std::size_t i = 0; i < devices.size(); ++i) {
      facts.gpus.push_back({.index = static_cast<int>(i)});
      what_ = fmt::format("GPU {}", i);
      if (Said(Call(f_.DeviceGetHandleByIndex, static_cast<unsigned>(i), &devices[i]), "anything")) {
        ReadGpu(devices[i], facts.gpus.back());
      }
    }
    ReadP2p(devices, facts.p2p);
    facts.notes = notes_.Lines();
    return facts;
  }

 private:
  static constexpr unsigned kMostGpus = 256;

  std::string Why(int result) const {
    const char* text = f_.ErrorString == nullptr || result == kFunctionNotFound ? nullptr : f_.ErrorString(result);
    if (result == kFunctionNotFound) return "this driver has no function for it";
    return fmt::format("{} ({})", text == nullptr ? "an unknown error" : text, result);
  }
  // Whether a call has answered; a note where it has not.
  bool Said(int result, std::string_view fact) {
    if (result == kSuccess) return true;
    notes_.Add(fact, fmt::format("NVML does not say {} of {}: {}", fact, what_, Why(result)));
    return false;
  }
  // The same where a GPU may well have no such thing.
  bool SaidIfAny(int result, std::string_view fact) { return result != kNotSupported && Said(result, fact); }

  template <typename F, typename... Arguments>
  std::string Text(F function, std::string_view fact, Arguments... arguments) {
    char text[128] = {};
    if (!Said(Call(function, arguments..., text, static_cast<unsigned>(sizeof(text) - 1)), fact)) return "";
    return text;
  }
  // 0: not known. NVML writes ones for what it does not know.
  template <typename F>
  int Number(F function, Device device, std::string_view fact) {
    unsigned number = 0;
    return Said(Call(function, device, &number), fact) && number < 1024 ? static_cast<int>(number) : 0;
  }
  // Its code, and the value where that is kSuccess.
  std::pair<int, long long> Field(Device device, unsigned field, unsigned scope) {
    FieldValue value;
    value.field = field;
    value.scope = scope;
    value.result = kNotSupported;  // an old NVML leaves fields that it does not know as they are
    const int result = Call(f_.DeviceGetFieldValues, device, 1, &value);
    return {result != kSuccess ? result : value.result, ValueOf(value)};
  }

  void ReadGpu(Device device, NvmlGpu& gpu) {
    PciInfo pci{};
    if (Said(Call(f_.DeviceGetPciInfo, device, &pci), "the bus id")) gpu.bus_id = BusIdOf(pci);
    gpu.name = Text(f_.DeviceGetName, "the name", device);
    gpu.uuid = Text(f_.DeviceGetUUID, "the UUID", device);
    int major = 0, minor = 0;
    if (Said(Call(f_.DeviceGetCudaComputeCapability, device, &major, &minor), "the compute capability")) {
      gpu.sm = major * 10 + minor;
    }
    gpu.pcie = {.generation = Number(f_.DeviceGetCurrPcieLinkGeneration, device, "the PCIe generation"),
                .width = Number(f_.DeviceGetCurrPcieLinkWidth, device, "the PCIe width")};
    gpu.best = {.generation = Number(f_.DeviceGetMaxPcieLinkGeneration, device, "the best PCIe generation"),
                .width = Number(f_.DeviceGetMaxPcieLinkWidth, device, "the best PCIe width")};
    ReadNvLinks(device, gpu);
    ReadC2c(device, gpu.c2c);
    FabricInfo fabric{.version = kFabricInfoVersion};
    if (SaidIfAny(Call(f_.DeviceGetGpuFabricInfoV, device, &fabric), "the fabric") && fabric.state != 0) {
      gpu.fabric =
          Fabric{.clique = fabric.clique, .complete = fabric.state == kFabricComplete && fabric.status == kSuccess};
      std::ranges::copy(fabric.cluster, gpu.fabric->cluster.begin());
    }
  }

  void ReadNvLinks(Device device, NvmlGpu& gpu) {
    const std::string whole = what_;
    const auto [result, count] = Field(device, kNvLinkCount, 0);
    const bool counted = result == kSuccess && count >= 0;
    const unsigned most = counted ? static_cast<unsigned>(std::min<long long>(count, kMostNvLinks)) : kMostNvLinks;
    for (unsigned i = 0; i < most; ++i) {
      what_ = fmt::format("NVLink {} of {}", i, whole);
      NvLink link{.number = static_cast<int>(i)};
      const int answer = ReadState(device, i, link.state);
      // Where NVML does not count them, the first link that it does not know is behind the last one.
      if (!counted && (answer == kInvalidArgument || answer == kNotSupported || answer == kFunctionNotFound)) break;
      (void)Said(answer, "the state");
      if (link.state != NvLinkState::kDown) ReadEnd(device, i, link);
      gpu.nvlinks.push_back(std::move(link));
    }
    what_ = whole;
  }

  // NVML's code. The field tells more states than the call, which older drivers have only.
  int ReadState(Device device, unsigned number, NvLinkState& state) {
    const auto [result, value] = Field(device, kNvLinkState, number);
    if (result == kSuccess) {
      state = value == kStateDown        ? NvLinkState::kDown
              : value == kStateUp        ? NvLinkState::kUp
              : value == kStateAsleep    ? NvLinkState::kAsleep
              : value == kStateNoTraffic ? NvLinkState::kNoTraffic
                                         : NvLinkState::kUnknown;
      return kSuccess;
    }
    int active = 0;
    const int answer = Call(f_.DeviceGetNvLinkState, device, number, &active);
    if (answer == kSuccess) state = active != 0 ? NvLinkState::kUp : NvLinkState::kDown;
    return answer;
  }

  void ReadEnd(Device device, unsigned number, NvLink& link) {
    unsigned p2p = 1;
    if (Said(Call(f_.DeviceGetNvLinkCapability, device, number, kP2pCapability, &p2p), "the P2P capability")) {
      link.p2p = p2p != 0;
    }
    int type = -1;
    (void)Said(Call(f_.DeviceGetNvLinkRemoteDeviceType, device, number, &type), "the kind of the other end");
    link.end = type == kRemoteGpu      ? NvLinkEnd::kGpu
               : type == kRemoteIbmNpu ? NvLinkEnd::kCpu
               : type == kRemoteSwitch ? NvLinkEnd::kSwitch
                                       : NvLinkEnd::kUnknown;
    PciInfo pci{};
    const int result = Call(f_.DeviceGetNvLinkRemotePciInfo, device, number, &pci);
    // A virtual machine does not see its switches, and need not: they are all one.
    if (result == kSuccess) {
      link.bus_id = BusIdOf(pci);
    } else if (link.end != NvLinkEnd::kSwitch) {
      (void)Said(result, "the bus id of the other end");
    }
  }

  void ReadC2c(Device device, C2c& c2c) {
    const auto [result, count] = Field(device, kC2cCount, 0);
    if (!SaidIfAny(result, "the number of C2C links")) return;
    c2c.links = static_cast<int>(std::clamp<long long>(count, 0, kMostNvLinks));
    for (int i = 0; i < c2c.links; ++i) {
      const auto scope = static_cast<unsigned>(i);
      const auto [state_result, state] = Field(device, kC2cState, scope);
      if (!Said(state_result, "the state of a C2C link") || state != 1) continue;
      const auto [rate_result, mb_per_s] = Field(device, kC2cMbPerS, scope);
      if (!Said(rate_result, "the rate of a C2C link") || mb_per_s <= 0 || mb_per_s > 10'000'000) continue;
      ++c2c.links_up;
      c2c.mb_per_s = static_cast<int>(mb_per_s);
    }
  }

  void ReadP2p(const std::vector<Device>& devices, std::vector<P2p>& all) {
    const auto ask = [&](std::size_t from, std::size_t to, int right) {
      int status = -1;
      if (devices[from] == nullptr || devices[to] == nullptr) return P2pStatus::kUnknown;
      if (!Said(Call(f_.DeviceGetP2PStatus, devices[from], devices[to], right, &status), "the P2P status")) {
        return P2pStatus::kUnknown;
      }
      return status >= 0 && status < static_cast<int>(P2pStatus::kUnknown) ? static_cast<P2pStatus>(status)
                                                                           : P2pStatus::kUnknown;
    };
    for (std::size_t from = 0; from < devices.size(); ++from) {
      for (std::size_t to = from + 1; to < devices.size(); ++to) {
        what_ = fmt::format("GPUs {} and {}", from, to);
        all.push_back({.from = static_cast<int>(from),
                       .to = static_cast<int>(to),
                       .read = ask(from, to, kP2pRead),
                       .write = ask(from, to, kP2pWrite)});
      }
    }
  }

  const Functions& f_;
  Notes notes_;
  std::string what_ = "this host";  // of what is asked, for notes
};

}  // namespace

Result<NvmlFacts> ReadNvml(const std::string& name) {
  const Result<SharedLibrary> library = SharedLibrary::Open(name);
  if (!library.ok()) {
    return Status(
        library.status().code(),
        fmt::format(
            "NVIDIA's management library cannot be opened, which comes with the driver (in a container, with the "
            "utility capability): {}",
            library.status().message()));
  }
  const Functions functions = FindAll(*library);
  if (functions.Init == nullptr || functions.Shutdown == nullptr) {
    return Status(Code::kUnsupported, fmt::format("{} has no nvmlInit_v2 or no nvmlShutdown; is it NVIDIA's?", name));
  }
  if (const int result = functions.Init(); result != kSuccess) {
    const char* text = functions.ErrorString == nullptr ? nullptr : functions.ErrorString(result);
    return Status(result == kDriverNotLoaded ? Code::kUnsupported : Code::kSystem,
                  fmt::format("NVML does not start: {} ({}); does nvidia-smi run?",
                              text == nullptr ? "no reason" : text, result));
  }
  Result<NvmlFacts> facts = Reader(functions).Read();
  functions.Shutdown();
  return facts;
}

}  // namespace tutti::sys::cuda
