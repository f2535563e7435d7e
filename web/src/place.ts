// SPDX-License-Identifier: MIT
// The scroll position in a long list of rows, and which rows the browser lays out.
//
// All rows are in the document, so that search, selection, the keyboard and screen readers reach
// all of them.  The browser skips a block that is far from the visible part (content-visibility);
// the block then has the height that was measured at its last layout.  So a new block is laid out
// once.
//
// When something above the visible part changes its height (older messages, or a skipped block
// whose width has changed), the row at the upper edge keeps its place.  The browsers' own scroll
// anchoring is off: Safari has none, and two corrections would add up.

/** Returns the index of the last of ${rows}, from top to bottom, that begins above ${y}; -1:
 * none. */
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
			// The text field below may grow, or a phone may show its keyboard.
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

	/** The number of px below the visible part. */
	get below(): number
	{
		return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight;
	}

	/** Remembers the row at the upper edge. */
	mark(): void
	{
		const top = this.box.getBoundingClientRect().top;
		const blocks = this.list()?.children;
		const block = blocks?.[Math.max(0, lastAbove(blocks, top))];
		const row = block && (block.children[Math.max(0, lastAbove(block.children, top))] ?? block);

		this.anchor = row ? { row, y: this.heightOf(row) } : null;
	}

	/** Scrolls to the newest row, or moves the remembered row back to its place. */
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

	/** Returns the last row with a number that is, or was, visible down to its end. */
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

	/** Returns the distance of ${row} from the top of the scrolled content. */
	private heightOf(row: Element): number
	{
		return row.getBoundingClientRect().top - this.box.getBoundingClientRect().top + this.box.scrollTop;
	}
}

/** Lets the browser skip ${block}, with a height of ${height} px while it is skipped. */
function skippable(block: HTMLElement, height: number): void
{
	block.style.setProperty('contain-intrinsic-height', `${height}px`);
	block.style.setProperty('content-visibility', 'auto');
}
