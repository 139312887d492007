#include "mpi/group_qualities.h"

#include <utility>

#include "mpi/process_group.h"

namespace warpmer::mpi {

void warn_of_phred64(ProcessGroup& ranks, const std::shared_ptr<io::QualityWatch>& watch) {
  if (!watch) return;
  if (ranks.are_several()) {
    Message own;
    if (!ranks.is_first()) {
      for (const auto& [file, range] : watch->files()) {
        put_text(own, file);
        put_plain(own, range);
      }
    }
    for (const Message& message : ranks.gather(std::move(own))) {
      MessageReader reader(message);
      while (!reader.is_at_end()) {
        const std::string file(reader.text());
        watch->note(file, reader.plain<io::QualityRange>());
      }
    }
  }
  if (ranks.is_first()) io::warn_of_phred64(watch);
}

}  // namespace warpmer::mpi
