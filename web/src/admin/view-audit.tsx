// SPDX-License-Identifier: MIT
// The view of the audit log: the changes by operators, newest first.

import type { JSX } from 'preact';

import { Missing, Pages, Table, type Column } from './parts.tsx';
import { messageHash, queryOf, type Params } from './route.ts';
import type { Audit } from './types.ts';
import { useAdmin, useWatch } from './use.ts';
import { moment, ms } from './words.ts';

const PAGE = 50;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function AuditView({ params }: { params: Params }): JSX.Element
{
	const { client } = useAdmin();
	const found = useWatch<Audit>(`/v1/admin/audit${queryOf({ ...params, limit: String(PAGE) })}`);
	const rows = found.data?.entries ?? [];
	const columns: Column<Audit['entries'][0]>[] = [
		{ head: 'When', cell: (one) => <time dateTime={one.at}>{moment(ms(one.at)!, client.now())}</time> },
		{ head: 'Who', cell: (one) => <strong><bdi>{one.actor}</bdi></strong> },
		{ head: 'Did', cell: (one) => one.action },
		{ head: 'To', cell: (one) => (UUID.test(one.object) ?
			<a href={messageHash(one.object)}><code>{one.object}</code></a> : <bdi>{one.object}</bdi>) },
		{ head: 'Detail', wide: true, cell: (one) => one.detail && <bdi>{one.detail}</bdi> },
	];

	return (
		<>
			<h1 tabIndex={-1}>Audit</h1>
			<p class="hint">Actions of operators, newest first.</p>
			<Missing watched={found} what="entries" />
			{found.data && <>
				{rows.length > 0 && <Table label="Audit" columns={columns} rows={rows} id={(one) => one.audit_id} />}
				<Pages view="audit" params={params} shown={rows.length} next={found.data.next}
					none="Nothing was done here yet." />
			</>}
		</>
	);
}
