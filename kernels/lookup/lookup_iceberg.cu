#include "kernels/lookup/lookup_table_on_device.cuh"

namespace warpmer::gpu {

std::unique_ptr<DeviceIndex> build_iceberg(const index::IndexFile& index,
                                           const table::LookupTablePlan& plan) {
  return build_table<table::IcebergLookup>(index, plan);
}

}  // namespace warpmer::gpu
