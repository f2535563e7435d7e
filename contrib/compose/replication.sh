#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs once, when the database is created: a replica may stream with the
# password of the database's user.  (The image's own rules are for all
# databases, but to PostgreSQL replication is not one of them.)
set -eu
echo 'host replication all samenet scram-sha-256' >> "$PGDATA/pg_hba.conf"
