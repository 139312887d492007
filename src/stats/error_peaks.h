#pragma once
/// Peaks that errors make where a small genome is covered a thousand times and more: a virus, a plasmid, an
/// amplicon.

#include <cstdint>

#include "stats/smooth_spectrum.h"

namespace warpmer::stats {

/// Takes peaks of errors out of `turns`, and moves its valley to the one behind them.
///
/// A genome of n k-mers has 3 k n neighbours with one wrong base. With a coverage of c and a rate of e errors
/// a base, each is read c e / 3 times on average: where that is 4 and more, these are a peak of their own, of
/// far more distinct k-mers than the genome, and at 3 / e times smaller a count.
void pass_error_peaks(const SmoothSpectrum& spectrum, std::uint32_t k, Turns& turns);

}  // namespace warpmer::stats
