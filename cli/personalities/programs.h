#pragma once
/// Every program: each function is one of the table of personality.cpp.

namespace warpmer::cli {

struct NamedCall;

int run_kmc(const NamedCall& call);
int run_kmc_dump(const NamedCall& call);
int run_kmc_tools(const NamedCall& call);
int run_jellyfish(const NamedCall& call);

}  // namespace warpmer::cli
