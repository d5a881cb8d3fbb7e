DROP TABLE spend_said;
DROP TABLE spend_raises;
DROP TABLE spend_days;
DROP TABLE spend_open;
DELETE FROM properties WHERE name = 'spend_past';
ALTER TABLE messages DROP COLUMN failure_need;
