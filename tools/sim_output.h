// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_SIM_OUTPUT_H_
#define TUTTI_TOOLS_SIM_OUTPUT_H_

// What the parts of `tutti sim` print alike.

#include <functional>
#include <string>
#include <string_view>

#include "tutti/status.h"

namespace tutti::sim {
struct Way;
}  // namespace tutti::sim

namespace tutti::tools {

struct SimCase;

// Prints "# 16 ranks on 2 hosts, HGX H100", and what is slow.
void PrintCase(const SimCase& which);

// "ring LL128, 8 channels".
std::string NameOf(const sim::Way& way);

// Writes to a file what `fill` hands to the function that it is given. Fails with a sentence that names the file.
Status WriteBy(const std::string& path,
               const std::function<Status(const std::function<void(std::string_view)>&)>& fill);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_SIM_OUTPUT_H_
