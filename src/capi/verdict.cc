// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What holds a communicator up, for programs that go on without some ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "capi/error.h"
#include "capi/handle.h"
#include "comm/host/queue.h"
#include "comm/host/standing.h"

namespace tutti::capi {
namespace {

Status Verdict(const ncclComm* handle, char* sentence, std::size_t sentence_bytes, int* ranks, int* rank_count) {
  if (rank_count == nullptr) return InvalidArgument("the pointer for the number of ranks is NULL");
  if (*rank_count < 0) return InvalidArgument(fmt::format("there is no room for {} ranks", *rank_count));
  if (sentence == nullptr && sentence_bytes > 0)
    return InvalidArgument("the sentence is NULL, and its length is not 0");
  if (ranks == nullptr && *rank_count > 0) return InvalidArgument("the list of ranks is NULL, and its length is not 0");
  TUTTI_RETURN_IF_ERROR(CheckSettled(handle));
  const Communicator::Impl* facts = handle->queue == nullptr ? nullptr : handle->queue->facts();
  const StandingVerdict standing = facts == nullptr ? StandingVerdict() : comm::WhatStands(*facts);
  if (sentence_bytes > 0) {
    const std::size_t bytes = std::min(standing.sentence.size(), sentence_bytes - 1);
    std::memcpy(sentence, standing.sentence.data(), bytes);
    sentence[bytes] = 0;
  }
  const std::size_t room = static_cast<std::size_t>(*rank_count);
  std::copy_n(standing.exclude.begin(), std::min(room, standing.exclude.size()), ranks);
  *rank_count = static_cast<int>(standing.exclude.size());
  return Status::Ok();
}

}  // namespace
}  // namespace tutti::capi

using namespace tutti::capi;  // NOLINT: the function below is C's

TUTTI_NCCL_API(ncclResult_t, ncclTuttiVerdict,
               (ncclComm_t comm, char* sentence, size_t sentenceBytes, int* ranks, int* rankCount)) {
  return Call("ncclTuttiVerdict", [&] { return Verdict(comm, sentence, sentenceBytes, ranks, rankCount); });
}
