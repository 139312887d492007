#pragma once
/// What looks up the k-mers of a batch on the CPU, in whatever.

#include <memory>

#include "backend/lookup.h"

namespace warpmer::cpu {

/// Has scratch memory, and is used by one thread at a time.
class Finder {
 public:
  virtual ~Finder() = default;
  /// Fills in `out`, which is laid out.
  virtual void profile(const io::Batch& batch, backend::Profile& out) = 0;
};

/// What finders share; outlives them.
class FinderSource {
 public:
  virtual ~FinderSource() = default;
  /// Thread-safe.
  [[nodiscard]] virtual std::unique_ptr<Finder> make() const = 0;
};

}  // namespace warpmer::cpu
