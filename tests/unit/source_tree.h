#pragma once

#include <string>

/// Returns the folder of the source tree from which this was built. Only main.cpp knows it, so that no other
/// object depends on the place of the tree, and a compiler cache has them for every checkout.
std::string source_tree();
