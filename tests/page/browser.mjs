// SPDX-License-Identifier: MIT
//
// People with a browser: Debian's Chromium, driven by playwright-core, on the
// page of a real twinboxd.  A Person is one browser context (own storage, own
// log-in) with one page.  Violations of the Content-Security-Policy, errors and
// dialogs of the page are collected; each is a failure unless a test expects
// it.
//
// Environment: CHROMIUM names the program.  The default is Debian's Chromium
// without a user interface (chromium-headless-shell), which needs half of the
// processor time: the whole program runs its own windows as pages beside ours.
// TWINBOX_BUILD is the build whose folder screenshots/ gets the pictures.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { PASSWORD, Server, TWINBOXD } from '../e2e/harness.mjs';

// The packages are those of the end-to-end tests.
const packages = createRequire(new URL('../e2e/package.json', import.meta.url));
const { chromium } = packages('playwright-core');
const AXE = fs.readFileSync(packages.resolve('axe-core/axe.min.js'), 'utf8');

export const BUILD = process.env.TWINBOX_BUILD ?? path.dirname(TWINBOXD);
export const SOURCE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const SHOTS = path.join(BUILD, 'screenshots');
export const PATIENCE = 20_000 * Number(process.env.TWINBOX_SLOW ?? 1);
export const DESKTOP = { width: 1100, height: 760 };
export const PHONE = { width: 390, height: 780 };

/**
 * Messages on Chromium's console that are not errors: the server is down, or it
 * refuses what a user typed.
 */
const NETWORK = /the server responded with a status of 4|ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INTERNET_DISCONNECTED|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)|WebSocket connection to/;

/* For what the program without a user interface lacks, such as notifications. */
export const WHOLE = '/usr/bin/chromium';

/**
 * Starts a browser for a test file, and closes it after the tests.  ${args}
 * returns further arguments for it.
 */
export function browserForFile(hooks, args = () => [], program = '/usr/bin/chromium-headless-shell')
{
	const holder = {};

	hooks.before(async () => {
		holder.browser = await chromium.launch({
			executablePath: process.env.CHROMIUM ?? program,
			// Chromium's own sandbox does not work as root.
			args: [...(process.getuid() === 0 ? ['--no-sandbox'] : []), ...args()],
		});
	});
	hooks.after(() => holder.browser?.close());
	return holder;
}

/** A server that keeps its port over restarts, as real servers do. */
export class SteadyServer extends Server {
	async start(options)
	{
		await super.start(options);
		this.args = ['--listen', new URL(this.url).host];
		return this;
	}
}

export class Person {
	/**
	 * Options: viewport, scheme, bypassCSP (for axe, which is a script),
	 * touch, start (the first path, without its leading /), prepare (called
	 * with the browser context before anything is loaded), worker (allows
	 * the service worker, which outlives the page and can answer in place
	 * of the server).
	 */
	static async make(holder, server, name, { viewport = DESKTOP, scheme = 'light', bypassCSP = false,
		touch = false, start = '', prepare, worker = false } = {})
	{
		const person = new this();

		person.server = server;
		person.name = name;
		person.troubles = [];
		person.dialogs = [];
		person.context = await holder.browser.newContext({
			viewport, colorScheme: scheme, bypassCSP, locale: 'en-GB', timezoneId: 'Europe/Berlin',
			hasTouch: touch, isMobile: touch, reducedMotion: 'reduce',
			serviceWorkers: worker ? 'allow' : 'block',
		});
		person.context.setDefaultTimeout(PATIENCE);
		await person.context.addInitScript(() => {
			globalThis.violations = [];
			addEventListener('securitypolicyviolation', (event) => globalThis.violations.push(
				`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
		});
		await prepare?.(person.context);
		await person.open(start);
		return person;
	}

	/**
	 * Opens a page, or another one, of the same browser, at the path
	 * ${where} without its leading /.
	 */
	async open(where = '')
	{
		this.page = await this.context.newPage();
		this.page.on('pageerror', (error) => this.troubles.push(String(error)));
		this.page.on('console', (message) => {
			const text = `${message.text()} ${message.location().url}`;
			if (message.type() === 'error' && !NETWORK.test(text))
				this.troubles.push(text);
		});
		this.page.on('dialog', (dialog) => {
			this.dialogs.push(dialog.message());
			void dialog.dismiss();
		});
		await this.page.goto(`${this.server.url}/${where}`);
		return this;
	}

	/** Logs in with the keyboard, as people do. */
	async logIn(device)
	{
		await this.page.getByLabel('Name').fill(this.name);
		await this.page.getByLabel('Password').fill(PASSWORD);
		if (device !== undefined)
			await this.page.getByLabel('This device').fill(device);
		await this.page.keyboard.press('Enter');
		await this.link('live');
		return this;
	}

	/**
	 * Waits until the page shows that its connection is in one of
	 * ${states}.
	 */
	async link(...states)
	{
		const any = states.map((state) => `[data-link=${state}]`).join(',');
		await this.page.locator(any).waitFor({ state: 'attached' });
	}

	/** Opens the conversation with ${name} in the list. */
	async talkTo(name)
	{
		await this.item(name).click();
		await this.page.getByRole('heading', { name, exact: true }).waitFor();
	}

	/** Starts a conversation with the form behind the + button. */
	async writeTo(name)
	{
		await this.page.getByRole('button', { name: 'New conversation' }).click();
		await this.page.getByLabel('Write to').fill(name);
		await this.page.keyboard.press('Enter');
		await this.page.getByRole('heading', { name, exact: true }).waitFor();
	}

	async settings()
	{
		await this.page.getByRole('link', { name: 'Settings' }).click();
		await this.page.getByRole('heading', { name: 'Settings' }).waitFor();
	}

	/**
	 * Opens the settings and the question that comes before this device is
	 * logged out.
	 */
	async askToLogOut()
	{
		await this.settings();
		await this.page.getByRole('button', { name: 'Log out', exact: true }).click();
		await this.page.getByRole('dialog').waitFor();
	}

	async say(text)
	{
		await this.field.fill(text);
		await this.page.keyboard.press('Enter');
	}

	get field()
	{
		return this.page.locator('#text');
	}

	/** The row of ${name} in the list. */
	item(name)
	{
		return this.page.locator(`nav a[href="#to/${name}"]`);
	}

	/** The row of the message whose whole text is ${text}. */
	message(text)
	{
		return this.page.locator('.msg').filter({ has: this.page.locator('.text')
			.getByText(text, { exact: true }) });
	}

	/** Waits for the message ${text}, and asserts that it appears once. */
	async sees(text)
	{
		await this.message(text).first().waitFor();
		assert.equal(await this.message(text).count(), 1, `"${text}" is there once`);
	}

	/** Waits until the tick of the own message ${text} shows ${state}. */
	async tick(text, state)
	{
		await this.message(text).locator(`.tick.${state}`).waitFor();
	}

	/** Returns all texts shown, in order. */
	async texts()
	{
		return this.page.locator('.msg .text').allTextContents();
	}

	async shot(name)
	{
		fs.mkdirSync(SHOTS, { recursive: true });
		await this.page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
	}

	/**
	 * Waits for the end of all animations.  During a fade the contrast is
	 * too low, which axe would report.
	 */
	async still()
	{
		await this.page.evaluate(() => Promise.allSettled(document.getAnimations()
			.filter((one) => one.effect?.getComputedTiming().endTime !== Infinity)
			.map((one) => one.finished)));
	}

	/** Returns what axe finds that has one of ${impacts}. */
	async axe(impacts = ['serious', 'critical'])
	{
		await this.still();
		await this.page.evaluate(AXE);
		const { violations, passes } = await this.page.evaluate(() => globalThis.axe.run());
		assert.ok(passes.length > 10, `axe looked: ${passes.length} rules passed`);
		return violations.filter((one) => impacts.includes(one.impact))
			.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(' ')).join(', ')}`);
	}

	async violations()
	{
		return this.page.evaluate(() => globalThis.violations);
	}

	/** Asserts that this browser has collected no failures. */
	async unharmed()
	{
		assert.deepEqual(this.troubles, [], 'errors of the page');
		assert.deepEqual(this.dialogs, [], 'dialogs');
		assert.deepEqual(await this.violations(), [], 'violations of the policy');
	}

	async close()
	{
		await this.context.close();
	}
}
