-- SPDX-License-Identifier: MIT
-- One-time passwords.

-- password_once_until: NULL if the password is an ordinary one.  Above 0: it is
-- a one-time password that no log-in has used, valid until this time.  0: a
-- log-in has used it, and the only use left is to set another password.
ALTER TABLE users ADD COLUMN password_once_until BIGINT
    CHECK (password_once_until >= 0);
