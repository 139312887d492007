#pragma once
/// The library throws the four kinds of errors and nothing else.

#include <exception>
#include <utility>

#include "base/error.h"
#include "mpi/job_failure.h"

namespace warpmer::library {

/// Throws what stands for an exception: itself, if it is an Error; else what the program would report.
[[noreturn]] inline void rethrow_as_error(const std::exception_ptr& thrown) {
  const mpi::JobFailure job_failure = mpi::job_failure_of(thrown);
  switch (job_failure.kind) {
    case ErrorKind::usage:
      throw UsageError(job_failure.message);
    case ErrorKind::input:
      throw InputError(job_failure.message);
    case ErrorKind::resource:
      throw ResourceError(job_failure.message);
    case ErrorKind::internal:
      break;
  }
  throw InternalError(job_failure.message);
}

/// Returns what `work` returns. Whatever it throws is thrown as an Error.
template <class Work>
auto with_errors(Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (...) {
    rethrow_as_error(std::current_exception());
  }
}

}  // namespace warpmer::library
