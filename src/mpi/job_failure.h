#pragma once
/// The form in which an exception is told: the kind of failure, and the sentence.

#include <exception>
#include <string>

#include "base/error.h"

namespace warpmer::mpi {

/// A failure that ends the job; of several ranks, the one that all have agreed upon.
struct JobFailure {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
  std::string place = {};  ///< the rank that failed, and its machine; empty for a single process
};

/// Returns the job_failure of anything that was thrown. An Error says it by itself; memory and threads that
/// the system does not grant are resources; anything else that comes up is a bug.
JobFailure job_failure_of(const std::exception_ptr& thrown);

}  // namespace warpmer::mpi
