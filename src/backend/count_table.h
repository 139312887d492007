#pragma once
/// The tables that a shard is counted in: the schemes of src/table, by the names under which a user asks for
/// them. All of them count the same; docs/algorithms.md says which does so how, and why the default is what
/// it is.

#include <cstdint>
#include <string>
#include <string_view>

namespace warpmer::backend {

enum class CountTable : std::uint8_t {
  automatic,  ///< the one that is fastest on the backend, for what is counted
  warpdrive,
  slab,
  bcht,
  iceberg,
  hashgraph,
};

/// E.g. "bcht".
std::string_view name_of(CountTable table);
/// Returns all names, in the order of the enumeration.
std::string count_table_names(std::string_view separator);
/// Returns the table with this name. UsageError, which lists the names, when there is none.
CountTable count_table_named(std::string_view name);

}  // namespace warpmer::backend
