#include "system/disk.h"

#include <fcntl.h>

namespace warpmer::system {

void begin_writing(int descriptor) noexcept {
  ::sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);  // all of it
}

}  // namespace warpmer::system
