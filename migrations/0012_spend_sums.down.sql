DROP TRIGGER spend_days_key;
DROP TRIGGER spend_days_delete;
DROP TRIGGER spend_days_update;
DROP TRIGGER spend_days_insert;
DROP TABLE spend_roots;
DROP TABLE spend_kinds;
