#pragma once
/// Inputs that tests of the public library count.

#include <cstddef>
#include <random>
#include <string>

#include "random_text.h"
#include "scratch_folder.h"

namespace warpmer::tests {

struct LibraryFolder : ScratchFolder {
  [[nodiscard]] std::string fasta(const std::string& name, const std::string& bases) const {
    return write(name, ">one\n" + bases + "\n");
  }
};

/// Changes the byte in the middle of a file.
inline void damage(const std::string& path) {
  const std::string bytes = read_bytes(path);
  write_bytes(path, flipped(bytes, bytes.size() / 2, 0x10));
}

inline std::string library_bases(std::size_t length, unsigned seed) {
  std::mt19937 random(seed);
  return random_text(random, length);
}

}  // namespace warpmer::tests
