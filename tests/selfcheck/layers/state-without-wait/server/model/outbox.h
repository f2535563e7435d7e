#define OUTBOX_STATE_TABLE(X) \
	X(OUTBOX_PENDING, "pending", false) \
	X(OUTBOX_SENT, "sent", true)

#define OUTBOX_MOVE_TABLE(X) \
	X(OUTBOX_PENDING, OUTBOX_SENT, "delivered")
