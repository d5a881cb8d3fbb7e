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
    fold       TEXT NOT NULL, -- the same for facts that say the same
    quote      TEXT NOT NULL,
    text       TEXT NOT NULL
) STRICT;

CREATE INDEX facts_said ON facts (said, seq);
CREATE INDEX facts_status ON facts (status, said, seq);
CREATE INDEX facts_kind ON facts (kind, status, said, seq);
CREATE INDEX facts_fold ON facts (fold);
CREATE INDEX facts_current ON facts (id) WHERE status = 'current';
CREATE INDEX facts_created ON facts (created);
CREATE INDEX facts_run ON facts (run) WHERE run IS NOT NULL;
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
    message    TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    passage    TEXT NOT NULL,
    forgetting TEXT NOT NULL,
    created    INTEGER NOT NULL,
    PRIMARY KEY (message, passage, forgetting)
) STRICT, WITHOUT ROWID;

CREATE INDEX message_masks_forgetting ON message_masks (forgetting);

-- What is hidden and can still be taken back, with all that is needed for that. The row goes when
-- it becomes final, and with it the last of the text.
CREATE TABLE forgettings (
    id      TEXT PRIMARY KEY,
    due     INTEGER NOT NULL,
    created INTEGER NOT NULL,
    final   INTEGER NOT NULL, -- decided: taking back is over, files named in it may still be there
    act     TEXT NOT NULL,
    kept    TEXT NOT NULL
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
    seen     INTEGER NOT NULL, -- when the file was looked at
    stale    INTEGER NOT NULL CHECK (stale IN (0, 1)), -- recall has not taken it up yet
    title    TEXT NOT NULL,
    front    TEXT NOT NULL, -- front matter, JSON
    problem  TEXT NOT NULL,
    labels   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX notes_stale ON notes (path) WHERE stale = 1;

-- A note that is gone is not recalled from that moment on.
CREATE TRIGGER notes_delete AFTER DELETE ON notes BEGIN
    DELETE FROM recall_items WHERE kind = 'note' AND ref = old.path;
END;

-- What Ash wrote into notes, by path and by hash, and folders that were imported (their path ends in a slash). It
-- outlives the file: an editor may take a file away and put it back.
CREATE TABLE note_records (
    path   TEXT PRIMARY KEY,
    hash   TEXT NOT NULL,
    labels TEXT NOT NULL,
    own    INTEGER NOT NULL CHECK (own IN (0, 1)), -- the person vouched for this very content
    noted  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX note_records_hash ON note_records (hash) WHERE hash <> '';

CREATE TABLE note_links (
    note   TEXT NOT NULL REFERENCES notes (path) ON DELETE CASCADE,
    target TEXT NOT NULL,
    PRIMARY KEY (note, target)
) STRICT, WITHOUT ROWID;

CREATE INDEX note_links_target ON note_links (target);

-- What recall reads: one row per fact, message, episode and passage of a note. It is made from them and can be
-- made anew. body and context hold words as package lexis makes them (folded, stemmed, without those that say
-- nothing); text is what was indexed, masks applied. Items of a thread are in the order of place; section is the place at which the
-- sitting began that an item belongs to. time is 0 when nobody knows.
CREATE TABLE recall_items (
    seq     INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL CHECK (kind IN ('fact', 'message', 'episode', 'note')),
    ref     TEXT NOT NULL,
    part    INTEGER NOT NULL, -- passage of a note
    thread  TEXT,
    place   INTEGER NOT NULL DEFAULT 0,
    section INTEGER NOT NULL DEFAULT 0,
    time    INTEGER NOT NULL,
    weight  REAL NOT NULL,    -- importance
    marks   INTEGER NOT NULL DEFAULT 0, -- what lexis.MarksOf saw in the text
    words   INTEGER NOT NULL DEFAULT 0, -- in body
    speaker TEXT NOT NULL DEFAULT '',
    labels  TEXT NOT NULL DEFAULT '[]',
    body    TEXT NOT NULL,
    context TEXT NOT NULL,    -- words that lead to it and are not in it: a title, names
    text    TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE UNIQUE INDEX recall_items_ref ON recall_items (kind, ref, part);
CREATE INDEX recall_items_thread ON recall_items (thread, place, seq) WHERE thread IS NOT NULL;
CREATE INDEX recall_items_time ON recall_items (time);

CREATE VIRTUAL TABLE recall_fts USING fts5 (
    body, context, content = 'recall_items', content_rowid = 'seq',
    detail = 'column', tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO recall_fts (recall_fts, rank) VALUES ('secure-delete', 1);

-- How far the messages are indexed (every one up to here that can be), and by which rules of words.
CREATE TABLE recall_state (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    floor INTEGER NOT NULL,
    words INTEGER NOT NULL,
    items INTEGER NOT NULL -- how many there are
) STRICT;
INSERT INTO recall_state (one, floor, words, items) VALUES (1, 0, 0, 0);
CREATE TRIGGER recall_items_insert AFTER INSERT ON recall_items BEGIN
    UPDATE recall_state SET items = items + 1;
END;
CREATE TRIGGER recall_items_delete AFTER DELETE ON recall_items BEGIN
    UPDATE recall_state SET items = items - 1;
END;

-- What a message says changes or goes: its row goes at once, and is made anew when the index is next brought up to date.
CREATE TRIGGER recall_message_delete AFTER DELETE ON messages BEGIN
    DELETE FROM recall_items WHERE kind = 'message' AND ref = old.id;
END;
CREATE TRIGGER recall_message_update AFTER UPDATE OF search_text ON messages WHEN old.search_text <> new.search_text BEGIN
    DELETE FROM recall_items WHERE kind = 'message' AND ref = old.id;
    UPDATE recall_state SET floor = min(floor, new.seq - 1);
END;
CREATE TRIGGER recall_mask_insert AFTER INSERT ON message_masks BEGIN
    DELETE FROM recall_items WHERE kind = 'message' AND ref = new.message;
    UPDATE recall_state SET floor = min(floor, (SELECT seq - 1 FROM messages WHERE id = new.message));
END;
CREATE TRIGGER recall_mask_delete AFTER DELETE ON message_masks WHEN EXISTS (SELECT 1 FROM messages WHERE id = old.message) BEGIN
    DELETE FROM recall_items WHERE kind = 'message' AND ref = old.message;
    UPDATE recall_state SET floor = min(floor, (SELECT seq - 1 FROM messages WHERE id = old.message));
END;

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

-- Meanings: a binary code to find, a byte per dimension to rank, apart because all codes are read at start. A space
-- names an embedder and its dimensions; rows of another than the present one are being replaced.
CREATE TABLE recall_spaces (
    id      INTEGER PRIMARY KEY,
    name    TEXT NOT NULL UNIQUE,
    present INTEGER NOT NULL CHECK (present IN (0, 1))
) STRICT;

CREATE TABLE recall_codes (
    item  INTEGER PRIMARY KEY REFERENCES recall_items (seq) ON DELETE CASCADE,
    space INTEGER NOT NULL,
    code  BLOB NOT NULL
) STRICT;

CREATE TABLE recall_vectors (
    item  INTEGER PRIMARY KEY REFERENCES recall_items (seq) ON DELETE CASCADE,
    space INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;

-- Items that lack a vector of the present space.
CREATE TABLE recall_pending (
    item INTEGER PRIMARY KEY REFERENCES recall_items (seq) ON DELETE CASCADE
) STRICT;

CREATE TRIGGER recall_pending_insert AFTER INSERT ON recall_items
WHEN EXISTS (SELECT 1 FROM recall_spaces WHERE present = 1) BEGIN
    INSERT OR IGNORE INTO recall_pending (item) VALUES (new.seq);
END;
CREATE TRIGGER recall_pending_update AFTER UPDATE OF body, text, speaker ON recall_items
WHEN old.text <> new.text OR old.body <> new.body OR old.speaker <> new.speaker BEGIN
    DELETE FROM recall_codes WHERE item = new.seq;
    DELETE FROM recall_vectors WHERE item = new.seq;
    INSERT OR IGNORE INTO recall_pending (item) SELECT new.seq WHERE EXISTS (SELECT 1 FROM recall_spaces WHERE present = 1);
END;

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
