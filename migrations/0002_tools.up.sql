-- Tools: what a call would do as it was shown, what policy allows, where files
-- came from, and what the person may want to look up later.

ALTER TABLE tool_calls ADD COLUMN effect TEXT;
ALTER TABLE tool_calls ADD COLUMN findings TEXT;

CREATE INDEX tool_calls_name ON tool_calls (name, seq);
CREATE INDEX tool_calls_waiting ON tool_calls (seq) WHERE state = 'waiting';
CREATE INDEX tool_calls_questions ON tool_calls (thread) WHERE question = 1;

ALTER TABLE threads ADD COLUMN tools TEXT NOT NULL DEFAULT '';
ALTER TABLE threads ADD COLUMN budget_rounds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN budget_wall INTEGER NOT NULL DEFAULT 0;

CREATE INDEX threads_parent ON threads (parent_call) WHERE parent_call IS NOT NULL;

-- Standing rules. match is empty for the switch of a whole tool, else narrow, in
-- the notation of package policy. thread is NULL for rules of the whole house.
CREATE TABLE policy_rules (
    seq     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    tool    TEXT NOT NULL,
    match   TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('allow', 'ask', 'deny')),
    thread  TEXT REFERENCES threads (id) ON DELETE CASCADE,
    sources TEXT NOT NULL,
    uses    INTEGER NOT NULL,
    used    INTEGER NOT NULL,
    created INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX policy_rules_one ON policy_rules (tool, match, ifnull(thread, ''));
CREATE INDEX policy_rules_thread ON policy_rules (thread) WHERE thread IS NOT NULL;

-- What is known of a file's contents: the hash it had when Ash wrote it (or a
-- command did), and the labels of what went into it. A file whose hash differs
-- has no record. path is absolute; a hash of '*' stands for everything at and
-- below it, '~' for a command that may be changing what lies below.
CREATE TABLE file_records (
    path   TEXT PRIMARY KEY,
    hash   TEXT NOT NULL,
    labels TEXT NOT NULL,
    noted  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a file held before Ash changed it, so that the change can be undone.
-- before is NULL when there was no file; bytes is NULL when it was too large to keep.
CREATE TABLE file_versions (
    seq     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    thread  TEXT NOT NULL,
    call    TEXT NOT NULL,
    root    TEXT NOT NULL,
    path    TEXT NOT NULL,
    before  TEXT,
    after   TEXT,
    mode    INTEGER NOT NULL,
    undone  INTEGER NOT NULL,
    created INTEGER NOT NULL,
    labels  TEXT NOT NULL,
    bytes   BLOB
) STRICT;

CREATE INDEX file_versions_call ON file_versions (call);
CREATE INDEX file_versions_path ON file_versions (root, path, seq);
CREATE INDEX file_versions_created ON file_versions (created);

-- The security log: what was found, refused or allowed, never text.
CREATE TABLE security_log (
    seq     INTEGER PRIMARY KEY,
    time    INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    thread  TEXT,
    call    TEXT,
    tool    TEXT NOT NULL,
    rule    TEXT NOT NULL,
    source  TEXT NOT NULL,
    detail  TEXT NOT NULL
) STRICT;

CREATE INDEX security_log_thread ON security_log (thread) WHERE thread IS NOT NULL;
