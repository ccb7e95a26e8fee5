// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TUNE_SHIPPED_MACHINES_H_
#define TUTTI_TUNE_SHIPPED_MACHINES_H_

#include <span>
#include <string_view>

namespace tutti::tune {

// The texts of the tables in machines/, in the order of machines.cmake, which writes this function's source from them.
std::span<const std::string_view> ShippedMachines();

}  // namespace tutti::tune

#endif  // TUTTI_TUNE_SHIPPED_MACHINES_H_
