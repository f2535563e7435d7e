// SPDX-License-Identifier: MIT
// The table of the attempts to deliver one row of the outbox.

import type { JSX } from 'preact';

import { Table, Tag, type Column, type Tone } from './parts.tsx';
import type { Attempt } from './types.ts';
import { useAdmin } from './use.ts';
import { duration, moment, ms, outcomeKind, outcomeWords } from './words.ts';

const tones: Record<ReturnType<typeof outcomeKind>, Tone> = { good: 'good', bad: 'bad', open: 'wait' };

export function AttemptsTable({ attempts }: { attempts: Attempt[] }): JSX.Element
{
	const { client } = useAdmin();
	const now = client.now();
	const columns: Column<Attempt>[] = [
		{ head: 'Attempt', num: true, cell: (one) => one.attempt },
		{ head: 'Begun', cell: (one) => moment(ms(one.started_at)!, now) },
		{ head: 'Took', num: true, cell: (one) => (one.finished_at === null ? null :
			duration(ms(one.finished_at)! - ms(one.started_at)!)) },
		{ head: 'Outcome', cell: (one) => <Tag tone={tones[outcomeKind(one.outcome)]}>
			{outcomeWords(one.outcome)}{one.status === null ? '' : ` (${one.status})`}</Tag> },
		{ head: 'Error', wide: true, cell: (one) => one.error && <bdi>{one.error}</bdi> },
		{ head: 'Worker', cell: (one) => <code>{one.owner}</code> },
	];

	if (attempts.length === 0)
		return <p class="hint">No attempt over a network was made.</p>;
	return <Table label="Attempts" tight columns={columns} rows={attempts} id={(one) => one.attempt} />;
}
