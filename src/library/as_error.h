#pragma once
/// The library throws the four kinds of errors and nothing else.

#include <exception>
#include <utility>

#include "base/error.h"
#include "mpi/verdict.h"

namespace warpmer::library {

/// Throws what stands for an exception: itself, if it is an Error; else what the program would report.
[[noreturn]] inline void rethrow_as_error(const std::exception_ptr& thrown) {
  const mpi::Verdict verdict = mpi::verdict_of(thrown);
  switch (verdict.kind) {
    case ErrorKind::usage:
      throw UsageError(verdict.message);
    case ErrorKind::input:
      throw InputError(verdict.message);
    case ErrorKind::resource:
      throw ResourceError(verdict.message);
    case ErrorKind::internal:
      break;
  }
  throw InternalError(verdict.message);
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
