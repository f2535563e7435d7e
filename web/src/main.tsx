// SPDX-License-Identifier: MIT

import { render } from 'preact';

import { App } from './app.tsx';
import './base.css';
import './style.css';

render(<App />, document.getElementById('app')!);
