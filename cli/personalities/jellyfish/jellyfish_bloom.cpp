/// `jellyfish bc`: makes a Bloom counter, by which `jellyfish count --bc` leaves out what occurs once.

#include "formats/jellyfish/jellyfish_bloom.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/arguments/quantity.h"
#include "cli/framework/command_files.h"
#include "cli/framework/exit_status.h"
#include "cli/personalities/jellyfish/generator_commands.h"
#include "cli/personalities/jellyfish/jellyfish.h"
#include "cli/personalities/named_jobs.h"
#include "jobs/count_job.h"
#include "jobs/export_job.h"
#include "jobs/temporary_index.h"

namespace warpmer::cli {
namespace {

struct BloomCall {
  std::uint32_t k = 0;
  std::uint64_t size = 0;
  std::uint64_t threads = 0;
  double error_share = 0.001;
  bool is_canonical = false;
  std::string output = "mer_bloom_filter";
  std::string timing;
  std::string generators, shell;
  std::vector<std::string> inputs;
};

TakeOption store_error_share(double& to) {
  return [&to](const GivenOption& given) {
    to = parse_decimal(given.value).value_or(0);
    if (to <= 0 || to >= 1)
      throw UsageError(fmt::format("{} must be between 0 and 1, not '{}'", given.name, given.value));
  };
}

OptionTable bloom_options(BloomCall& call) {
  using enum ValuePlace;
  return {
      "jellyfish bc",
      {taken("-m,--mer-len", free, "length of the k-mers", store_number(call.k, 1, kMaxK)),
       taken("-s,--size", free, "k-mers that there are in the input, about", store_suffixed(call.size)),
       taken("-f,--fpr", free, "share of errors; 0.001 unless given", store_error_share(call.error_share)),
       taken("-C,--canonical", none, "count both strands as one", set_flag(call.is_canonical)),
       taken("-t,--threads", free, "threads; those that warpmer finds unless given",
             store_number(call.threads, 1, UINT16_MAX)),
       taken("-o,--output", free, "output; mer_bloom_filter unless given", store_text(call.output)),
       taken("-g,--generator", free, "file of commands that write reads", store_text(call.generators)),
       taken("-S,--shell", free, "shell for these commands", store_text(call.shell)),
       taken("--timing", free, "write seconds to this file", store_text(call.timing)),
       ignored("-F,--Files", free, "files that are open at a time"),
       ignored("-G,--Generators", free, "commands that run at a time")}};
}

std::optional<BloomCall> read_bloom_call(const JellyfishWords& command) {
  BloomCall call;
  const auto files = jellyfish_arguments(command, bloom_options(call), "file...", 0, SIZE_MAX);
  if (!files) return std::nullopt;
  call.inputs = *files;
  if (call.k == 0) throw UsageError("jellyfish bc: -m, the length of the k-mers, is missing");
  if (call.size == 0) throw UsageError("jellyfish bc: -s, how many k-mers there are, is missing");
  return call;
}

/// Puts k-mers into a counter.
class IntoBloom final : public formats::KmerSink {
 public:
  explicit IntoBloom(formats::JellyfishBloomSink& bloom) : bloom_(bloom) {}

  void encode(std::span<const formats::CountedKmer> kmers, formats::EncodedKmers& to) const override {
    to.bytes.append({reinterpret_cast<const char*>(kmers.data()), kmers.size_bytes()});
  }
  void append(const formats::EncodedKmers& encoded) override {
    const std::string_view bytes = encoded.bytes.text();
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(formats::CountedKmer)) {
      formats::CountedKmer each;
      std::memcpy(&each, bytes.data() + at, sizeof each);
      bloom_.add(each.kmer, each.count);
    }
  }
  void finish() override {}

 private:
  formats::JellyfishBloomSink& bloom_;
};

}  // namespace

int run_jellyfish_bc(const JellyfishWords& command) {
  const std::optional<BloomCall> call = read_bloom_call(command);
  if (!call) return kDone;
  std::vector<std::string> inputs = call->inputs, outputs = {call->output};
  inputs.push_back(call->generators);
  if (!call->timing.empty()) outputs.push_back(call->timing);
  check_files(outputs, inputs);
  const host::Resources resources = host::settled(named_resources(call->threads));
  formats::JellyfishBloomSink bloom(call->k, call->is_canonical, call->size, call->error_share,
                                    resources.memory_bytes / 2);
  jobs::CountReport report;
  if (!call->inputs.empty() || !call->generators.empty()) {
    GeneratorCommands commands(call->generators, call->shell);
    const jobs::TemporaryIndex counts(folder_for_temporary(call->output));
    report = count_into(named_count({call->k, call->is_canonical}, commands.inputs(call->inputs), resources,
                                    command.call.provenance),
                        counts);
    commands.finish();
    IntoBloom sink(bloom);
    jobs::export_index(index::IndexFile(counts.path()), {.resources = report.resources}, sink);
  }
  bloom.write(call->output, jellyfish_call(command.call));
  write_jellyfish_timing(call->timing, report);
  return kDone;
}

}  // namespace warpmer::cli
