-- Conversations: who speaks, threads, the tree of messages, what a turn did,
-- and the search over it.
--
-- Times are UTC microseconds since 1970, 0 where there is none; durations are
-- nanoseconds; money is micro-dollars; sizes are bytes. seq is the order in
-- which rows were stored: clocks step back, it does not. Labels, parts, grants
-- and decisions are JSON; the store has their one codec. A reference that may
-- be absent is NULL. Turns are not foreign keys of what they made: both go
-- with their thread, and each such key would need an index of its own.

CREATE TABLE properties (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The ledger's hashes are keyed, so that a short text cannot be guessed from
-- its hash once the text itself is gone.
INSERT INTO properties (name, value) VALUES ('ledger_key', randomblob(32));

CREATE TABLE persons (
    id           TEXT PRIMARY KEY,
    display_name TEXT NOT NULL,
    owner        INTEGER NOT NULL CHECK (owner IN (0, 1)),
    notes        TEXT NOT NULL,
    created      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX persons_owner ON persons (owner) WHERE owner = 1;

CREATE TABLE person_channels (
    channel     TEXT NOT NULL,
    external_id TEXT NOT NULL,
    person      TEXT NOT NULL REFERENCES persons (id) ON DELETE CASCADE,
    PRIMARY KEY (channel, external_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX person_channels_person ON person_channels (person);

-- The owner: a UUIDv7 like every id, the name is asked for later.
INSERT INTO persons (id, display_name, owner, notes, created)
SELECT substr(ms, 1, 8) || '-' || substr(ms, 9, 4) || '-7' || substr(r, 1, 3) || '-'
           || substr('89ab', 1 + (random() & 3), 1) || substr(r, 4, 3) || '-' || substr(r, 7, 12),
       '', 1, '', CAST(unixepoch('subsec') * 1000000 AS INTEGER)
FROM (SELECT printf('%012x', CAST(unixepoch('subsec') * 1000 AS INTEGER)) AS ms,
             lower(hex(randomblob(16))) AS r);

CREATE TABLE threads (
    seq           INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    title         TEXT NOT NULL,
    title_source  TEXT NOT NULL CHECK (title_source IN ('', 'words', 'model', 'person')),
    head          TEXT,
    channel       TEXT NOT NULL,
    external_id   TEXT,
    person        TEXT REFERENCES persons (id),
    model         TEXT NOT NULL,
    root          TEXT NOT NULL,
    work_dir      TEXT NOT NULL,
    grants        TEXT NOT NULL,
    budget_cost   INTEGER NOT NULL,
    budget_tokens INTEGER NOT NULL,
    parent_call   TEXT,
    pinned        INTEGER NOT NULL CHECK (pinned IN (0, 1)),
    archived      INTEGER NOT NULL,
    deleted       INTEGER NOT NULL,
    created       INTEGER NOT NULL,
    updated       INTEGER NOT NULL,
    search_title  TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX threads_origin ON threads (channel, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX threads_current ON threads (pinned, updated, seq)
    WHERE deleted = 0 AND archived = 0 AND parent_call IS NULL;
CREATE INDEX threads_archived ON threads (pinned, updated, seq)
    WHERE deleted = 0 AND archived <> 0 AND parent_call IS NULL;
CREATE INDEX threads_deleted ON threads (deleted) WHERE deleted <> 0;

-- Wide columns come last, so that lists do not read them.
CREATE TABLE messages (
    seq                INTEGER PRIMARY KEY,
    id                 TEXT NOT NULL UNIQUE,
    thread             TEXT NOT NULL REFERENCES threads (id),
    parent             TEXT REFERENCES messages (id) DEFERRABLE INITIALLY DEFERRED,
    turn               TEXT,
    role               TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    state              TEXT NOT NULL CHECK (state IN ('queued', 'open', 'complete', 'cut', 'stopped', 'failed')),
    author             TEXT REFERENCES persons (id),
    form               TEXT,
    provider           TEXT NOT NULL,
    model              TEXT NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost               INTEGER NOT NULL,
    first_token        INTEGER NOT NULL,
    duration           INTEGER NOT NULL,
    stop               TEXT NOT NULL,
    failure_code       TEXT NOT NULL,
    failure_public     TEXT NOT NULL,
    covered_boot       TEXT NOT NULL,
    covered_seq        INTEGER NOT NULL,
    created            INTEGER NOT NULL,
    finished           INTEGER NOT NULL,
    preview            TEXT NOT NULL,
    labels             TEXT NOT NULL,
    parts              TEXT NOT NULL,
    search_text        TEXT NOT NULL
) STRICT;

CREATE INDEX messages_siblings ON messages (parent, thread, seq, state);
CREATE INDEX messages_thread ON messages (thread, state);
CREATE UNIQUE INDEX messages_form ON messages (thread, form) WHERE form IS NOT NULL;
CREATE INDEX messages_open ON messages (seq) WHERE state = 'open';

-- The text of an open reply, in pieces, until the reply is closed.
CREATE TABLE reply_progress (
    message      TEXT NOT NULL REFERENCES messages (id),
    n            INTEGER NOT NULL,
    text         TEXT NOT NULL,
    thinking     TEXT NOT NULL,
    covered_boot TEXT NOT NULL,
    covered_seq  INTEGER NOT NULL,
    PRIMARY KEY (message, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE message_attachments (
    message TEXT NOT NULL REFERENCES messages (id),
    hash    TEXT NOT NULL,
    PRIMARY KEY (message, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_attachments_hash ON message_attachments (hash);

CREATE TABLE turns (
    seq                INTEGER PRIMARY KEY,
    id                 TEXT NOT NULL UNIQUE,
    thread             TEXT NOT NULL REFERENCES threads (id),
    trigger_message    TEXT NOT NULL,
    state              TEXT NOT NULL CHECK (state IN ('running', 'waiting', 'stopping', 'done', 'stopped', 'failed', 'interrupted')),
    rounds             INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost               INTEGER NOT NULL,
    first_token        INTEGER NOT NULL,
    duration           INTEGER NOT NULL,
    started            INTEGER NOT NULL,
    ended              INTEGER NOT NULL
) STRICT;

CREATE INDEX turns_thread ON turns (thread, seq);
-- At most one turn of a thread is active.
CREATE UNIQUE INDEX turns_active ON turns (thread) WHERE state IN ('running', 'waiting', 'stopping');

CREATE TABLE tool_calls (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    thread      TEXT NOT NULL REFERENCES threads (id),
    turn        TEXT NOT NULL,
    message     TEXT NOT NULL REFERENCES messages (id),
    position    INTEGER NOT NULL,
    provider_id TEXT NOT NULL,
    name        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('proposed', 'waiting', 'approved', 'started', 'finished', 'failed',
                    'stopped', 'denied', 'superseded', 'cancelled', 'unknown')),
    question    INTEGER NOT NULL CHECK (question IN (0, 1)),
    why         TEXT NOT NULL,
    binding     TEXT NOT NULL,
    exit_code   INTEGER,
    created     INTEGER NOT NULL,
    started     INTEGER NOT NULL,
    finished    INTEGER NOT NULL,
    labels      TEXT NOT NULL,
    decision    TEXT,
    extra       TEXT,
    arguments   TEXT NOT NULL,
    result      TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX tool_calls_message ON tool_calls (message, position);
CREATE INDEX tool_calls_thread ON tool_calls (thread);
CREATE INDEX tool_calls_unended ON tool_calls (thread, seq)
    WHERE state IN ('proposed', 'waiting', 'approved', 'started');

CREATE TABLE summaries (
    seq                INTEGER PRIMARY KEY,
    id                 TEXT NOT NULL UNIQUE,
    thread             TEXT NOT NULL REFERENCES threads (id),
    from_message       TEXT NOT NULL,
    to_message         TEXT NOT NULL,
    provider           TEXT NOT NULL,
    model              TEXT NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost               INTEGER NOT NULL,
    first_token        INTEGER NOT NULL,
    duration           INTEGER NOT NULL,
    disabled           INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    created            INTEGER NOT NULL,
    labels             TEXT NOT NULL,
    text               TEXT NOT NULL
) STRICT;

CREATE INDEX summaries_thread ON summaries (thread, seq);

-- The ledger: ids, states, sizes and keyed hashes, never text.
CREATE TABLE events (
    seq         INTEGER PRIMARY KEY,
    boot        TEXT NOT NULL,
    number      INTEGER NOT NULL,
    time        INTEGER NOT NULL,
    thread      TEXT,
    turn        TEXT,
    correlation TEXT,
    path        TEXT NOT NULL,
    kind        TEXT NOT NULL,
    subject     TEXT,
    name        TEXT NOT NULL,
    state       TEXT NOT NULL,
    size        INTEGER NOT NULL,
    hash        TEXT NOT NULL
) STRICT;

CREATE INDEX events_thread ON events (thread, seq) WHERE thread IS NOT NULL;

CREATE TABLE identity_versions (
    seq     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    file    TEXT NOT NULL,
    hash    TEXT NOT NULL,
    size    INTEGER NOT NULL,
    source  TEXT NOT NULL CHECK (source IN ('default', 'page', 'outside', 'restore')),
    created INTEGER NOT NULL,
    text    TEXT NOT NULL
) STRICT;

CREATE INDEX identity_versions_file ON identity_versions (file, seq);

-- Full-text search. The columns hold runs of Chinese, Japanese and Korean with
-- every character set apart by a space, so that a phrase finds a word inside
-- them. columnsize = 0: nothing ranks by length. secure-delete: what is deleted
-- leaves the index at once instead of at the next merge.
CREATE VIRTUAL TABLE messages_fts USING fts5 (
    search_text, content = 'messages', content_rowid = 'seq', columnsize = 0,
    prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO messages_fts (messages_fts, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages WHEN new.search_text <> '' BEGIN
    INSERT INTO messages_fts (rowid, search_text) VALUES (new.seq, new.search_text);
END;
CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages WHEN old.search_text <> '' BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, search_text) VALUES ('delete', old.seq, old.search_text);
END;
CREATE TRIGGER messages_fts_remove BEFORE UPDATE OF search_text ON messages WHEN old.search_text <> '' BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, search_text) VALUES ('delete', old.seq, old.search_text);
END;
CREATE TRIGGER messages_fts_replace AFTER UPDATE OF search_text ON messages WHEN new.search_text <> '' BEGIN
    INSERT INTO messages_fts (rowid, search_text) VALUES (new.seq, new.search_text);
END;

CREATE VIRTUAL TABLE threads_fts USING fts5 (
    search_title, content = 'threads', content_rowid = 'seq', columnsize = 0,
    prefix = '2 3', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO threads_fts (threads_fts, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER threads_fts_insert AFTER INSERT ON threads WHEN new.search_title <> '' BEGIN
    INSERT INTO threads_fts (rowid, search_title) VALUES (new.seq, new.search_title);
END;
CREATE TRIGGER threads_fts_delete AFTER DELETE ON threads WHEN old.search_title <> '' BEGIN
    INSERT INTO threads_fts (threads_fts, rowid, search_title) VALUES ('delete', old.seq, old.search_title);
END;
CREATE TRIGGER threads_fts_remove BEFORE UPDATE OF search_title ON threads WHEN old.search_title <> '' BEGIN
    INSERT INTO threads_fts (threads_fts, rowid, search_title) VALUES ('delete', old.seq, old.search_title);
END;
CREATE TRIGGER threads_fts_replace AFTER UPDATE OF search_title ON threads WHEN new.search_title <> '' BEGIN
    INSERT INTO threads_fts (rowid, search_title) VALUES (new.seq, new.search_title);
END;
