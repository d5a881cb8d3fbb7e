ALTER TABLE tool_calls DROP COLUMN locked;
