#include "file/first_bytes.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>

#include "file/input_error.h"

namespace warpmer::file {

std::string first_bytes(const std::string& path, std::size_t size) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_opening(path, errno);
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (file.bad()) fail_at({path}, fmt::format("cannot be read: {}", system_message(errno)));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

}  // namespace warpmer::file
