// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/agree/gpu_bus_id.h"

#include <fmt/format.h>

namespace tutti::comm {

std::string BusIdOf(const sys::cuda::Driver& driver, sys::cuda::Device device) {
  int domain = 0, bus = 0, number = 0;
  if (driver.DeviceGetAttribute(&domain, sys::cuda::kPciDomain, device) != 0) return "";
  if (driver.DeviceGetAttribute(&bus, sys::cuda::kPciBus, device) != 0) return "";
  if (driver.DeviceGetAttribute(&number, sys::cuda::kPciDevice, device) != 0) return "";
  return fmt::format("{:04x}:{:02x}:{:02x}.0", domain, bus, number);
}

std::string GpuBusId(const Settings& settings, int device) {
  if (device < 0 || !settings.gpu) return "";
  const Result<const sys::cuda::Driver*> driver = sys::cuda::OpenDriver();
  return driver.ok() ? BusIdOf(**driver, device) : "";
}

}  // namespace tutti::comm
