#include "mpi/job_failure.h"

#include <new>
#include <system_error>

namespace warpmer::mpi {

JobFailure job_failure_of(const std::exception_ptr& thrown) {
  constexpr const char* kBug = "; this is a bug in warpmer, please report it";
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorKind::resource,
            "out of memory; a smaller -m makes warpmer use less, or run it where there is more"};
  } catch (const std::system_error& error) {
    return {ErrorKind::resource, error.what()};
  } catch (const std::exception& error) {
    return {ErrorKind::internal, error.what() + std::string(kBug)};
  } catch (...) {
    return {ErrorKind::internal, std::string("unknown exception") + kBug};
  }
}

}  // namespace warpmer::mpi
