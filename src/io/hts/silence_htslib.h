#pragma once
/// htslib without its messages.

#include <htslib/hts_log.h>

namespace warpmer::io {

/// To be called before htslib is, and before any thread of its is there: it prints to standard error, and its
/// return values say enough.
inline void silence_htslib() {
  static const bool is_silent = [] {
    hts_set_log_level(HTS_LOG_OFF);
    return true;
  }();
  static_cast<void>(is_silent);
}

}  // namespace warpmer::io
