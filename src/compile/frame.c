/* SPDX-License-Identifier: Apache-2.0 */
#include "compile/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log.h"
#include "compile/message.h"

#define TAIL_SIZE ((size_t)8 << 10)
#define PART_SIZE ((size_t)8 << 10) /* on the stack, which may be small */

/* ---- what the process writes to its fd 2 ------------------------------------------------ */

static void keep_end(tj_str *tail) {
  if (tail->size <= 2 * TAIL_SIZE) return;
  memmove(tail->data, tail->data + tail->size - TAIL_SIZE, TAIL_SIZE);
  tail->size = TAIL_SIZE;
  tail->data[tail->size] = 0;
}

bool tj_frame_drain(int diagnostics, tj_str *tail) {
  if (diagnostics < 0) return false;
  char part[4096];
  for (;;) {
    ssize_t n = read(diagnostics, part, sizeof part);
    if (n > 0) {
      tj_str_add(tail, part, (size_t)n);
      keep_end(tail);
    } else if (n == 0 || errno != EINTR) {
      return n < 0 && errno == EAGAIN;
    }
  }
}

/* ---- sending --------------------------------------------------------------------------- */

typedef struct sender {
  uint8_t head[4];
  const uint8_t *body;
  size_t size; /* of the body */
  size_t sent; /* of head and body */
} sender;

static void put_u32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static bool is_sent(const sender *out) { return out->sent == out->size + sizeof out->head; }

static tj_exchange send_some(int socket, sender *out) {
  struct iovec parts[2];
  size_t n = 0;
  if (out->sent < sizeof out->head)
    parts[n++] = (struct iovec){out->head + out->sent, sizeof out->head - out->sent};
  size_t body_sent = out->sent > sizeof out->head ? out->sent - sizeof out->head : 0;
  /* sendmsg does not write to it. */
  if (body_sent < out->size)
    parts[n++] = (struct iovec){(void *)(out->body + body_sent), out->size - body_sent};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = n};
  ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    out->sent += (size_t)sent;
  } else if (errno != EAGAIN && errno != EINTR) {
    return TJ_EXCHANGE_CLOSED;
  }
  return TJ_EXCHANGE_OK;
}

/* ---- receiving ------------------------------------------------------------------------- */

typedef struct receiver {
  uint8_t head[4];
  size_t head_size;
  size_t wanted; /* the body's size, once the head is there */
  tj_str body;
  bool checked; /* the body's beginning */
} receiver;

static bool is_received(const receiver *in) {
  return in->head_size == sizeof in->head && in->body.size == in->wanted;
}

/* Early, so that text printed to the socket is not taken for the size of a huge frame. */
static const char *check_head(receiver *in) {
  in->wanted = get_u32(in->head);
  if (in->wanted > TJ_FRAME_MAX) return "a frame of more than 1 GiB";
  return in->wanted < 6 ? "a frame that is too small for a message" : NULL;
}

static const char *check_body(receiver *in) {
  if (in->checked || in->body.size < 5) return NULL;
  in->checked = true;
  size_t json_size = get_u32((const uint8_t *)in->body.data);
  if (json_size > in->wanted - 4 || in->body.data[4] != '{') return "a frame that holds no message";
  return NULL;
}

static tj_exchange receive_some(int socket, receiver *in, const char **out_reason) {
  char part[PART_SIZE];
  char *to = part;
  size_t room = in->wanted - in->body.size;
  bool in_head = in->head_size < sizeof in->head;
  if (in_head) {
    to = (char *)in->head + in->head_size;
    room = sizeof in->head - in->head_size;
  }
  ssize_t n = recv(socket, to, room < PART_SIZE ? room : PART_SIZE, MSG_DONTWAIT);
  if (n == 0) return TJ_EXCHANGE_CLOSED;
  if (n < 0) return errno == EAGAIN || errno == EINTR ? TJ_EXCHANGE_OK : TJ_EXCHANGE_CLOSED;
  const char *wrong = NULL;
  if (in_head) {
    in->head_size += (size_t)n;
    if (in->head_size == sizeof in->head) wrong = check_head(in);
  } else {
    tj_str_add(&in->body, part, (size_t)n);
    if (in->body.failed) return TJ_EXCHANGE_MEMORY;
    wrong = check_body(in);
  }
  if (wrong) *out_reason = wrong;
  return wrong ? TJ_EXCHANGE_GARBAGE : TJ_EXCHANGE_OK;
}

/* Logs the frame if it is {"log":{"level":..,"text":..}}. */
static bool take_log(const tj_str *frame) {
  static const char start[] = "{\"log\"";
  size_t json_size = get_u32((const uint8_t *)frame->data);
  if (json_size < sizeof start || memcmp(frame->data + 4, start, sizeof start - 1) != 0)
    return false;
  cJSON *json = cJSON_ParseWithLength(frame->data + 4, json_size);
  const cJSON *log = cJSON_GetObjectItemCaseSensitive(json, "log");
  const char *text = tj_json_text(log, "text");
  if (text)
    tj_log_text((int)tj_json_uint(log, "level", TJ_LOG_DEBUG, TJ_LOG_INFO), text, strlen(text));
  cJSON_Delete(json);
  return log != NULL;
}

/* ---- both ------------------------------------------------------------------------------ */

static tj_exchange step(int socket, int *diagnostics, sender *out, receiver *in, tj_str *tail,
                        const char **out_reason) {
  struct pollfd fds[2] = {
      {socket, (short)(POLLIN | (is_sent(out) ? 0 : POLLOUT)), 0},
      {*diagnostics, POLLIN, 0},
  };
  if (poll(fds, 2, -1) < 0) return errno == EINTR ? TJ_EXCHANGE_OK : TJ_EXCHANGE_MEMORY;
  if (fds[1].revents && !tj_frame_drain(*diagnostics, tail)) *diagnostics = -1;
  tj_exchange result = TJ_EXCHANGE_OK;
  if (fds[0].revents & POLLOUT && !is_sent(out)) result = send_some(socket, out);
  /* Also after a failed send: it may have said something before it went. */
  if (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) {
    tj_exchange received = receive_some(socket, in, out_reason);
    if (received != TJ_EXCHANGE_OK) result = received;
  }
  return result;
}

tj_exchange tj_frame_exchange(int socket, int diagnostics, const void *request, size_t size,
                              tj_str *tail, void **out_reply, size_t *out_size,
                              const char **out_reason) {
  sender out = {.body = request, .size = size};
  put_u32(out.head, (uint32_t)size);
  receiver in = {.wanted = 0};
  tj_exchange result = TJ_EXCHANGE_OK;
  for (;;) {
    result = step(socket, &diagnostics, &out, &in, tail, out_reason);
    if (result != TJ_EXCHANGE_OK) break;
    if (!is_received(&in)) continue;
    if (!take_log(&in.body)) break;
    tj_str_free(&in.body);
    in = (receiver){.wanted = 0};
  }
  if (result == TJ_EXCHANGE_OK && !is_sent(&out)) {
    *out_reason = "a reply to a request that it had not read";
    result = TJ_EXCHANGE_GARBAGE;
  }
  if (result == TJ_EXCHANGE_OK) {
    (void)tj_frame_drain(diagnostics, tail); /* what it wrote before its reply is here */
    *out_size = in.body.size;
    *out_reply = tj_str_take(&in.body);
  } else {
    tj_str_free(&in.body);
  }
  return result;
}
