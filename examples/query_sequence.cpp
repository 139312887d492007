/// Prints, for each sequence, how many of its k-mers an index holds, and their median count.
///
///     query_sequence INDEX.wmi SEQUENCE...

#include <warpmer/warpmer.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <vector>

namespace {

void print_answer(const warpmer::Index& index, std::string_view sequence) {
  // One number for each position; positions at an N have no k-mer.
  std::vector<std::uint64_t> counts = index.counts_in(sequence);
  std::erase(counts, warpmer::Index::kNoKmer);
  const auto missing = std::count(counts.begin(), counts.end(), std::uint64_t{0});
  std::cout << counts.size() << " k-mers, " << std::ssize(counts) - missing << " found";
  if (!counts.empty()) {
    const auto middle = counts.begin() + (std::ssize(counts) - 1) / 2;
    std::nth_element(counts.begin(), middle, counts.end());
    std::cout << ", median count " << *middle;
  }
  std::cout << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: query_sequence INDEX.wmi SEQUENCE...\n";
    return 2;
  }
  try {
    const warpmer::Index index(argv[1]);
    for (int i = 2; i < argc; ++i) print_answer(index, argv[i]);
    return EXIT_SUCCESS;
  } catch (const warpmer::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
