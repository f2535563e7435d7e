// SPDX-License-Identifier: MIT
// The setting of notifications.  The click that switches them on requests the browser's permission.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { permission, request } from './notify.ts';
import { change, settings } from './settings.ts';

export function NotifyForm(): JSX.Element
{
	const [, draw] = useState(0);
	const { notify, notifyText } = settings();
	const allowed = permission();

	async function choose(on: boolean): Promise<void>
	{
		if (on)
			await request();
		else
			change({ notify: false });
		// The box shows the setting in force, not the click.
		draw((n) => n + 1);
	}

	if (allowed === 'none')
		return <p>This browser shows no notifications here. They need a page that is served over
			https.</p>;
	return (
		<>
			<div class="field choice">
				<label>
					<input type="checkbox" checked={notify && allowed === 'granted'}
						onChange={(event) => void choose(event.currentTarget.checked)} />
					Notify of messages while the page is not visible
				</label>
				{notify && allowed === 'granted' && <label>
					<input type="checkbox" checked={notifyText}
						onChange={(event) => change({ notifyText: event.currentTarget.checked })} />
					Show the text of the message
				</label>}
			</div>
			{allowed === 'denied' && <p class="hint" role="status">The browser does not allow
				notifications of this page. Its own settings for this site change that.</p>}
		</>
	);
}
