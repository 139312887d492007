#pragma once
/// Runs the table experiments on the CPU's cores.

#include <cstddef>
#include <functional>

namespace warpmer::bench {

/// Sets the number of threads that the experiments use; it is called once, before there are tables.
void use_host_threads(unsigned threads);
[[nodiscard]] unsigned host_threads();

/// Calls `work(first, end)` for adjacent parts of 0 to `size`, one on each thread, and waits.
void on_host_threads(std::size_t size, const std::function<void(std::size_t, std::size_t)>& work);

/// Calls `work(i)` for every number below `size`, on all threads, and waits.
template <class Work>
void for_each_on_host_threads(std::size_t size, const Work& work) {
  on_host_threads(size, [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) work(i);
  });
}

}  // namespace warpmer::bench
