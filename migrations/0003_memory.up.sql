-- Memory: facts and what they are about, proposals and runs, what was forgotten,
-- and the index that recall reads.

-- True from and until; 0 is open.
CREATE TABLE facts (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL CHECK (kind IN ('core', 'fact', 'pattern')),
    status     TEXT NOT NULL CHECK (status IN ('current', 'superseded', 'retired')),
    owner      TEXT NOT NULL REFERENCES persons (id),
    subject    TEXT NOT NULL,
    confidence REAL NOT NULL,
    importance REAL NOT NULL,
    said       INTEGER NOT NULL,
    true_from  INTEGER NOT NULL,
    true_until INTEGER NOT NULL,
    expires    INTEGER NOT NULL,
    pinned     INTEGER NOT NULL CHECK (pinned IN (0, 1)),
    successor  TEXT,
    source     TEXT NOT NULL,
    thread     TEXT,
    message    TEXT,
    note       TEXT NOT NULL,
    run        TEXT,
    created    INTEGER NOT NULL,
    updated    INTEGER NOT NULL,
    labels     TEXT NOT NULL,
    quote      TEXT NOT NULL,
    text       TEXT NOT NULL
) STRICT;

CREATE INDEX facts_list ON facts (status, kind, updated, seq);
CREATE INDEX facts_successor ON facts (successor) WHERE successor IS NOT NULL;
CREATE INDEX facts_message ON facts (message) WHERE message IS NOT NULL;
CREATE INDEX facts_thread ON facts (thread) WHERE thread IS NOT NULL;
CREATE INDEX facts_expires ON facts (expires) WHERE expires <> 0 AND status = 'current';

CREATE TABLE entities (
    seq   INTEGER PRIMARY KEY,
    id    TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL REFERENCES persons (id),
    kind  TEXT NOT NULL CHECK (kind IN ('person', 'place', 'project', 'thing')),
    name  TEXT NOT NULL,
    fold  TEXT NOT NULL -- the name as it is compared
) STRICT;

CREATE UNIQUE INDEX entities_fold ON entities (owner, fold);

CREATE TABLE entity_aliases (
    entity TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    alias  TEXT NOT NULL,
    fold   TEXT NOT NULL,
    PRIMARY KEY (entity, fold)
) STRICT, WITHOUT ROWID;

CREATE INDEX entity_aliases_fold ON entity_aliases (fold);

CREATE TABLE fact_entities (
    fact   TEXT NOT NULL REFERENCES facts (id) ON DELETE CASCADE,
    entity TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    PRIMARY KEY (fact, entity)
) STRICT, WITHOUT ROWID;

CREATE INDEX fact_entities_entity ON fact_entities (entity);

CREATE TABLE memory_runs (
    seq            INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    kind           TEXT NOT NULL CHECK (kind IN ('learn', 'consolidate')),
    thread         TEXT,
    through        TEXT,
    provider       TEXT NOT NULL,
    model          TEXT NOT NULL,
    input_tokens   INTEGER NOT NULL,
    output_tokens  INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost           INTEGER NOT NULL,
    first_token    INTEGER NOT NULL,
    duration       INTEGER NOT NULL,
    failure_code   TEXT NOT NULL,
    failure_public TEXT NOT NULL,
    undone         INTEGER NOT NULL,
    created        INTEGER NOT NULL,
    changes        TEXT NOT NULL
) STRICT;

CREATE INDEX memory_runs_thread ON memory_runs (thread, seq) WHERE thread IS NOT NULL;

CREATE TABLE proposals (
    seq     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    run     TEXT,
    action  TEXT NOT NULL CHECK (action IN ('keep', 'retire')),
    thread  TEXT,
    message TEXT,
    created INTEGER NOT NULL,
    why     TEXT NOT NULL,
    fact    TEXT NOT NULL
) STRICT;

CREATE TABLE episodes (
    thread       TEXT PRIMARY KEY REFERENCES threads (id) ON DELETE CASCADE,
    through      TEXT NOT NULL,
    began        INTEGER NOT NULL,
    ended        INTEGER NOT NULL,
    created      INTEGER NOT NULL,
    provider     TEXT NOT NULL,
    model        TEXT NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost         INTEGER NOT NULL,
    first_token  INTEGER NOT NULL,
    duration     INTEGER NOT NULL,
    labels       TEXT NOT NULL,
    entities     TEXT NOT NULL,
    text         TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX episodes_ended ON episodes (ended);

-- What was forgotten: hashes are keyed with the ledger's key, so that they give
-- nothing away.
CREATE TABLE tombstones (
    id      TEXT PRIMARY KEY,
    space   TEXT NOT NULL,
    created INTEGER NOT NULL,
    vector  BLOB
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstone_hashes (
    tombstone TEXT NOT NULL REFERENCES tombstones (id) ON DELETE CASCADE,
    hash      BLOB NOT NULL,
    PRIMARY KEY (tombstone, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstone_hashes_hash ON tombstone_hashes (hash);

-- Passages of messages that no prompt and no recall may show any more. An empty
-- passage is the whole message.
CREATE TABLE message_masks (
    message TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    passage TEXT NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (message, passage)
) STRICT, WITHOUT ROWID;

-- Which memories a reply was given: references, never their text.
CREATE TABLE receipts (
    message TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    n       INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    ref     TEXT NOT NULL,
    score   REAL NOT NULL,
    why     TEXT NOT NULL,
    PRIMARY KEY (message, n)
) STRICT, WITHOUT ROWID;

CREATE INDEX receipts_ref ON receipts (ref);

-- Ids that imported messages had elsewhere, and the time as it was said there.
CREATE TABLE message_origins (
    message  TEXT PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
    archive  TEXT NOT NULL,
    external TEXT NOT NULL,
    speaker  TEXT NOT NULL,
    said     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX message_origins_external ON message_origins (archive, external);

-- Notes as they were when last read: the files are the truth.
CREATE TABLE notes (
    path     TEXT PRIMARY KEY,
    hash     TEXT NOT NULL,
    size     INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    title    TEXT NOT NULL,
    front    TEXT NOT NULL, -- front matter, JSON
    problem  TEXT NOT NULL,
    labels   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE note_links (
    note   TEXT NOT NULL REFERENCES notes (path) ON DELETE CASCADE,
    target TEXT NOT NULL,
    PRIMARY KEY (note, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX note_links_target ON note_links (target);

-- What recall reads: one row per fact, message, episode and passage of a note. It is made from them and can be
-- made anew. body and context hold words as the index takes them (folded, CJK set apart); masks are applied.
CREATE TABLE recall_items (
    seq     INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL CHECK (kind IN ('fact', 'message', 'episode', 'note')),
    ref     TEXT NOT NULL,
    part    INTEGER NOT NULL, -- passage of a note
    thread  TEXT,
    time    INTEGER NOT NULL,
    weight  REAL NOT NULL,    -- importance
    body    TEXT NOT NULL,
    context TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX recall_items_ref ON recall_items (kind, ref, part);
CREATE INDEX recall_items_thread ON recall_items (thread, kind, seq) WHERE thread IS NOT NULL;
CREATE INDEX recall_items_time ON recall_items (time);

CREATE VIRTUAL TABLE recall_fts USING fts5 (
    body, context, content = 'recall_items', content_rowid = 'seq',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO recall_fts (recall_fts, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER recall_fts_insert AFTER INSERT ON recall_items BEGIN
    INSERT INTO recall_fts (rowid, body, context) VALUES (new.seq, new.body, new.context);
END;
CREATE TRIGGER recall_fts_delete AFTER DELETE ON recall_items BEGIN
    INSERT INTO recall_fts (recall_fts, rowid, body, context) VALUES ('delete', old.seq, old.body, old.context);
END;
CREATE TRIGGER recall_fts_update AFTER UPDATE OF body, context ON recall_items BEGIN
    INSERT INTO recall_fts (recall_fts, rowid, body, context) VALUES ('delete', old.seq, old.body, old.context);
    INSERT INTO recall_fts (rowid, body, context) VALUES (new.seq, new.body, new.context);
END;

-- Meanings: a binary code to find, a byte per dimension to rank. space names the
-- embedder and its dimensions; rows of another space are being replaced.
CREATE TABLE recall_vectors (
    item  INTEGER PRIMARY KEY REFERENCES recall_items (seq) ON DELETE CASCADE,
    space TEXT NOT NULL,
    code  BLOB NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

-- Tokens of programs that use the API: hashed, scoped, revocable.
CREATE TABLE api_tokens (
    id      TEXT PRIMARY KEY,
    name    TEXT NOT NULL,
    hash    BLOB NOT NULL UNIQUE,
    scopes  TEXT NOT NULL,
    created INTEGER NOT NULL,
    used    INTEGER NOT NULL,
    revoked INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
