#include "backend/count_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace warpmer::backend {

namespace {
/// The names, by number of the enumerator.
constexpr std::array<std::string_view, kCountTables.size()> kNames = {"auto",
#define WARPMER_ENTRY(name) #name,
                                                                      WARPMER_COUNT_SCHEMES(WARPMER_ENTRY)
#undef WARPMER_ENTRY
                                                                          "hashgraph"};
}  // namespace

std::string_view name_of(CountTable table) { return kNames[static_cast<std::size_t>(table)]; }

std::string count_table_names(std::string_view separator) {
  return fmt::format("{}", fmt::join(kNames, separator));
}

CountTable count_table_named(std::string_view name) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  if (at == kNames.end())
    throw UsageError(fmt::format("--table {}: choose {}", name, count_table_names(", ")));
  return static_cast<CountTable>(at - kNames.begin());
}

}  // namespace warpmer::backend
