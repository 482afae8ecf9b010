-- Drops every record: calls that were made before can be made again. Stop the
-- workers first.
BEGIN;

SELECT pg_advisory_xact_lock(hashtext('idempotency_records'), 1);

DROP TABLE IF EXISTS idempotency_records;
DROP TABLE IF EXISTS idempotency_audit;
DROP TABLE IF EXISTS idempotency_maintenance;
DROP TABLE IF EXISTS idempotency_server;
DROP TABLE IF EXISTS idempotency_schema;

COMMIT;
