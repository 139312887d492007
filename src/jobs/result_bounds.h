#pragma once
/// Counts that the result of a set operation can have.

#include <span>

#include "backend/indexes/set_session.h"

namespace warpmer::jobs {

/// Returns the bounds of the counts that an operation's result can have, where those of each input's k-mers
/// are within `inputs`, one for each; nothing narrower can be promised, but of differences sometimes. Where
/// nothing is filtered, in the inputs or in the result, these are all counts, as in any index that nothing
/// was left out of.
[[nodiscard]] backend::CountBounds result_bounds(const backend::SetPlan& plan,
                                                 std::span<const backend::CountBounds> inputs);

}  // namespace warpmer::jobs
