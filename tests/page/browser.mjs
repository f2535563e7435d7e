// SPDX-License-Identifier: MIT
//
// People with a browser: Debian's Chromium, driven by playwright-core, on the
// page of a real twinboxd.  A Person is one browser context (own storage, own
// log-in) with one page.  Whatever the page breaks of its policy, throws, or
// asks in a dialog is collected, and is a failure unless a test expects it.
//
// Environment: CHROMIUM names the program (default /usr/bin/chromium),
// TWINBOX_BUILD the build whose folder screenshots/ is written to.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { PASSWORD, Server, TWINBOXD } from '../e2e/harness.mjs';

// Its packages are those of the end-to-end tests.
const packages = createRequire(new URL('../e2e/package.json', import.meta.url));
const { chromium } = packages('playwright-core');
const AXE = fs.readFileSync(packages.resolve('axe-core/axe.min.js'), 'utf8');

export const BUILD = process.env.TWINBOX_BUILD ?? path.dirname(TWINBOXD);
export const SOURCE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const SHOTS = path.join(BUILD, 'screenshots');
export const PATIENCE = 20_000 * Number(process.env.TWINBOX_SLOW ?? 1);
export const DESKTOP = { width: 1100, height: 760 };
export const PHONE = { width: 390, height: 780 };

/** What Chromium says on the console although nothing is wrong: the server is
 * away, or refuses what somebody typed. */
const NETWORK = /the server responded with a status of 4|ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INTERNET_DISCONNECTED|EMPTY_RESPONSE|SOCKET_NOT_CONNECTED)|WebSocket connection to/;

/** A browser for a test file, closed after it; ${args} makes arguments of it. */
export function browserForFile(hooks, args = () => [])
{
	const holder = {};

	hooks.before(async () => {
		holder.browser = await chromium.launch({
			executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
			// Chromium's own sandbox does not work for root.
			args: [...(process.getuid() === 0 ? ['--no-sandbox'] : []), ...args()],
		});
	});
	hooks.after(() => holder.browser?.close());
	return holder;
}

/** A server that keeps its port over all its lives, as a real one does. */
export class SteadyServer extends Server {
	async start(options)
	{
		await super.start(options);
		this.args = ['--listen', new URL(this.url).host];
		return this;
	}
}

export class Person {
	/** Options: viewport, scheme, bypassCSP (for axe, which is script), touch,
	 * start (where to begin, without the first /), prepare (is given the
	 * browser context before anything is loaded), worker (the page may have its
	 * service worker, which outlives the page and answers in its server's
	 * place). */
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

	/** A (new) page of the same browser, at ${where} without the first /. */
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

	/** Waits until the page says that its connection is ${state}. */
	async link(...states)
	{
		const any = states.map((state) => `[data-link=${state}]`).join(',');
		await this.page.locator(any).waitFor({ state: 'attached' });
	}

	/** Opens the conversation with ${name} from the list. */
	async talkTo(name)
	{
		await this.item(name).click();
		await this.page.getByRole('heading', { name, exact: true }).waitFor();
	}

	/** Begins a conversation by the form behind +. */
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

	/** Opens the settings and, there, the question before this device is logged out. */
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

	/** The list's line of ${name}. */
	item(name)
	{
		return this.page.locator(`nav a[href="#to/${name}"]`);
	}

	/** The row of the message that says ${text}, and nothing else. */
	message(text)
	{
		return this.page.locator('.msg').filter({ has: this.page.locator('.text')
			.getByText(text, { exact: true }) });
	}

	/** Waits for the message ${text}, of which there is one. */
	async sees(text)
	{
		await this.message(text).first().waitFor();
		assert.equal(await this.message(text).count(), 1, `"${text}" is there once`);
	}

	/** Waits until the tick of my message ${text} says ${state}. */
	async tick(text, state)
	{
		await this.message(text).locator(`.tick.${state}`).waitFor();
	}

	/** All texts that are shown, in order. */
	async texts()
	{
		return this.page.locator('.msg .text').allTextContents();
	}

	async shot(name)
	{
		fs.mkdirSync(SHOTS, { recursive: true });
		await this.page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
	}

	/** Waits until nothing fades any more: half a colour has half a contrast. */
	async still()
	{
		await this.page.evaluate(() => Promise.allSettled(document.getAnimations()
			.filter((one) => one.effect?.getComputedTiming().endTime !== Infinity)
			.map((one) => one.finished)));
	}

	/** What axe finds that is serious or critical, or of ${impacts}. */
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

	/** Nothing went wrong in this browser so far. */
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
