ALTER TABLE facts DROP COLUMN via;
DROP TABLE api_requests;
DROP INDEX api_tokens_name;
ALTER TABLE api_tokens DROP COLUMN hint;
ALTER TABLE api_tokens DROP COLUMN expires;
