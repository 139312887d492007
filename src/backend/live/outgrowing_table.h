#pragma once
/// A live table that gives its place to another when it is full.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backend/live/initial_kmers.h"
#include "backend/live/live_table.h"
#include "kmer/kmer.h"

namespace warpmer::backend {

/// Says what comes after a table that is full.
struct LargerTable {
  std::string name;  ///< what it is called, in a few words
  /// ResourceError, which says why, when there would be no room for so many k-mers beside so many bytes of
  /// the host's memory.
  std::function<void(std::uint64_t kmers, std::uint64_t kept_bytes)> check_room;
  /// Makes it, when the one before is no more. The k-mers that it begins with do not stay.
  std::function<std::unique_ptr<LiveTable>(const InitialKmers&)> make;
  /// Makes the one before again.
  std::function<std::unique_ptr<LiveTable>(const InitialKmers&)> remake;
};

/// The addition for which the table has no room (LiveTableFull) puts the larger one in its place, and is then
/// made there: k-mers are frozen in the host's memory meanwhile. Other changes wait for it. Questions wait
/// only while the larger one is made of what was frozen. Warns once when that has happened, on the thread of
/// the addition.
///
/// When the larger table cannot be made, the one before stays, or is made again, and is full; it then says
/// why. If neither can be made any more, all calls end by a ResourceError.
std::unique_ptr<LiveTable> make_outgrowing_table(std::unique_ptr<LiveTable> table, LargerTable larger,
                                                 const KmerParams& kmers, unsigned threads);

}  // namespace warpmer::backend
