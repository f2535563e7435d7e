// SPDX-License-Identifier: MIT
// tags: store
it('its sender is told', () => told(sender));
