#pragma once
/// Comparing super-k-mers.

#include "groups/flanked_kmer.h"

namespace warpmer::tests {

/// Returns whether two super-k-mers are the same, but for their minimizers, which words do not have.
template <class Flanks>
bool have_equal_flanks(const groups::FlankedSuperKmer<Flanks>& a, const groups::FlankedSuperKmer<Flanks>& b) {
  return a.left_bases == b.left_bases && a.right_bases == b.right_bases && a.left == b.left &&
         a.right == b.right;
}

}  // namespace warpmer::tests
