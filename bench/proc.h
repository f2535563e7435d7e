/* SPDX-License-Identifier: MIT */
/*
 * The kernel's figures of a process: processor time, resident memory, bytes
 * written.  They are sampled at the beginning and the end of the measured time,
 * so that a figure is of that time alone.  The figures of the server include
 * its child processes, except for the memory.
 */
#ifndef BENCH_PROC_H
#define BENCH_PROC_H

#include <stdint.h>

struct proc_sample {
	int64_t at_ns;
	int64_t own_cpu_ns;    /* of the load generator */
	int64_t server_cpu_ns; /* 0 without a pid */
	int64_t server_written_bytes;
};

/* Samples this process and, unless ${pid} is 0, the server. */
void proc_sample(int pid, struct proc_sample *ret);

/* Returns the server's resident memory in bytes. */
int64_t proc_rss_bytes(int pid);

#endif
