/* SPDX-License-Identifier: MIT */
/*
 * The order of the kinds of units within one transaction.  Deliveries come
 * before acks before sends, so that what waits longest gets on first.
 */
#ifndef TXN_ORDER_H
#define TXN_ORDER_H

enum unit_order {
	ORDER_ACCOUNT = 10, /* users and devices first: others refer to them */
	ORDER_BREAKER = 12, /* destinations before inboxes */
	ORDER_SETTLE = 14,  /* answers before new claims */
	ORDER_RENEW = 15,   /* … and what is still held, before the rescue */
	ORDER_RESCUE = 16,
	ORDER_DELIVER = 20,
	ORDER_CLAIM = 24,
	ORDER_ACK = 30,
	ORDER_READ = 40,
	ORDER_CANCEL = 50,
	ORDER_OPERATOR = 55,
	ORDER_RELEASE = 60,
	ORDER_SEND = 70,
	ORDER_UPKEEP = 80
};

#endif
