/// Prints the k-mers of an index that occur at least so often, with their counts, in the order of the index.
///
///     list_kmers INDEX.wmi [MIN_COUNT]

#include <warpmer/warpmer.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: list_kmers INDEX.wmi [MIN_COUNT]\n";
    return 2;
  }
  const std::uint64_t min_count = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 1;
  try {
    const warpmer::Index index(argv[1]);
    std::cerr << index.totals().stored_distinct << " k-mers of " << index.k() << " bases\n";
    index.for_each([&](std::string_view kmer, std::uint64_t count) {
      if (count >= min_count) std::cout << kmer << '\t' << count << '\n';
    });
    return std::cout.flush() ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const warpmer::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
