-- SPDX-License-Identifier: MIT
-- Receipts between servers cover places in a lane instead of numbers in a
-- conversation, because a requeued message gets a new place, after messages
-- that were written later.

-- acked_seq: the recipient, on another server, has acked the rows of the lane
-- up to this place.
ALTER TABLE outbox_lanes ADD COLUMN acked_seq BIGINT NOT NULL DEFAULT 0
    CHECK (acked_seq >= 0);
-- Computes acked_seq from the rows that were acked before this migration: up to
-- the last acked row, but not beyond a row that is still to be acked.  Acked
-- rows may have been purged.
UPDATE outbox_lanes SET acked_seq = CASE
    WHEN NOT EXISTS (SELECT 1 FROM outbox o
	WHERE o.lane_id = outbox_lanes.lane_id AND o.dest_kind = 'server'
	AND o.lane_seq IS NOT NULL AND o.state <> 'acked') THEN tail_seq
    ELSE least(coalesce((SELECT max(o.lane_seq) FROM outbox o
	WHERE o.lane_id = outbox_lanes.lane_id AND o.dest_kind = 'server'
	AND o.lane_seq IS NOT NULL AND o.state = 'acked'), 0),
      coalesce((SELECT min(o.lane_seq) FROM outbox o
	WHERE o.lane_id = outbox_lanes.lane_id AND o.dest_kind = 'server'
	AND o.lane_seq IS NOT NULL AND (o.state = 'pending'
	  OR o.state = 'sending' OR o.state = 'sent')) - 1, tail_seq))
    END
WHERE destination_id > 1 AND class = 0;

-- sequence: the place that the event had in the sender's lane when it was
-- accepted; NULL: it was accepted before this migration.  behind: the event
-- came in a late copy of a request, when places up to this one had been
-- accepted.
ALTER TABLE processed_messages ADD COLUMN sequence BIGINT
    CHECK (sequence >= 1);
ALTER TABLE processed_messages ADD COLUMN behind BIGINT
    CHECK (behind >= sequence);

-- highest: the highest place of the sequence that was accepted lately.
-- highest_at: when it was accepted.
ALTER TABLE federation_lanes ADD COLUMN highest BIGINT NOT NULL DEFAULT 0;
ALTER TABLE federation_lanes ADD COLUMN highest_at BIGINT NOT NULL DEFAULT 0;
