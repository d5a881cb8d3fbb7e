-- What the person said no to when it was offered: hashes keyed with the home's own key, so that they give nothing away and
-- nothing of it is offered again.
CREATE TABLE declined (
    proposal  TEXT NOT NULL,
    hash      BLOB NOT NULL,
    statement INTEGER NOT NULL CHECK (statement IN (0, 1)), -- of the whole statement, not of a pair of its words
    created   INTEGER NOT NULL,
    PRIMARY KEY (proposal, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX declined_hash ON declined (hash);
