#pragma once

#include <string>

/// The folder that this source tree was built from. It is known to main.cpp alone, so that no other object
/// depends on where the tree is and a compiler cache has them for every checkout.
std::string source_tree();
