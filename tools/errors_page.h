// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_ERRORS_PAGE_H_
#define TUTTI_TOOLS_ERRORS_PAGE_H_

#include <string_view>

namespace tutti::tools {

// docs/errors.md, as it was when this was built.
std::string_view ErrorsPage();

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_ERRORS_PAGE_H_
