#pragma once
/// A folder for the files of a test, their bytes, and damage to these.

#include <stdlib.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

namespace warpmer::tests {

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);  // file systems that flush overwritten files make thousands of writes slow
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Returns bytes of which one is changed, in `bits` (1 to 255) of it.
inline std::string flipped(std::string bytes, std::size_t at, int bits) {
  bytes[at] = static_cast<char>(bytes[at] ^ bits);
  return bytes;
}

/// Empty at first, and removed with all that is in it.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& in = std::filesystem::temp_directory_path())
      : path_(in / "warpmer_test_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::runtime_error("no folder can be made in " + in.string());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    write_bytes(*this / name, bytes);
    return *this / name;
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::string path_;
};

/// The file of an index, in a folder of its own.
class TemporaryIndex {
 public:
  [[nodiscard]] std::string path() const { return folder_ / "index.wmi"; }

 private:
  ScratchFolder folder_;
};

}  // namespace warpmer::tests
