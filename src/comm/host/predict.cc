// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/predict.h"

#include <algorithm>

#include "comm/host/size_class.h"
#include "tune/chooser.h"

namespace tutti::comm {

using Kind = Collective;

Transferred MostTransferred(std::span<const Operation> operations) {
  std::size_t sent = 0, received = 0;
  Transferred most;
  for (const Operation& o : operations) {
    if (!IsTransfer(o.kind)) continue;
    const std::size_t bytes = o.count * SizeOf(o.type);
    (o.kind == Kind::kSend ? sent : received) += bytes;
    most.largest = std::max(most.largest, bytes);
  }
  most.bytes = std::max(sent, received);
  return most;
}

Result<tune::Choice> ChooseForClass(tune::Chooser& chooser, Collective collective, std::size_t bytes) {
  const std::size_t smallest = SmallestOfClass(SizeClass(bytes));
  if (collective == Kind::kSendRecv) return chooser.ChooseTransfer(smallest);
  return chooser.Choose(collective, smallest);
}

Result<double> PredictGroupUs(tune::Chooser& chooser, std::span<const Operation> operations, const ChooseWay& choose) {
  double us = 0;
  for (const Operation& o : operations) {
    if (IsTransfer(o.kind) || (o.count == 0 && o.kind != Kind::kBarrier)) continue;
    const std::size_t bytes = o.count * SizeOf(o.type);
    const Result<tune::Choice> way = choose ? choose(o.kind, bytes) : ChooseForClass(chooser, o.kind, bytes);
    if (!way.ok()) return way.status();
    us += chooser.PredictUs(*way, o.kind, bytes);
  }
  const Transferred transfers = MostTransferred(operations);
  if (transfers.bytes == 0) return us;
  const tune::Choice way = *ChooseForClass(chooser, Kind::kSendRecv, transfers.largest);
  return us + chooser.PredictUs(way, Kind::kSendRecv, transfers.bytes);
}

}  // namespace tutti::comm
