#pragma once
/// Typed errors. Library code throws them; only `cli` prints them and turns them into exit codes. They are
/// part of the public library, so their definitions stand there.

#include "warpmer/error.h"  // IWYU pragma: export
