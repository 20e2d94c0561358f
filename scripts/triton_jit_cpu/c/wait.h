/* SPDX-License-Identifier: Apache-2.0 */
/* Loops in which a program may wait for another one. */
/*@ tj_stopped */
/* For each iteration: gives way to others now and then. True: the launch has failed. */
TJ_FN bool tj_stopped(const tj_program *pg, uint32_t *iterations) {
  return ++*iterations % 16 == 0 && pg->host->wait(pg->host->ctx) != 0;
}
