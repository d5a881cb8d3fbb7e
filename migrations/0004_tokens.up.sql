-- API tokens: they may end, and a list tells them apart by how they begin. What a token brought says so, and a
-- request that is sent twice is done once.
ALTER TABLE api_tokens ADD COLUMN expires INTEGER NOT NULL DEFAULT 0; -- 0 is never
ALTER TABLE api_tokens ADD COLUMN hint TEXT NOT NULL DEFAULT '';

-- A name is free again once its token is revoked.
CREATE UNIQUE INDEX api_tokens_name ON api_tokens (name COLLATE NOCASE) WHERE revoked = 0;

-- Which memory a request made. Keys and bodies are keyed hashes, so that they give nothing away.
CREATE TABLE api_requests (
    token   TEXT NOT NULL REFERENCES api_tokens (id) ON DELETE CASCADE,
    key     BLOB NOT NULL,
    body    BLOB NOT NULL,
    fact    TEXT NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (token, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX api_requests_created ON api_requests (created);

-- By what means a fact was entered, when not by hand: "API token NAME".
ALTER TABLE facts ADD COLUMN via TEXT NOT NULL DEFAULT '';
