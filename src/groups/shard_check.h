#pragma once
/// Checks that the bits of a shard from a file are a shard. Checksums tell that nothing changed them, not who
/// wrote them.

#include <cstdint>
#include <optional>
#include <string>

#include "groups/group_shape.h"
#include "groups/shard_bits.h"
#include "groups/shard_layout.h"

namespace warpmer::groups {

/// Returns what is wrong with a shard, as a clause ("bucket 12 has a string of no length"), or
/// nothing. `words` are the `sizes.words` words of the payload, with kReadAheadWords readable ones behind
/// them, `lengths` is a make_length_table.
///
/// After it has returned nothing, ShardBits, for_each_group and find_super_kmer may be used with any query:
/// - offsets rise from 0 to the end of the payload, every part ends where the next one begins, and what is
///   left of words is zero;
/// - groups are within the range of their bucket, each there once, and each has 1 to kMostInlineStrings
///   strings, or one record with more; records are in the order of their groups, each used once;
/// - lengths name strings, codes of numbers are whole, counts are 1 to 2^64 - 1;
/// - a record's marks, layers and orders are what its strings make them;
/// - no k-mer stands twice in a group;
/// - numbers of k-mers, groups, buckets and large groups are those of the sizes, and so are widths;
/// - a group has less than 2^32 k-mers.
///
/// Not checked, because no reader goes wrong for it: that k-mers belong to their group, and the group to this
/// shard; that strings are the path cover of their k-mers; that strings and groups stand in their order; that
/// a string's smallest count and width are the least that do. Sums of counts may exceed 64 bits.
///
/// It takes time for each string, of groups of several for each pair of them, and of large groups for each
/// k-mer; and memory for the strings of one bucket.
[[nodiscard]] std::optional<std::string> find_shard_fault(const GroupShape& shape, const ShardSizes& sizes,
                                                          const std::uint64_t* words,
                                                          const FlankLengths* lengths);

}  // namespace warpmer::groups
