-- Calls that rest until the vault is unlocked: the tool needs a secret of it. They are in the state waiting.
ALTER TABLE tool_calls ADD COLUMN locked INTEGER NOT NULL DEFAULT 0 CHECK (locked IN (0, 1));
