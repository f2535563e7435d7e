// SPDX-License-Identifier: MIT
// Settings of this browser, not of the account: the language of times, and the appearance.

import type { JSX } from 'preact';

import { change, settings, type Appearance } from './settings.ts';
import { exactly } from './time.ts';

/* Offered besides the languages of the browser.  Each is shown with its own name. */
const LANGUAGES = ['ar', 'cs', 'da', 'de', 'el', 'en-GB', 'en-US', 'es', 'fi', 'fr', 'he', 'hi', 'hu', 'it',
	'ja', 'ko', 'nl', 'no', 'pl', 'pt-BR', 'pt-PT', 'ro', 'sv', 'tr', 'uk', 'zh-CN', 'zh-TW'];
const APPEARANCES: [Appearance, string][] = [['system', 'As the system'], ['light', 'Light'],
	['dark', 'Dark']];

/** Returns the name of a language: "Deutsch" for "de".  Without a name, returns the tag. */
function nameOf(tag: string): string
{
	try {
		const name = new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? tag;
		return name.charAt(0).toUpperCase() + name.slice(1);
	} catch {
		return tag;
	}
}

export function AppearanceForm(): JSX.Element
{
	const { locale, appearance } = settings();
	const tags = [...new Set([...navigator.languages, ...LANGUAGES, ...(locale ? [locale] : [])])];
	const names = tags.map((tag): [string, string] => [tag, nameOf(tag)])
		.sort((a, b) => a[1].localeCompare(b[1]));

	return (
		<>
			<div class="field">
				<label for="settings-locale">Language of times</label>
				<select id="settings-locale" value={locale} aria-describedby="settings-locale-hint"
					onChange={(event) => change({ locale: event.currentTarget.value })}>
					<option value="">As the browser</option>
					{names.map(([tag, name]) => <option key={tag} value={tag} lang={tag}>{name}</option>)}
				</select>
				<p class="hint" id="settings-locale-hint">Now: {exactly(Date.now())}</p>
			</div>
			<fieldset class="field choice">
				<legend>Appearance</legend>
				{APPEARANCES.map(([value, words]) => (
					<label key={value}>
						<input type="radio" name="appearance" value={value} checked={appearance === value}
							onChange={() => change({ appearance: value })} />
						{words}
					</label>))}
			</fieldset>
		</>
	);
}
