/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/sanitizer/race.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cpu/sanitizer/clock.h"
#include "cpu/sanitizer/shadow.h"
#include "triton_jit/runtime.h"

/* What a program that acquires a location has seen. */
typedef struct released {
  uint64_t address; /* 0: free */
  tj_cpu_clock seen;
} released;

typedef struct program {
  uint64_t id;
  uint32_t time; /* goes up when the program releases something; 0: it has not begun */
  tj_cpu_clock seen;
} program;

struct tj_cpu_race {
  const tj_cpu_arguments *arguments;
  tj_cpu_shadow shadow;
  program *programs; /* that have begun and may go on: one, or all */
  uint32_t n_programs;
  released *releases; /* by hash of the address */
  size_t n_releases, capacity;
  size_t order_bytes; /* of the clocks of released locations */
  uint64_t unwatched; /* accesses to locations that there was no room for */
  bool blind;         /* no room for what orders programs: any race might be false */
};

tj_cpu_race *tj_cpu_race_new(const tj_cpu_arguments *arguments, size_t limit, uint32_t programs) {
  tj_cpu_race *race = calloc(1, sizeof *race);
  if (race == NULL) return NULL;
  race->arguments = arguments;
  race->shadow.limit = limit;
  race->n_programs = programs ? programs : 1;
  race->programs = calloc(race->n_programs, sizeof *race->programs);
  if (race->programs) return race;
  free(race);
  return NULL;
}

void tj_cpu_race_free(tj_cpu_race *race) {
  if (race == NULL) return;
  for (uint32_t i = 0; i < race->n_programs; i++) tj_cpu_clock_free(&race->programs[i].seen);
  for (size_t i = 0; i < race->capacity; i++) tj_cpu_clock_free(&race->releases[i].seen);
  tj_cpu_shadow_free(&race->shadow);
  free(race->programs);
  free(race->releases);
  free(race);
}

/* ---- order -------------------------------------------------------------------------------------- */

static program *current_program(tj_cpu_race *race, uint64_t id) {
  program *mine = &race->programs[race->n_programs > 1 ? id % race->n_programs : 0];
  if (mine->time == 0 || mine->id != id) {
    tj_cpu_clock_clear(&mine->seen);
    mine->id = id;
    mine->time = 1;
  }
  return mine;
}

static size_t release_place(const released *releases, size_t capacity, uint64_t address) {
  size_t at = (size_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (capacity - 1);
  while (releases[at].address != 0 && releases[at].address != address)
    at = (at + 1) & (capacity - 1);
  return at;
}

static bool grow_releases(tj_cpu_race *race) {
  size_t capacity = race->capacity ? 2 * race->capacity : 64;
  released *releases = calloc(capacity, sizeof *releases);
  if (releases == NULL) return false;
  for (size_t i = 0; i < race->capacity; i++)
    if (race->releases[i].address)
      releases[release_place(releases, capacity, race->releases[i].address)] = race->releases[i];
  free(race->releases);
  race->releases = releases;
  race->capacity = capacity;
  return true;
}

static void acquire(tj_cpu_race *race, program *mine, uint64_t address) {
  if (race->capacity == 0) return;
  const released *found = &race->releases[release_place(race->releases, race->capacity, address)];
  if (found->address && !tj_cpu_clock_join(&mine->seen, &found->seen)) race->blind = true;
}

/* A read-modify-write goes on with the release that it reads; a plain store ends it. */
static void release(tj_cpu_race *race, program *mine, uint64_t address, bool goes_on) {
  if (race->n_releases * 2 >= race->capacity && !grow_releases(race)) {
    race->blind = true;
    return;
  }
  released *place = &race->releases[release_place(race->releases, race->capacity, address)];
  if (place->address == 0) {
    place->address = address;
    race->n_releases++;
  }
  race->order_bytes -= tj_cpu_clock_bytes(&place->seen);
  if (!goes_on) tj_cpu_clock_clear(&place->seen);
  if (!tj_cpu_clock_join(&place->seen, &mine->seen) ||
      !tj_cpu_clock_set(&place->seen, mine->id, mine->time))
    race->blind = true;
  race->order_bytes += tj_cpu_clock_bytes(&place->seen);
  if (race->order_bytes + race->capacity * sizeof *race->releases > race->shadow.limit / 4)
    race->blind = true;
  mine->time++;
}

static bool has_seen(const program *mine, const tj_cpu_record *record) {
  return record->program == mine->id ||
         record->time <= tj_cpu_clock_of(&mine->seen, record->program);
}

/* ---- accesses ------------------------------------------------------------------------------------- */

static const char *verb(const tj_cpu_site *site) {
  switch (site->flags & (TJ_CPU_READ | TJ_CPU_WRITE)) {
  case TJ_CPU_READ: return "reads";
  case TJ_CPU_WRITE: return "writes";
  default: return "changes";
  }
}

static void say(const tj_cpu_race *race, tj_cpu_report *report, const tj_cpu_event *event,
                const tj_cpu_record *earlier, uint64_t address) {
  const tj_cpu_site *site = event->site, *other = earlier->site;
  const tj_cpu_argument *argument = tj_cpu_argument_of(race->arguments, site, address);
  tj_cpu_event before = {
      other, {earlier->pid[0], earlier->pid[1], earlier->pid[2]}, earlier->element};
  char what[256], who[256], who_before[256];
  tj_cpu_argument_words(argument, address, site->size, what, sizeof what);
  tj_cpu_event_words(event, who, sizeof who);
  tj_cpu_event_words(&before, who_before, sizeof who_before);
  tj_cpu_report_say(report, TJ_E_KERNEL_RACE,
                    "%s: %s %s %s in %s%s%s\n%s: %s %s it in %s, and nothing orders the two%s%s",
                    site->place, site->operation, verb(site), what, who,
                    *site->line ? "\n    " : "", site->line, other->place, other->operation,
                    verb(other), who_before, *other->line ? "\n    " : "", other->line);
}

static bool writes(const tj_cpu_site *site) { return site->flags & TJ_CPU_WRITE; }
static bool is_atomic(const tj_cpu_site *site) { return site->flags & TJ_CPU_ATOMIC; }

/* Looks for races of one access with those before it in some 8 bytes, and puts it there. */
static void touch(tj_cpu_race *race, tj_cpu_report *report, const tj_cpu_event *event,
                  const program *mine, uint64_t address, uint64_t key, uint8_t bytes) {
  const tj_cpu_site *site = event->site;
  tj_cpu_shadow *shadow = &race->shadow;
  tj_cpu_cell *cell = tj_cpu_shadow_cell(shadow, key);
  if (cell == NULL) {
    race->unwatched++;
    return;
  }
  uint32_t readers = 0, *oldest_reader = NULL;
  for (uint32_t *link = &cell->head; *link;) {
    tj_cpu_record *record = &shadow->records[*link];
    bool overlap = record->bytes & bytes;
    bool seen = has_seen(mine, record);
    bool conflict =
        (writes(site) || writes(record->site)) && !(is_atomic(site) && is_atomic(record->site));
    bool race_found = overlap && !seen && conflict;
    if (race_found && tj_cpu_report_counts(report, site, record->site))
      say(race, report, event, record, address);
    /* Who races with what is dropped races with this access, or was seen by it. */
    bool covered = (record->bytes & ~bytes) == 0 && (seen || race_found) &&
                   is_atomic(site) == is_atomic(record->site) &&
                   (writes(site) || !writes(record->site));
    if (covered) {
      tj_cpu_shadow_drop(shadow, link);
      continue;
    }
    if (!writes(record->site)) {
      readers++;
      oldest_reader = link;
    }
    link = &record->next;
  }
  if (!writes(site) && readers >= TJ_CPU_READERS) tj_cpu_shadow_drop(shadow, oldest_reader);
  tj_cpu_record *record = tj_cpu_shadow_add(shadow, cell);
  if (record == NULL) {
    race->unwatched++;
    return;
  }
  record->program = mine->id;
  record->element = event->element;
  record->site = site;
  for (int i = 0; i < 3; i++) record->pid[i] = event->pid[i];
  record->time = mine->time;
  record->bytes = bytes;
}

void tj_cpu_race_access(tj_cpu_race *race, tj_cpu_report *report, const tj_cpu_event *event,
                        uint64_t id, uint64_t address) {
  const tj_cpu_site *site = event->site;
  if (race->blind) {
    race->unwatched++;
    return;
  }
  program *mine = current_program(race, id);
  if (site->flags & TJ_CPU_ACQUIRE) acquire(race, mine, address);
  for (uint64_t at = address, end = address + site->size; at < end;) {
    uint64_t stop = (at | 7) + 1 < end ? (at | 7) + 1 : end;
    uint32_t first = (uint32_t)(at & 7), n = (uint32_t)(stop - at);
    touch(race, report, event, mine, address, at >> 3, (uint8_t)(((1u << n) - 1) << first));
    at = stop;
  }
  if (site->flags & TJ_CPU_RELEASE) release(race, mine, address, (site->flags & TJ_CPU_READ) != 0);
}

void tj_cpu_race_end(const tj_cpu_race *race, const char *function) {
  if (race->unwatched)
    tj_log(TJ_LOG_WARNING,
           "kernel %s: %" PRIu64 " accesses were not watched for races: what is known of %s "
           "fills %zu MiB",
           function, race->unwatched, race->blind ? "the order of programs" : "memory",
           (race->blind ? race->shadow.limit / 4 : race->shadow.limit) >> 20);
}
