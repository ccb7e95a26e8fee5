// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// For builds without libfabric's headers.
#include "transport/net/fabric/fabric.h"

namespace tutti::transport::net::fabric {

Result<std::shared_ptr<plugin::NetPlugin>> Open(const Options&) {
  return Status(Code::kUnsupported,
                "this build of Tutti has no part for libfabric, as its headers were not there; install libfabric-dev "
                "(libfabric-devel on Red Hat and SUSE) and build again");
}

}  // namespace tutti::transport::net::fabric
