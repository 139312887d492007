#include "file/mapped_inputs.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "file/mapped_input.h"
#include "system/huge_pages.h"

namespace warpmer::file {

/// A handler may look at any time: slots are never freed, only used again.
struct MappedSlot {
  std::atomic<std::uintptr_t> begin{0}, end{0};
  std::atomic<const MappedInput*> input{nullptr};
  MappedSlot* next = nullptr;
};

namespace {

constinit std::atomic<MappedSlot*> first_slot{nullptr};
/// Guards what follows, and all changes to slots.
constinit std::mutex mutex;
constinit std::optional<std::string> remembered;

MappedSlot& free_slot() {
  for (MappedSlot* slot = first_slot; slot != nullptr; slot = slot->next) {
    if (slot->input == nullptr) return *slot;
  }
  auto* const slot = new MappedSlot;  // for good
  slot->next = first_slot;
  first_slot = slot;
  return *slot;
}

}  // namespace

MappedInputs::Registration::Registration(const MappedInput& input) {
  const auto bytes = input.bytes();
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t page = system::page_bytes();
  const std::lock_guard lock(mutex);
  slot_ = &free_slot();
  slot_->input = &input;
  slot_->end = (begin + bytes.size() + page - 1) / page * page;
  slot_->begin = begin;
}

MappedInputs::Registration::~Registration() {
  const std::lock_guard lock(mutex);
  if (!remembered) remembered = slot_->input.load()->change();
  slot_->begin = 0;
  slot_->end = 0;
  slot_->input = nullptr;
}

std::optional<std::string> MappedInputs::change() {
  const std::lock_guard lock(mutex);
  if (remembered) return std::exchange(remembered, std::nullopt);
  for (const MappedSlot* slot = first_slot; slot != nullptr; slot = slot->next) {
    const MappedInput* const input = slot->input;
    if (input == nullptr) continue;
    if (auto what = input->change()) return what;
  }
  return std::nullopt;
}

void MappedInputs::check() {
  if (const auto what = change()) throw InputError(*what);
}

void MappedInputs::begin_output() noexcept {
  const std::lock_guard lock(mutex);
  for (const MappedSlot* slot = first_slot; slot != nullptr; slot = slot->next) {
    if (slot->input != nullptr) return;
  }
  remembered.reset();
}

MappedInputs::Fault MappedInputs::fault_at(const void* address) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const MappedSlot* slot = first_slot; slot != nullptr; slot = slot->next) {
    if (at < slot->begin || at >= slot->end) continue;
    const MappedInput* const input = slot->input;
    if (input == nullptr) continue;
    return {input->name().c_str(), input->why_unreadable()};
  }
  return {};
}

MappedInputs::Fault MappedInputs::written_input() noexcept {
  for (const MappedSlot* slot = first_slot; slot != nullptr; slot = slot->next) {
    const MappedInput* const input = slot->input;
    if (input == nullptr) continue;
    if (const char* const what = input->why_unreadable(); what != kCannotBeRead)
      return {input->name().c_str(), what};
  }
  return {};
}

}  // namespace warpmer::file
