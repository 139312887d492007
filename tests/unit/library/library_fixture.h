#pragma once
/// Inputs that tests of the public library count.

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace warpmer::tests {

/// An empty folder, removed in the end.
struct LibraryFolder {
  LibraryFolder() : path((std::filesystem::temp_directory_path() / "warpmer_library.XXXXXX").string()) {
    REQUIRE(mkdtemp(path.data()) != nullptr);
  }
  LibraryFolder(const LibraryFolder&) = delete;
  LibraryFolder& operator=(const LibraryFolder&) = delete;
  ~LibraryFolder() { std::filesystem::remove_all(path); }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(*this / name) << text;
    return *this / name;
  }
  [[nodiscard]] std::string fasta(const std::string& name, const std::string& bases) const {
    return write(name, ">one\n" + bases + "\n");
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator());
  }

  std::string path;
};

inline std::string library_bases(std::size_t length, unsigned seed) {
  std::mt19937 random(seed);
  std::string bases(length, 'A');
  for (char& base : bases) base = "ACGT"[random() & 3];
  return bases;
}

}  // namespace warpmer::tests
