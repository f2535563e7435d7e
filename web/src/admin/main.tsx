// SPDX-License-Identifier: MIT

import { render } from 'preact';

import '../base.css';
import { startSettings } from '../settings.ts';
import { App } from './app.tsx';
import './style.css';

startSettings();
render(<App />, document.getElementById('app')!);
