-- SPDX-License-Identifier: MIT
-- Receipts between servers go by places in a lane instead of by numbers in a
-- conversation: a message that is requeued takes a new place, behind messages
-- that were written after it.

-- acked_seq: the recipient, on another server, has acked what the lane holds up
-- to this place.
ALTER TABLE outbox_lanes ADD COLUMN acked_seq INTEGER NOT NULL DEFAULT 0
    CHECK (acked_seq >= 0);
-- What was acked before this step: up to the last acked row, and not beyond one
-- that is not acked.  Acked rows may have been purged.
UPDATE outbox_lanes SET acked_seq = CASE
    WHEN NOT EXISTS (SELECT 1 FROM outbox o
	WHERE o.lane_id = outbox_lanes.lane_id AND o.dest_kind = 'server'
	AND o.lane_seq IS NOT NULL AND o.state <> 'acked') THEN tail_seq
    ELSE min(coalesce((SELECT max(o.lane_seq) FROM outbox o
	WHERE o.lane_id = outbox_lanes.lane_id AND o.dest_kind = 'server'
	AND o.lane_seq IS NOT NULL AND o.state = 'acked'), 0),
      coalesce((SELECT min(o.lane_seq) FROM outbox o
	WHERE o.lane_id = outbox_lanes.lane_id AND o.dest_kind = 'server'
	AND o.lane_seq IS NOT NULL AND (o.state = 'pending'
	  OR o.state = 'sending' OR o.state = 'sent')) - 1, tail_seq))
    END
WHERE destination_id > 1 AND class = 0;

-- sequence: the place that the event had in the sender's lane when it was taken;
-- NULL: it was taken before this was kept.  behind: a copy of a request came late,
-- when places up to this one had been taken.
ALTER TABLE processed_messages ADD COLUMN sequence INTEGER
    CHECK (sequence >= 1);
ALTER TABLE processed_messages ADD COLUMN behind INTEGER
    CHECK (behind >= sequence);

-- highest: the highest place of a sequence that was taken lately (highest_at).
ALTER TABLE federation_lanes ADD COLUMN highest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE federation_lanes ADD COLUMN highest_at INTEGER NOT NULL DEFAULT 0;
