-- SPDX-License-Identifier: MIT
-- One-time passwords.

-- password_once_until: NULL: the password is an ordinary one.  Above 0: it is a
-- one-time password that nobody has logged in with, and is valid until then.  0:
-- a log-in has spent it, and it is good for one thing more, to set another.
ALTER TABLE users ADD COLUMN password_once_until INTEGER
    CHECK (password_once_until >= 0);
