// SPDX-License-Identifier: MIT
//
// icon.svg as a PNG: rectangles, with edges as sharp as the grid allows.  It does
// without a program that draws, which would be one more to install.

import zlib from 'node:zlib';

const SHAPE = /<(?:rect|path)[^>]*>/g;
const RECT = /<rect width="([\d.]+)" height="([\d.]+)"/;
const PATH = /<path d="M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)H[\d.]+z"/;

function shapesOf(svg)
{
	return [...svg.matchAll(SHAPE)].map(([shape]) => {
		const box = RECT.exec(shape) ? [0, 0, ...RECT.exec(shape).slice(1)] : PATH.exec(shape)?.slice(1);
		const fill = /fill="#([0-9a-f]+)"/.exec(shape)?.[1];

		if (!box || !fill)
			throw new Error(`png.mjs: only upright rectangles can be drawn: ${shape}`);
		const [x, y, width, height] = box.map(Number);
		const long = fill.length === 3 ? fill.replace(/./g, '$&$&') : fill;
		return { x, y, width, height, opacity: Number(/fill-opacity="([\d.]+)"/.exec(shape)?.[1] ?? 1),
			colour: [0, 2, 4].map((at) => parseInt(long.slice(at, at + 2), 16)) };
	});
}

/** How much of the pixel at ${at} lies between ${from} and ${upto}. */
const covered = (at, from, upto) => Math.max(0, Math.min(at + 1, upto) - Math.max(at, from));

function crcOf(data)
{
	let crc = ~0;

	for (const byte of data) {
		crc ^= byte;
		for (let bit = 0; bit < 8; bit++)
			crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc >>> 0;
}

function chunk(type, data)
{
	const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
	const [length, crc] = [Buffer.alloc(4), Buffer.alloc(4)];

	length.writeUInt32BE(data.length);
	crc.writeUInt32BE(crcOf(body));
	return Buffer.concat([length, body, crc]);
}

/** ${svg}, which is square, as a PNG of ${size} pixels without transparency. */
export function pngOf(svg, size)
{
	const scale = size / Number(/viewBox="0 0 ([\d.]+) /.exec(svg)[1]);
	const shapes = shapesOf(svg);
	// Each line begins with its filter: none.
	const lines = Buffer.alloc(size * (1 + 3 * size));

	for (let y = 0; y < size; y++)
		for (let x = 0; x < size; x++) {
			let pixel = [255, 255, 255];
			for (const one of shapes) {
				const share = one.opacity *
					covered(x, one.x * scale, (one.x + one.width) * scale) *
					covered(y, one.y * scale, (one.y + one.height) * scale);
				pixel = pixel.map((was, at) => was + (one.colour[at] - was) * share);
			}
			lines.set(pixel.map(Math.round), y * (1 + 3 * size) + 1 + 3 * x);
		}
	const head = Buffer.alloc(13);
	head.writeUInt32BE(size, 0);
	head.writeUInt32BE(size, 4);
	head.set([8, 2], 8); // bits, and colours without transparency
	return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head),
		chunk('IDAT', zlib.deflateSync(lines, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}
