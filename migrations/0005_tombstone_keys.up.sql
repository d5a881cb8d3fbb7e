-- Tombstones that came with an archive of another home keep holding: their hashes were made with that home's key.
CREATE TABLE tombstone_keys (
    id  TEXT PRIMARY KEY, -- names the key
    key BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Which key the hashes of a tombstone were made with; '' is this home's own.
ALTER TABLE tombstones ADD COLUMN key TEXT NOT NULL DEFAULT '';
