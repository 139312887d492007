#pragma once
/// For sinks whose k-mers must come in an order: each has a place in it.

#include <fmt/format.h>

#include "base/error.h"
#include "formats/stream/kmer_stream.h"

namespace warpmer::formats {

/// Notes the next k-mer of `to`. `output` is how the InternalError calls what is written.
inline void note_place(Key128 place, EncodedKmers& to, const char* output) {
  if (to.kmers == 0) {
    to.first = place;
  } else if (place <= to.last) {
    throw InternalError(fmt::format("k-mers for {} came out of order", output));
  }
  to.last = place;
  ++to.kmers;
}

/// The end of what has been appended.
class AppendedEnd {
 public:
  /// InternalError unless the k-mers are behind all before them.
  void note(const EncodedKmers& encoded, const char* output) {
    if (encoded.kmers == 0) return;
    if (!is_empty_ && encoded.first <= last_)
      throw InternalError(fmt::format("k-mers for {} came out of order", output));
    last_ = encoded.last;
    is_empty_ = false;
  }

 private:
  Key128 last_ = 0;
  bool is_empty_ = true;
};

}  // namespace warpmer::formats
