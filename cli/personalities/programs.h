#pragma once
/// Every program: each function is one of the table of personality.cpp.

namespace warpmer::cli {

struct NamedCall;

int run_kmc(const NamedCall& call);
int run_kmc_dump(const NamedCall& call);
int run_kmc_tools(const NamedCall& call);
int run_jellyfish(const NamedCall& call);
int run_fastk(const NamedCall& call);
int run_histex(const NamedCall& call);
int run_tabex(const NamedCall& call);
int run_fastmerge(const NamedCall& call);
int run_fastrm(const NamedCall& call);
int run_fastmv(const NamedCall& call);
int run_yak(const NamedCall& call);

}  // namespace warpmer::cli
