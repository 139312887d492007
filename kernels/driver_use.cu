#include "core/gate.h"
#include "driver_use.cuh"

namespace warpmer::gpu {

namespace {

Gate& driver_gate() {
  static Gate of_process;
  return of_process;
}

/// Of this thread: what it is inside of, DriverAlone among it.
thread_local unsigned uses_of_thread = 0;

}  // namespace

DriverUse::DriverUse(cudaStream_t stream) : stream_(stream) {
  if (uses_of_thread++ == 0) driver_gate().go_in();
}
DriverUse::~DriverUse() {
  if (--uses_of_thread == 0) driver_gate().go_out();
}

DriverAlone::DriverAlone() {
  driver_gate().close();
  ++uses_of_thread;
}
DriverAlone::~DriverAlone() {
  --uses_of_thread;
  driver_gate().open();
}

}  // namespace warpmer::gpu
