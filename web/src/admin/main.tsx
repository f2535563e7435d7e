// SPDX-License-Identifier: MIT

import { render } from 'preact';

import '../base.css';
import { App } from './app.tsx';
import './style.css';

render(<App />, document.getElementById('app')!);
