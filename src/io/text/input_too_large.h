#pragma once
/// The error for one input that takes more memory than -m leaves for it.

#include "base/error.h"

namespace warpmer::io {

/// A record, or what decoding a file takes, is larger than -m allows. It concerns this input alone: a job may
/// go on without it.
struct InputTooLarge : ResourceError {
  using ResourceError::ResourceError;
};

}  // namespace warpmer::io
