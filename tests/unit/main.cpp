// The one main of the unit tests; every other file in this folder holds test cases only.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "unit/source_tree.h"

std::string source_tree() { return WARPMER_SOURCE_DIR; }
