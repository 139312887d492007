#include "base/error.h"
#include "kernels/lookup/lookup_table.cuh"
#include "kernels/upload/frozen_shards.cuh"

namespace warpmer::gpu {

namespace {

using backend::LookupTable;

template <template <class> class Lookup>
std::uint64_t slot_bytes(const index::IndexFile& index, const table::LookupTablePlan& plan) {
  return with_key_type(index.params().k, [&]<class Key>(Key) {
    return table::lookup_slot_bytes<Lookup<Key>, Key>(index.totals().stored_distinct, plan);
  });
}

}  // namespace

LookupTableBytes lookup_table_bytes(const index::IndexFile& index, LookupTable table,
                                    const table::LookupTablePlan& plan) {
  const std::uint64_t slots = table == LookupTable::bcht ? slot_bytes<table::BchtLookup>(index, plan)
                                                         : slot_bytes<table::IcebergLookup>(index, plan);
  return {slots, slots + frozen_shards_bytes(index)};
}

std::unique_ptr<DeviceIndex> build_lookup_table(const index::IndexFile& index, LookupTable table,
                                                const table::LookupTablePlan& plan) {
  switch (table) {
    case LookupTable::bcht:
      return build_bcht(index, plan);
    case LookupTable::iceberg:
      return build_iceberg(index, plan);
    case LookupTable::automatic:
    case LookupTable::index:
      break;
  }
  throw InternalError("a lookup table of no scheme was asked for");
}

}  // namespace warpmer::gpu
