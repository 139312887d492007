// The CPU as the device: moving a child is a copy.

#include <cstring>
#include <vector>

#include "starfish/bench_body.h"
#include "starfish/host_children.h"
#include "tables/host_threads.h"
#include "tables/table_lists.h"

namespace warpmer::bench {
namespace {

struct Host {
  using PagedTable = table::PagedTable<HostChildren<table::Key32>>;
  template <class T>
  using Memory = std::vector<T>;
  template <class T>
  using HostMemory = std::vector<T>;
  template <class T>
  static void copy(T* to, const T* from, std::size_t n) {
    std::memcpy(to, from, n * sizeof(T));
  }
  static void wait() {}
  static std::vector<TableEntry> tables() { return host_tables(); }
};

}  // namespace

std::unique_ptr<StarfishBench> make_host_starfish(const StarfishSetting& setting) {
  use_host_threads(1);  // as many as a paged table has there
  return std::make_unique<StarfishBenchOn<Host>>(setting, "cpu");
}

}  // namespace warpmer::bench
