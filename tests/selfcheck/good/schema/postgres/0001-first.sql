-- SPDX-License-Identifier: MIT
CREATE TABLE message (id BIGINT PRIMARY KEY, body TEXT);
