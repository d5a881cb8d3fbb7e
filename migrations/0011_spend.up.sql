-- What model calls cost, and what may still be spent. A day is a day of the person's own time zone, as YYYY-MM-DD, and stays the one a
-- call began on. Money is micro-dollars.
--
-- What would let a failed answer go on, so that the page can offer it in its place.
ALTER TABLE messages ADD COLUMN failure_need TEXT NOT NULL DEFAULT '';

-- Calls that are under way: each counts as much as it may cost until it is known what it did cost. What a process that died
-- left here is counted at that.
CREATE TABLE spend_open (
    id       TEXT PRIMARY KEY,
    day      TEXT NOT NULL,
    root     TEXT NOT NULL, -- the conversation of the person that it belongs to, also for helpers; '' for none
    purpose  TEXT NOT NULL,
    provider TEXT NOT NULL,
    model    TEXT NOT NULL,
    input    INTEGER NOT NULL, -- tokens, as estimated
    cost     INTEGER NOT NULL, -- the most it may cost
    assumed  INTEGER NOT NULL CHECK (assumed IN (0, 1)), -- its price is not known
    created  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Calls that ended, summed up by all that is asked of them.
CREATE TABLE spend_days (
    day                TEXT NOT NULL,
    root               TEXT NOT NULL,
    purpose            TEXT NOT NULL,
    provider           TEXT NOT NULL,
    model              TEXT NOT NULL,
    calls              INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost               INTEGER NOT NULL,
    assumed            INTEGER NOT NULL, -- of cost: at a price that is not known
    estimated          INTEGER NOT NULL, -- of cost: of calls that did not say what they took
    PRIMARY KEY (day, root, purpose, provider, model)
) STRICT, WITHOUT ROWID;

CREATE INDEX spend_days_root ON spend_days (root, cost) WHERE root <> '';

-- Caps raised for once: what may be spent beyond them in one day, month or conversation.
CREATE TABLE spend_raises (
    cap     TEXT NOT NULL CHECK (cap IN ('day', 'month', 'thread', 'background')),
    period  TEXT NOT NULL, -- the day, the month as YYYY-MM, or the conversation
    amount  INTEGER NOT NULL CHECK (amount > 0),
    created INTEGER NOT NULL,
    PRIMARY KEY (cap, period, created)
) STRICT, WITHOUT ROWID;

-- What the person was told of a cap, so that it is said once.
CREATE TABLE spend_said (
    cap     TEXT NOT NULL,
    period  TEXT NOT NULL,
    level   TEXT NOT NULL,
    allowed INTEGER NOT NULL, -- of the cap then: one that was raised is told of anew
    created INTEGER NOT NULL,
    PRIMARY KEY (cap, period, level, allowed)
) STRICT, WITHOUT ROWID;
