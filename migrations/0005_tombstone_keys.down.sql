-- What another home's key is needed for cannot be compared without it.
DELETE FROM tombstones WHERE key <> '';
ALTER TABLE tombstones DROP COLUMN key;
DROP TABLE tombstone_keys;
