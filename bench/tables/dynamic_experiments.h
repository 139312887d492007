#pragma once
/// Experiments on tables that change while they are used (Ashkiani et al. 2018): batches of insertions
/// against rebuilding (section VI-B), operations of different kinds side by side (VI-C), and SlabAlloc (V).

#include <cstddef>
#include <vector>

#include "tables/experiment.h"

namespace warpmer::bench {

/// Inserts all pairs, `batch` of them at a time, into one table whose load is `load` at the end; rates are
/// over all insertions so far, after some of the batches. Emptying the table is not timed.
std::vector<Row> run_batches(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, double load,
                             std::size_t batch, const Method& method);

/// Does the same with tables that cannot grow: after each batch a table of this load is emptied and built of
/// all pairs so far, and both are timed. This is done once; the first batch is done twice, to warm up.
std::vector<Row> run_rebuilds(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, double load,
                              std::size_t batch, const Method& method);

/// Builds a table of this load of all (unique) pairs and does as many operations on it, a quarter at a time;
/// the first quarter warms up.
Row run_mix(Workbench& bench, const TableEntry& entry, const KeyPlan& keys, double load, const Mix& mix,
            const Method& method);

/// Takes `requests` units and gives them back, as often as the method has builds.
Row run_allocations(Workbench& bench, const AllocatorEntry& entry, std::size_t requests,
                    const Method& method);

}  // namespace warpmer::bench
