/* SPDX-License-Identifier: Apache-2.0 */
/* The worker: frames, logs, death, restart, garbage, threads, forks, manners. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#include <cmocka.h>

#include "process_test.h"

#define ECHO "{\"op\":\"echo\"}"
#define OP(name) "{\"op\":\"" name "\"}"

static void use_worker(void) { use_stand_in(TJ_COMPILER_WORKER); }

static void pause_ms(long ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Sends a message of `size` bytes whose JSON is `json`, followed by zeros. */
static tj_status ask_large(const char *json, size_t size) {
  uint8_t *request = calloc(1, size);
  CHECK(request != NULL);
  size_t json_size = strlen(json);
  for (int i = 0; i < 4; i++) request[i] = (uint8_t)(json_size >> (8 * i));
  memcpy(request + 4, json, json_size);
  void *reply = NULL;
  size_t reply_size = 0;
  tj_status status = tj_compiler_handle(request, size, &reply, &reply_size);
  free(request);
  free(reply);
  return status;
}

/* ---- answers --------------------------------------------------------------------------- */

static void round_trip(void) {
  use_worker();
  int pid = ask_number(ECHO, "pid");
  CHECK(pid != getpid());
  CHECK(ask_number(ECHO, "parent") == getpid());
  CHECK(ask_number(ECHO, "pid") == pid); /* it is kept */
  CHECK(ask_number(ECHO, "utf8") == 1);
}

static void large(void) {
  use_worker();
  int pid = ask_number(ECHO, "pid");
  tj_message reply;
  CHECK(ask("{\"op\":\"big\",\"size\":40000000}", &reply) == TJ_OK);
  const tj_section *data = tj_message_section(&reply, "data");
  CHECK(data && data->size == 40000000);
  tj_message_free(&reply);
  CHECK(ask_large(ECHO, 40000000) == TJ_OK);
  CHECK(ask_number(ECHO, "pid") == pid);
  uint8_t byte = 0;
  void *out = NULL;
  size_t size = 0;
  CHECK(tj_compiler_handle(&byte, ((size_t)1 << 30) + 1, &out, &size) == TJ_E_INVALID);
  CHECK(ask_number(ECHO, "pid") == pid);
}

static void logs(void) {
  use_worker();
  tj_set_log(collect_log, NULL, TJ_LOG_INFO);
  CHECK(ask_status("{\"op\":\"log\",\"count\":3}") == TJ_OK);
  CHECK_CONTAINS(log_text, "3 log line 0\n3 log line 1\n3 log line 2\n2 two\n2 lines\n");
}

static void noise(void) { /* more than a pipe holds */
  use_worker();
  CHECK(ask_status(OP("noise")) == TJ_OK);
  CHECK(ask_status("{\"op\":\"noise\",\"then\":\"exit\"}") == TJ_E_COMPILER_DIED);
  CHECK_CONTAINS(tj_last_error(), "noise line 19999");
  CHECK(strlen(tj_last_error()) > 8000);
  CHECK(strlen(tj_last_error()) < 9000);
}

/* ---- death ----------------------------------------------------------------------------- */

static void check_death(const char *json, const char *how, const char *words) {
  int pid = ask_number(ECHO, "pid");
  double start = seconds_now();
  CHECK(ask_status(json) == TJ_E_COMPILER_DIED);
  CHECK(seconds_now() - start < 30);
  CHECK_CONTAINS(tj_last_error(), how);
  CHECK_CONTAINS(tj_last_error(), words);
  CHECK(kill(pid, 0) != 0 && errno == ESRCH); /* and it is reaped */
  CHECK(ask_number(ECHO, "pid") != pid);
}

static void death(void) {
  use_worker();
  check_death(OP("exit"), "exited with status 3", "last words");
  check_death(OP("abort"), "SIGABRT", "about to abort");
  check_death(OP("kill"), "SIGKILL", "memory");
  check_death(OP("half"), "exited with status 6", "(none)");
  check_death(OP("close"), "SIGKILL", "(none)");
}

static void garbage(void) {
  use_worker();
  static const char *const ops[] = {OP("garbage_text"), OP("garbage_space"), OP("oversize"),
                                    OP("small"), OP("bad_json_size")};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) check_death(ops[i], "sent ", "was ended");
}

static void death_at_the_first_request(void) {
  use_worker();
  CHECK(ask_status(OP("exit")) == TJ_E_COMPILER_DIED);
  CHECK(ask_status(OP("exit")) == TJ_E_COMPILER_DIED);
  CHECK(ask_status(ECHO) == TJ_OK);
}

static void death_while_idle(void) {
  use_worker();
  tj_set_log(collect_log, NULL, TJ_LOG_INFO);
  int pid = ask_number("{\"op\":\"die_later\",\"seconds\":0.05}", "pid");
  pause_ms(500);
  CHECK(ask_number(ECHO, "pid") != pid);
  CHECK_CONTAINS(log_text, "exited with status 5 while idle");
  pid = ask_number(OP("unasked"), "pid");
  pause_ms(200);
  CHECK(ask_number(ECHO, "pid") != pid);
}

static void *send_large(void *out) {
  *(tj_status *)out = ask_large(ECHO, 40000000);
  return NULL;
}

static void death_while_it_is_sent_to(void) { /* SIGPIPE would end this process */
  use_worker();
  int pid = ask_number(ECHO, "pid");
  CHECK(kill(pid, SIGSTOP) == 0);
  pthread_t thread;
  tj_status status = TJ_OK;
  CHECK(pthread_create(&thread, NULL, send_large, &status) == 0);
  pause_ms(300);
  CHECK(kill(pid, SIGKILL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(status == TJ_E_COMPILER_DIED);
  CHECK(ask_status(ECHO) == TJ_OK);
}

/* ---- threads --------------------------------------------------------------------------- */

static void *ask_often(void *out) {
  for (int i = 0; i < 20; i++) *(int *)out = ask_number(ECHO, "pid");
  return NULL;
}

static void threads(void) {
  use_worker();
  pthread_t thread[8];
  int pids[8];
  for (int i = 0; i < 8; i++) CHECK(pthread_create(&thread[i], NULL, ask_often, &pids[i]) == 0);
  for (int i = 0; i < 8; i++) CHECK(pthread_join(thread[i], NULL) == 0);
  for (int i = 1; i < 8; i++) CHECK(pids[i] == pids[0]);
}

static atomic_int served;

static void *ask_in_turn(void *out) {
  *(int *)out = ask_number(ECHO, "number");
  atomic_fetch_add(&served, 1);
  return NULL;
}

static void *ask_slowly(void *unused) {
  CHECK(ask_status("{\"op\":\"sleep\",\"seconds\":1.5}") == TJ_OK);
  return unused;
}

static void order(void) { /* first come, first served */
  use_worker();
  int number = ask_number(ECHO, "number");
  pthread_t slow, thread[5];
  int got[5];
  CHECK(pthread_create(&slow, NULL, ask_slowly, NULL) == 0);
  pause_ms(200);
  for (int i = 0; i < 5; i++) {
    CHECK(pthread_create(&thread[i], NULL, ask_in_turn, &got[i]) == 0);
    pause_ms(100);
  }
  CHECK(atomic_load(&served) == 0);
  for (int i = 0; i < 5; i++) CHECK(pthread_join(thread[i], NULL) == 0);
  CHECK(pthread_join(slow, NULL) == 0);
  for (int i = 0; i < 5; i++) CHECK(got[i] == number + 2 + i); /* the slow one has number + 1 */
}

static void cancelled(void) {
  use_worker();
  int pid = ask_number(ECHO, "pid");
  pthread_t slow;
  CHECK(pthread_create(&slow, NULL, ask_slowly, NULL) == 0);
  pause_ms(200);
  CHECK(pthread_cancel(slow) == 0);
  CHECK(pthread_join(slow, NULL) == 0);
  CHECK(ask_number(ECHO, "pid") == pid);
}

static void ask_within(void *user, int level, const char *text) {
  (void)level, (void)text;
  *(tj_status *)user = ask_status(ECHO);
}

static void recursion(void) {
  use_worker();
  tj_status inner = TJ_OK;
  tj_set_log(ask_within, &inner, TJ_LOG_WARNING);
  CHECK(ask_status("{\"op\":\"log\",\"count\":1}") == TJ_OK);
  CHECK(inner == TJ_E_RECURSION);
}

/* ---- forks ----------------------------------------------------------------------------- */

static void child_after(void) {
  use_worker();
  int pid = ask_number(ECHO, "pid");
  pid_t child = fork();
  if (child == 0) {
    int own = ask_number(ECHO, "pid");
    CHECK(own != pid);
    CHECK(ask_number(ECHO, "parent") == getpid());
    _exit(17);
  }
  CHECK(ask_number(ECHO, "pid") == pid);
  CHECK(wait_for(child) == 17);
  CHECK(ask_number(ECHO, "pid") == pid);
}

static void child_during(void) { /* while another thread is served, and a third one waits */
  use_worker();
  CHECK(ask_status(ECHO) == TJ_OK);
  pthread_t slow, waiting;
  int ignored;
  CHECK(pthread_create(&slow, NULL, ask_slowly, NULL) == 0);
  pause_ms(200);
  CHECK(pthread_create(&waiting, NULL, ask_in_turn, &ignored) == 0);
  pause_ms(200);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    CHECK(ask_status(ECHO) == TJ_OK);
    _exit(17);
  }
  CHECK(wait_for(child) == 17);
  CHECK(pthread_join(slow, NULL) == 0);
  CHECK(pthread_join(waiting, NULL) == 0);
  CHECK(ask_status(ECHO) == TJ_OK);
}

static bool is_running(int pid) {
  char path[64], line[256] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "r");
  if (file == NULL) return false;
  if (fgets(line, sizeof line, file) == NULL) line[0] = 0;
  fclose(file);
  const char *state = strrchr(line, ')');
  return state && state[2] != 'Z'; /* a zombie waits for an init that does not come */
}

static void ends_with_its_host(void) { /* though a child of the host lives on */
  int ends[2];
  CHECK(pipe(ends) == 0);
  pid_t host = fork();
  if (host == 0) {
    use_worker();
    int pid = ask_number(ECHO, "pid");
    if (fork() == 0) {
      pause_ms(5000);
      _exit(0);
    }
    CHECK(write(ends[1], &pid, sizeof pid) == sizeof pid);
    _exit(0);
  }
  int pid = 0;
  close(ends[1]); /* a host that has failed ends the read */
  CHECK(read(ends[0], &pid, sizeof pid) == sizeof pid);
  CHECK(waitpid(host, NULL, 0) == host);
  for (int i = 0; i < 40 && is_running(pid); i++) pause_ms(100);
  CHECK(!is_running(pid));
}

/* ---- manners --------------------------------------------------------------------------- */

static bool has_number(const cJSON *list, int number) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (item->valueint == number) return true;
  return false;
}

static void what_it_inherits(void) {
  int kept = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
  CHECK(kept >= 0 && dup2(kept, 50) == 50);
  signal(SIGUSR1, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  use_worker();
  tj_message reply;
  CHECK(ask(ECHO, &reply) == TJ_OK);
  const cJSON *fds = cJSON_GetObjectItem(reply.json, "fds");
  CHECK(cJSON_GetArraySize(fds) == 4); /* 0, 1, 2, and the one that lists them */
  CHECK(!has_number(fds, 50));
  CHECK(cJSON_GetArraySize(cJSON_GetObjectItem(reply.json, "blocked")) == 0);
  CHECK(!has_number(cJSON_GetObjectItem(reply.json, "ignored"), SIGUSR1));
  CHECK(cJSON_IsTrue(cJSON_GetObjectItem(reply.json, "leads_session")));
  tj_message_free(&reply);
}

static void no_standard_descriptors(void) { /* those numbers are not ours to use */
  int err = fcntl(2, F_DUPFD_CLOEXEC, 200);
  close(0);
  close(1);
  close(2);
  use_worker();
  tj_status status = ask_status(ECHO);
  int first = open("/dev/null", O_RDWR);
  dup2(err, 2);
  CHECK(status == TJ_OK);
  CHECK(first == 0);
}

static int count_fds(void) {
  int count = 0;
  for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

static void no_descriptor_is_lost(void) {
  use_worker();
  CHECK(ask_status(ECHO) == TJ_OK);
  int before = count_fds();
  int next = open("/dev/null", O_RDONLY);
  close(next);
  for (int i = 0; i < 5; i++) {
    CHECK(ask_status(OP("exit")) == TJ_E_COMPILER_DIED);
    CHECK(ask_status(ECHO) == TJ_OK);
  }
  CHECK(count_fds() == before);
  CHECK(open("/dev/null", O_RDONLY) == next);
}

static void host_ignores_sigchld(void) {
  signal(SIGCHLD, SIG_IGN);
  use_worker();
  CHECK(ask_status(ECHO) == TJ_OK);
  CHECK(ask_status(OP("exit")) == TJ_E_COMPILER_DIED);
  CHECK_CONTAINS(tj_last_error(), "last words");
  CHECK(ask_status(ECHO) == TJ_OK);
  CHECK(signal(SIGCHLD, SIG_DFL) == SIG_IGN);
}

static void reap_all(int number) {
  (void)number;
  int saved = errno;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
  errno = saved;
}

static void host_reaps_all(void) {
  signal(SIGCHLD, reap_all);
  use_worker();
  CHECK(ask_status(ECHO) == TJ_OK);
  CHECK(ask_status(OP("exit")) == TJ_E_COMPILER_DIED);
  CHECK_CONTAINS(tj_last_error(), "last words");
  CHECK(ask_status(ECHO) == TJ_OK);
}

static void host_children_are_left_alone(void) {
  pid_t child = fork();
  if (child == 0) _exit(9);
  pause_ms(100);
  use_worker();
  CHECK(ask_status(ECHO) == TJ_OK);
  CHECK(ask_status(OP("exit")) == TJ_E_COMPILER_DIED);
  CHECK(wait_for(child) == 9);
}

static atomic_int ticks;

static void on_alarm(int number) {
  (void)number;
  atomic_fetch_add(&ticks, 1);
}

static void interrupted_calls(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm; /* without SA_RESTART */
  sigaction(SIGALRM, &action, NULL);
  use_worker();
  CHECK(ask_status(ECHO) == TJ_OK);
  struct itimerval timer = {{0, 500}, {0, 500}};
  setitimer(ITIMER_REAL, &timer, NULL);
  CHECK(ask_large(ECHO, 20000000) == TJ_OK);
  CHECK(ask_status("{\"op\":\"big\",\"size\":20000000}") == TJ_OK);
  CHECK(ask_status(OP("noise")) == TJ_OK);
  CHECK(ask_status(OP("exit")) == TJ_E_COMPILER_DIED);
  CHECK(ask_status(ECHO) == TJ_OK);
  memset(&timer, 0, sizeof timer);
  setitimer(ITIMER_REAL, &timer, NULL);
  CHECK(atomic_load(&ticks) > 10);
}

/* ---------------------------------------------------------------------------------------- */

#define SCENARIOS(X)              \
  X(round_trip)                   \
  X(large)                        \
  X(logs)                         \
  X(noise)                        \
  X(death)                        \
  X(garbage)                      \
  X(death_at_the_first_request)   \
  X(death_while_idle)             \
  X(death_while_it_is_sent_to)    \
  X(threads)                      \
  X(order)                        \
  X(cancelled)                    \
  X(recursion)                    \
  X(child_after)                  \
  X(child_during)                 \
  X(ends_with_its_host)           \
  X(what_it_inherits)             \
  X(no_standard_descriptors)      \
  X(no_descriptor_is_lost)        \
  X(host_ignores_sigchld)         \
  X(host_reaps_all)               \
  X(host_children_are_left_alone) \
  X(interrupted_calls)

SCENARIOS(SCENARIO_TEST)

int main(void) {
  const struct CMUnitTest tests[] = {SCENARIOS(SCENARIO_ENTRY)};
  return cmocka_run_group_tests_name("unit.compile.worker", tests, NULL, NULL);
}
