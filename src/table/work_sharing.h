#pragma once
/// Warp-cooperative work sharing (Ashkiani et al. 2018, section IV-A): each lane of a tile brings an
/// operation of its own, or none, and the whole tile serves them one after another, so that operations of
/// different kinds do not diverge and a bucket is always loaded by all lanes together. A host thread is a
/// tile of one lane, and serves itself.

#include "kmer/platform.h"
#include "table/tile.h"

namespace warpmer::table {

/// Calls `serve(request)` for the request of every lane that is active, in the order of lanes. All lanes call
/// it together, with the same request; what it returns, the same on all of them, becomes the answer of the
/// lane whose request it was. Lanes that brought none keep their answer. Requests and answers are copied byte
/// by byte.
template <SlabTile T, class Request, class Answer, class Serve>
WARPMER_HD void share_work(const T& tile, bool is_active, const Request& mine, Answer& answer,
                           Serve&& serve) {
  for (SlotMask queue = tile.ballot(is_active); queue != 0; queue &= queue - 1) {
    const int source = first_slot(queue);
    const Answer served = serve(tile.from_lane(mine, source));
    if (tile.lane() == source) answer = served;
  }
}

}  // namespace warpmer::table
