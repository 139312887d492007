#pragma once
/// The tables that a shard is counted in, by the names under which a user asks for them. All of them count
/// the same; docs/algorithms.md says which does so how, and why the default is what it is.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// The schemes of src/table, in the order in which users see them: the one list of them. Each has a source on
/// the CPU (src/cpu/tables/NAME.cpp) and one on GPUs (kernels/count/count_NAME.cu); a missing one does not
/// link.
#define WARPMER_COUNT_SCHEMES(ENTRY) \
  ENTRY(warpdrive)                   \
  ENTRY(slab)                        \
  ENTRY(bcht)                        \
  ENTRY(iceberg)

namespace warpmer::backend {

enum class CountTable : std::uint8_t {
  automatic,  ///< the one that is fastest on the backend, for what is counted
#define WARPMER_ENTRY(name) name,
  WARPMER_COUNT_SCHEMES(WARPMER_ENTRY)
#undef WARPMER_ENTRY
      hashgraph,
};

/// All of them, in the order of the enumeration.
inline constexpr std::array kCountTables = {CountTable::automatic,
#define WARPMER_ENTRY(name) CountTable::name,
                                            WARPMER_COUNT_SCHEMES(WARPMER_ENTRY)
#undef WARPMER_ENTRY
                                                CountTable::hashgraph};

/// E.g. "bcht".
std::string_view name_of(CountTable table);
/// Returns all names, in the order of the enumeration.
std::string count_table_names(std::string_view separator);
/// Returns the table with this name. UsageError, which lists the names, when there is none.
CountTable count_table_named(std::string_view name);

}  // namespace warpmer::backend
