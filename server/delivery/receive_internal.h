/* SPDX-License-Identifier: MIT */
/*
 * Functions that receive.c (the verb and its writes) and receive_judge.c (its
 * decisions) share.
 */
#ifndef DELIVERY_RECEIVE_INTERNAL_H
#define DELIVERY_RECEIVE_INTERNAL_H

#include "delivery/receive.h"

/* Decides all envelopes of ${u} by reading: reason, duplicate and plan of each.
 * Thread: writer. */
enum rc receive_judge(
    struct tx *tx, struct receive_unit *u, struct err *err) MUST_USE;

/* The class of the sequence that an event of ${kind} belongs to: enum
 * lane_class. */
int receive_class(int kind);

/* Whether ${address} is of ${domain}. */
bool receive_is_of(const struct span *address, const char *domain);

/* The local name in ${address}, "name@${domain}", without its domain. */
size_t receive_name_len(const struct span *address);

#endif
