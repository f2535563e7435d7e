#!/bin/sh
# SPDX-License-Identifier: MIT
# Run once, when the database is made: a replica may stream with the password of
# the database's user.  (The image's own rules name all databases, but to
# PostgreSQL replication is none of them.)
set -eu
echo 'host replication all samenet scram-sha-256' >> "$PGDATA/pg_hba.conf"
