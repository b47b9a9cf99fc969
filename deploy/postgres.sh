#!/bin/sh
# Run once by the Postgres image, when its volume is new: a role that is no superuser, since row-level security does
# not hold for those, with a database of its own and pgvector in it.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$MEMORIST_PASSWORD" --username "${POSTGRES_USER:-postgres}" --dbname postgres <<'SQL'
CREATE ROLE memorist LOGIN PASSWORD :'password';
CREATE DATABASE memorist OWNER memorist;
\connect memorist
CREATE EXTENSION vector;
SQL
