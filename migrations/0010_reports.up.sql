-- What the doctor and the audit found. Reports are for the person alone: nothing that builds a prompt, recalls or
-- exports a conversation reads this table. body is JSON without secrets.
CREATE TABLE reports (
    seq   INTEGER PRIMARY KEY,
    id    TEXT NOT NULL UNIQUE,
    kind  TEXT NOT NULL CHECK (kind IN ('health', 'safety')),
    at    INTEGER NOT NULL,
    body  TEXT NOT NULL
) STRICT;

CREATE INDEX reports_kind ON reports (kind, seq);
