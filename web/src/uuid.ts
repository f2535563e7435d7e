// SPDX-License-Identifier: MIT
// Ids of messages: UUID version 7 (RFC 9562), ascending within this page, so that unsent messages
// sort in the order of writing.

let last = 0;
let counter = 0;

/** Returns a new id.  The 12 bits after the time are a counter within one millisecond. */
export function uuid7(now = Date.now()): string
{
	const random = crypto.getRandomValues(new Uint8Array(10));

	if (now > last) {
		last = now;
		counter = random[0]!;
	} else if (++counter > 0xfff) {
		// The clock stands still or went back, and the counter is used up: take the next
		// millisecond.
		last++;
		counter = 0;
	}
	const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
	const time = hex(last, 12);
	const tail = Array.from(random.subarray(2), (byte) => hex(byte, 2)).join('');
	const variant = hex(0x80 | (random[2]! & 0x3f), 2) + tail.slice(2, 4);
	return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(counter, 3)}-${variant}-${tail.slice(4)}`;
}
