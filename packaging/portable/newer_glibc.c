/* What GCC 12's runtime libraries want of a glibc newer than 2.28, for programs that are linked against 2.28. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

/* glibc 2.32: std::shared_ptr counts without atomic operations while this is true. It never is here. */
char __libc_single_threaded = 0;

/* glibc 2.36: one of std::random_device's sources. */
uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != sizeof value) abort();
  return value;
}

/* glibc 2.30: std::condition_variable waits until a time of the steady clock. Its condition variables know only the
   time of day, so that a wait is too long or too short by what somebody sets that clock meanwhile. Whoever waits so
   looks at the steady clock itself when it has woken up. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
  enum { second = 1000000000 };
  struct timespec now, end;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &end) != 0) abort();
  end.tv_sec += until->tv_sec - now.tv_sec;
  end.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (end.tv_nsec < 0) {
    end.tv_nsec += second;
    --end.tv_sec;
  } else if (end.tv_nsec >= second) {
    end.tv_nsec -= second;
    ++end.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &end);
}

/* glibc 2.35: the unwinder asks which loaded object has an address, and where its table of frames is. */
struct search {
  uintptr_t address;
  struct dl_find_object* result;
};

static int look_at(struct dl_phdr_info* object, size_t size, void* data) {
  struct search* const search = data;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  void* frames = NULL;
  int has_address = 0;
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const header = &object->dlpi_phdr[i];
    const uintptr_t from = object->dlpi_addr + header->p_vaddr, to = from + header->p_memsz;
    if (header->p_type == PT_GNU_EH_FRAME) frames = (void*)from;
    if (header->p_type != PT_LOAD) continue;
    if (from < begin) begin = from;
    if (to > end) end = to;
    if (search->address >= from && search->address < to) has_address = 1;
  }
  if (!has_address || frames == NULL) return 0;
  search->result->dlfo_flags = 0;
  search->result->dlfo_map_start = (void*)begin;
  search->result->dlfo_map_end = (void*)end;
  search->result->dlfo_link_map = NULL;
  search->result->dlfo_eh_frame = frames;
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}
