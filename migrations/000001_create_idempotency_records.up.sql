-- One row per logical activity call, and the four small tables around it.
--
-- Every statement can be run again, so that this file may be applied by
-- `dedupe migrate up`, by migrations.Up, by golang-migrate or by plain
-- `psql -f`, in any order and more than once. Names are unqualified: the
-- schema is the first one on the search_path.

BEGIN;

-- Two processes that start at once must not both create the tables: IF NOT
-- EXISTS alone can still fail with a unique violation in the catalogue. A
-- transaction-level lock leaves nothing behind when the process dies.
SELECT pg_advisory_xact_lock(hashtext('idempotency_records'), 1);

-- What a completion changes stands last. A heap-only update then logs the end of the
-- row and not all of it, which is three tenths of a call's WAL. Within both parts
-- columns of a fixed length come first and by alignment, so that they carry no
-- padding; between the parts there are seven bytes at most.
CREATE TABLE IF NOT EXISTS idempotency_records (
    -- Times are written by the database's clock only, from durations that the
    -- worker sends; no DEFAULT guesses them. created_at and updated_at are for
    -- people, the other two decide.
    created_at          timestamptz NOT NULL,
    -- Retention: when the row may be evicted. Set by whoever acquires the row,
    -- never by completion, since an update of an indexed column cannot be a
    -- heap-only one. There is no DEFAULT: only the caller knows the retention.
    expires_at          timestamptz NOT NULL,
    -- The first run's scheduled time of the activity, as Temporal reported it.
    scheduled_at        timestamptz,
    -- The length that the lease was given, in milliseconds: how long owners
    -- come first after a restart of the server.
    lease_ms            bigint      NOT NULL,
    -- Moves when the provider must see a new idempotency key. Begins at a number of
    -- the lineage where other lineages may have the key too, and at 0 elsewhere.
    generation          integer     NOT NULL,
    -- How many times the row was acquired: 1, and one more for every takeover
    -- and reopening.
    acquisitions        integer     NOT NULL,
    -- Attempt number at Temporal of the latest acquisition; for people only,
    -- since Temporal may give the same number twice.
    attempt             integer     NOT NULL,
    -- Version of the row's meaning. A reader refuses a version that it does
    -- not know instead of guessing.
    record_version      smallint    NOT NULL,
    -- The right to settle: random and new for each acquisition, kept after
    -- the row is settled so that a lost acknowledgement can be recognised.
    owner_token         uuid        NOT NULL,
    -- Byte order ("C"), whatever the database's locale: batches are locked in
    -- this order by every writer, or they would deadlock.
    key                 text        COLLATE "C" NOT NULL,
    -- Keyed digest of the arguments, v1:<secret id>:<hex>.
    request_hash        text        COLLATE "C" NOT NULL,
    -- What happens when a lease ends and an effect is possible; recorded by
    -- the acquisition, so that a deployment cannot change it under a call.
    takeover_policy     text        COLLATE "C" NOT NULL,
    -- The chain of runs that the call belongs to.
    lineage             text        COLLATE "C" NOT NULL,
    -- RunID/ActivityID/UnixNano of the scheduling. One text column, because a
    -- timestamptz would round the nanoseconds away. Empty: no identity.
    invocation          text        COLLATE "C" NOT NULL,
    namespace           text        NOT NULL,
    workflow_id         text        NOT NULL,
    run_id              text        NOT NULL,
    activity_id         text        NOT NULL,
    activity_type       text        NOT NULL,
    -- Worker identity of the latest owner; for people, never compared.
    owner               text        NOT NULL,
    -- W3C traceparent of the latest owner's span; empty without tracing.
    trace_parent        text        NOT NULL,

    updated_at          timestamptz NOT NULL,
    -- The lease: until when the owner alone may settle the row. A crash must
    -- be over when the lease is, not when retention is. The epoch stands for a
    -- lease that its owner has given up.
    lease_expires_at    timestamptz NOT NULL,
    -- Set while nobody knows how the call ended and an operator must say.
    held_since          timestamptz,
    -- Size in bytes of the result as it was encoded, also when it was too
    -- large to be stored.
    result_size         bigint,
    -- An effect may exist that no result tells of: the body was started and
    -- nobody has said how it ended.
    effect_possible     boolean     NOT NULL,
    -- The body has returned; somebody outside completes the call.
    pending             boolean     NOT NULL,
    -- A failure that the author called final.
    non_retryable       boolean     NOT NULL,
    status              text        COLLATE "C" NOT NULL,
    -- Why a settled row has no result to replay: 'result_too_large', or
    -- 'purged' by an operator. NULL for every other row.
    tombstone           text,
    -- The result as Temporal Payloads and the failure as a Temporal Failure,
    -- both in the client's own encoding: ciphertext if the client encrypts.
    -- bytea, because text and jsonb refuse NUL after the effect was made.
    -- NULL in a completed row means a result without payload.
    response_body       bytea,
    failure             bytea,

    PRIMARY KEY (key),
    CONSTRAINT idempotency_records_key_length
        CHECK (octet_length(key) BETWEEN 1 AND 512),
    CONSTRAINT idempotency_records_status
        CHECK (status IN ('in_progress', 'completed', 'failed')),
    CONSTRAINT idempotency_records_takeover_policy
        CHECK (takeover_policy IN ('reexecute', 'refuse', 'verify')),
    CONSTRAINT idempotency_records_lease
        CHECK (lease_ms > 0),
    CONSTRAINT idempotency_records_tombstone
        CHECK (tombstone IN ('result_too_large', 'purged')),
    CONSTRAINT idempotency_records_outcome
        CHECK ((status = 'completed' OR response_body IS NULL)
           AND (status = 'failed' OR (failure IS NULL AND NOT non_retryable))
           AND (status = 'in_progress' OR NOT pending))
) WITH (
    -- Every row is inserted once and updated once, when its result makes it
    -- longer. With a page filled to 40 % the update finds room beside the row
    -- and touches no index: 200 of 200 updates in one batch were heap-only,
    -- 190 at 45 %.
    fillfactor = 40,
    -- Rows leave by eviction, evenly. The default of 20 % would let 2 million
    -- dead rows gather in a table of 10 million before anything is done.
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.05
);

-- For the evictor. No other index, and no index predicate, may name a column
-- that completion changes: an index on status took heap-only updates from
-- 100 % to none.
CREATE INDEX IF NOT EXISTS idempotency_records_expires_at
    ON idempotency_records (expires_at);

-- The operator's worklist; empty on a healthy system.
CREATE INDEX IF NOT EXISTS idempotency_records_held_since
    ON idempotency_records (held_since) WHERE held_since IS NOT NULL;

-- What operators changed: who, when, why, and the row before and after
-- (never its result).
CREATE TABLE IF NOT EXISTS idempotency_audit (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    key     text        COLLATE "C" NOT NULL,
    verb    text        NOT NULL,
    actor   text        NOT NULL,
    reason  text        NOT NULL,
    before  jsonb,
    after   jsonb
);
CREATE INDEX IF NOT EXISTS idempotency_audit_key ON idempotency_audit (key, id);

-- When each kind of maintenance last ran, so that its absence can be noticed.
CREATE TABLE IF NOT EXISTS idempotency_maintenance (
    name            text        PRIMARY KEY,
    started_at      timestamptz NOT NULL,
    finished_at     timestamptz,
    rows            bigint      NOT NULL,
    correlation_id  text        NOT NULL
);

-- Since when the server has been up. Unlogged, so that a server that starts after a
-- crash, or a standby that takes over, finds it empty: owners could not renew their
-- leases meanwhile, and whoever wants to overtake one notes the time here first and
-- gives them as long as a lease. Two who do so at once leave two rows.
CREATE UNLOGGED TABLE IF NOT EXISTS idempotency_server (
    up_since    timestamptz NOT NULL
);
INSERT INTO idempotency_server (up_since)
SELECT pg_postmaster_start_time()
WHERE NOT EXISTS (SELECT FROM idempotency_server) AND NOT EXISTS (SELECT FROM idempotency_records);

-- The schema's version, whoever applied it. The store reads it at start;
-- golang-migrate's own table is not there when psql was used.
CREATE TABLE IF NOT EXISTS idempotency_schema (
    version     integer     PRIMARY KEY,
    applied_at  timestamptz NOT NULL
);
INSERT INTO idempotency_schema (version, applied_at)
VALUES (1, clock_timestamp())
ON CONFLICT (version) DO NOTHING;

COMMIT;
