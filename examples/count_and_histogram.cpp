/// Counts the k-mers of some files into an index, and prints its histogram: how many distinct k-mers occur
/// how often.
///
///     count_and_histogram K OUTPUT.wmi INPUT...

#include <warpmer/warpmer.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

int run(unsigned k, const std::string& output, const std::vector<std::string>& inputs) {
  warpmer::CountOptions options;
  options.k = k;
  options.memory_bytes = std::uint64_t{1} << 30;  // a hard cap on this process
  options.warning_listener = [](const std::string& message) { std::cerr << "warning: " << message << '\n'; };
  const warpmer::Totals totals = warpmer::count(inputs, options, output);
  std::cerr << totals.counted_kmers << " k-mers, " << totals.counted_distinct << " distinct, of "
            << totals.sequences << " sequences\n";

  const warpmer::Index index(output);
  for (const warpmer::HistogramRow& row : index.histogram())
    std::cout << row.count << ' ' << row.kmers << '\n';
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: count_and_histogram K OUTPUT.wmi INPUT...\n";
    return 2;
  }
  try {
    return run(static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)), argv[2], {argv + 3, argv + argc});
  } catch (const warpmer::InputError& error) {  // a file is missing or damaged
    std::cerr << error.what() << '\n';
    return 3;
  } catch (const warpmer::Error& error) {  // the other three kinds
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
