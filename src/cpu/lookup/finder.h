#pragma once
/// Finders look up the k-mers of a batch on the CPU.

#include "backend/lookup/lookup.h"

namespace warpmer::cpu {

/// Has scratch memory, and is used by one thread at a time.
class Finder {
 public:
  virtual ~Finder() = default;
  /// Fills in the narrow counts of `out`, which is laid out. Returns whether Profile::kLargeCount is among
  /// them.
  virtual bool profile(const io::Batch& batch, backend::Profile& out) = 0;
};

}  // namespace warpmer::cpu
