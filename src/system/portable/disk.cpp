#include "system/disk.h"

namespace warpmer::system {

void begin_writing(int /*descriptor*/) noexcept {}

}  // namespace warpmer::system
