// SPDX-License-Identifier: MIT

import { render } from 'preact';

import { App } from './app.tsx';
import './base.css';
import { startWorker } from './offline.ts';
import { startSettings } from './settings.ts';
import './style.css';

startSettings();
render(<App />, document.getElementById('app')!);
startWorker();
