-- Doors: the owner's passphrase, the devices that are signed in, and what failed attempts cost.
CREATE TABLE door_passphrase (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    phc     TEXT NOT NULL, -- argon2id
    changed INTEGER NOT NULL
) STRICT;

CREATE TABLE devices (
    id      TEXT PRIMARY KEY,
    name    TEXT NOT NULL,
    agent   TEXT NOT NULL,
    how     TEXT NOT NULL,
    address TEXT NOT NULL,
    hash    BLOB NOT NULL UNIQUE, -- SHA-256 of its secret
    former  BLOB UNIQUE,          -- of the secret before
    retired INTEGER NOT NULL,     -- when that one ceases to work; 0 is: when the present one was used
    rotated INTEGER NOT NULL,
    created INTEGER NOT NULL,
    seen    INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    ended   INTEGER NOT NULL,     -- 0 is not
    revoked INTEGER NOT NULL CHECK (revoked IN (0, 1)) -- by the person
) STRICT, WITHOUT ROWID;

CREATE INDEX devices_ended ON devices (ended, seen);

CREATE TABLE door_delays (
    key   TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
