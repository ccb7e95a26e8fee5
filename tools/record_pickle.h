// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_PICKLE_H_
#define TUTTI_TOOLS_RECORD_PICKLE_H_

#include <string>

#include "tools/json.h"

namespace tutti::tools {

// A value as Python's pickle.load reads it, in protocol 2: dict, list, str, int, float, bool and None, so that nothing has to be
// imported for it. Numbers are whole up to 64 bits, and floats of 64 bits. REQUIRES: texts are UTF-8. Pure; any thread.
std::string Pickle(const Json& value);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_PICKLE_H_
