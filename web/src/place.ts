// SPDX-License-Identifier: MIT
// Where one is in a long list of rows, and which of them the browser lays out.
//
// All rows are in the document, so that finding text, selecting, the keyboard
// and screen readers reach each of them.  A block that is far from the eye is
// skipped by the browser (content-visibility) and stands there with the height
// that was measured when it was last laid out: a new block is laid out once.
//
// Whatever changes its height above the eye (older messages, a skipped block
// that has another width by now), the row at the upper edge keeps its place.
// The browsers' own anchors are off: Safari has none, and two would add up.

/** The last of ${rows}, which stand below each other, that begins above ${y}. */
function lastAbove(rows: HTMLCollection, y: number): number
{
	let low = 0;
	let high = rows.length;

	while (low < high) {
		const middle = (low + high) >> 1;
		if (rows[middle]!.getBoundingClientRect().top <= y)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

export class Place {
	stick = true; // to the newest row

	private readonly box: HTMLElement;
	private readonly list: () => Element | null; // its children are the blocks
	private readonly watcher: ResizeObserver;
	private anchor: { row: Element; y: number } | null = null;

	constructor(box: HTMLElement, list: () => Element | null)
	{
		this.box = box;
		this.list = list;
		this.watcher = new ResizeObserver((entries) => {
			for (const { target, contentRect } of entries)
				if (target !== box && contentRect.height > 0)
					skippable(target as HTMLElement, contentRect.height);
			// The field below may grow, the keyboard of a phone may come.
			this.keep();
		});
		this.watcher.observe(box);
	}

	end(): void
	{
		this.watcher.disconnect();
	}

	watch(block: Element): void
	{
		this.watcher.observe(block);
	}

	unwatch(block: Element): void
	{
		this.watcher.unobserve(block);
	}

	/** The number of px below the eye. */
	get below(): number
	{
		return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight;
	}

	/** Takes note of the row at the upper edge. */
	mark(): void
	{
		const top = this.box.getBoundingClientRect().top;
		const blocks = this.list()?.children;
		const block = blocks?.[Math.max(0, lastAbove(blocks, top))];
		const row = block && (block.children[Math.max(0, lastAbove(block.children, top))] ?? block);

		this.anchor = row ? { row, y: this.heightOf(row) } : null;
	}

	/** Puts the eye to the newest row, or the row at the upper edge to where it was. */
	keep(): void
	{
		if (this.stick) {
			this.box.scrollTop = this.box.scrollHeight;
			return;
		}
		if (!this.anchor?.row.isConnected)
			return;
		const y = this.heightOf(this.anchor.row);
		if (y !== this.anchor.y)
			this.box.scrollTop += y - this.anchor.y;
		this.anchor.y = y;
	}

	/** The last row with a number that is seen to its end, or was. */
	lastSeen(): HTMLElement | undefined
	{
		const bottom = this.box.getBoundingClientRect().bottom;
		const blocks = this.list()?.children;

		for (let at = blocks ? lastAbove(blocks, bottom) : -1; at >= 0; at--) {
			const seen = [...blocks![at]!.querySelectorAll<HTMLElement>('[data-seq]')].reverse()
				.find((row) => row.getBoundingClientRect().bottom <= bottom + 4);
			if (seen)
				return seen;
		}
		return undefined;
	}

	/** Where ${row} is in all that can be scrolled. */
	private heightOf(row: Element): number
	{
		return row.getBoundingClientRect().top - this.box.getBoundingClientRect().top + this.box.scrollTop;
	}
}

/** Lets the browser skip ${block}, which then counts as ${height} px high. */
function skippable(block: HTMLElement, height: number): void
{
	block.style.setProperty('contain-intrinsic-height', `${height}px`);
	block.style.setProperty('content-visibility', 'auto');
}
