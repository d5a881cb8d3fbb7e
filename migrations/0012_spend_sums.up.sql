-- Sums of the sums in spend_days, for what reads many days: a year of pages and the caps of a month need not add up every conversation of every day.
-- spend_days stays what is true; triggers carry each change of it on, within its own transaction, whoever makes it.
--
-- What calls took in a day, of all conversations together.
CREATE TABLE spend_kinds (
    day                TEXT NOT NULL,
    purpose            TEXT NOT NULL,
    provider           TEXT NOT NULL,
    model              TEXT NOT NULL,
    calls              INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost               INTEGER NOT NULL,
    assumed            INTEGER NOT NULL,
    estimated          INTEGER NOT NULL,
    PRIMARY KEY (day, purpose, provider, model)
) STRICT, WITHOUT ROWID;

-- What calls took in a conversation, of all kinds together, by day and by month.
CREATE TABLE spend_roots (
    span               TEXT NOT NULL CHECK (span IN ('day', 'month')),
    period             TEXT NOT NULL, -- the day, or the month as YYYY-MM
    root               TEXT NOT NULL,
    calls              INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    cost               INTEGER NOT NULL,
    assumed            INTEGER NOT NULL,
    estimated          INTEGER NOT NULL,
    PRIMARY KEY (span, period, root)
) STRICT, WITHOUT ROWID;

INSERT INTO spend_kinds SELECT day, purpose, provider, model,
    sum(calls), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
    sum(cache_write_tokens), sum(cost), sum(assumed), sum(estimated)
    FROM spend_days GROUP BY day, purpose, provider, model;
INSERT INTO spend_roots SELECT 'day', day, root,
    sum(calls), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
    sum(cache_write_tokens), sum(cost), sum(assumed), sum(estimated)
    FROM spend_days GROUP BY day, root;
INSERT INTO spend_roots SELECT 'month', substr(day, 1, 7), root,
    sum(calls), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
    sum(cache_write_tokens), sum(cost), sum(assumed), sum(estimated)
    FROM spend_days GROUP BY substr(day, 1, 7), root;

CREATE TRIGGER spend_days_insert AFTER INSERT ON spend_days BEGIN
    INSERT INTO spend_kinds VALUES (new.day, new.purpose, new.provider, new.model,
        new.calls, new.input_tokens, new.output_tokens, new.cache_read_tokens,
        new.cache_write_tokens, new.cost, new.assumed, new.estimated)
        ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens,
            output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
            cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cost = cost + excluded.cost,
            assumed = assumed + excluded.assumed, estimated = estimated + excluded.estimated;
    INSERT INTO spend_roots VALUES ('day', new.day, new.root,
        new.calls, new.input_tokens, new.output_tokens, new.cache_read_tokens,
        new.cache_write_tokens, new.cost, new.assumed, new.estimated)
        ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens,
            output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
            cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cost = cost + excluded.cost,
            assumed = assumed + excluded.assumed, estimated = estimated + excluded.estimated;
    INSERT INTO spend_roots VALUES ('month', substr(new.day, 1, 7), new.root,
        new.calls, new.input_tokens, new.output_tokens, new.cache_read_tokens,
        new.cache_write_tokens, new.cost, new.assumed, new.estimated)
        ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens,
            output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
            cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cost = cost + excluded.cost,
            assumed = assumed + excluded.assumed, estimated = estimated + excluded.estimated;
END;

CREATE TRIGGER spend_days_update AFTER UPDATE ON spend_days BEGIN
    INSERT INTO spend_kinds VALUES (new.day, new.purpose, new.provider, new.model,
        new.calls - old.calls, new.input_tokens - old.input_tokens, new.output_tokens - old.output_tokens, new.cache_read_tokens - old.cache_read_tokens,
        new.cache_write_tokens - old.cache_write_tokens, new.cost - old.cost, new.assumed - old.assumed, new.estimated - old.estimated)
        ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens,
            output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
            cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cost = cost + excluded.cost,
            assumed = assumed + excluded.assumed, estimated = estimated + excluded.estimated;
    INSERT INTO spend_roots VALUES ('day', new.day, new.root,
        new.calls - old.calls, new.input_tokens - old.input_tokens, new.output_tokens - old.output_tokens, new.cache_read_tokens - old.cache_read_tokens,
        new.cache_write_tokens - old.cache_write_tokens, new.cost - old.cost, new.assumed - old.assumed, new.estimated - old.estimated)
        ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens,
            output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
            cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cost = cost + excluded.cost,
            assumed = assumed + excluded.assumed, estimated = estimated + excluded.estimated;
    INSERT INTO spend_roots VALUES ('month', substr(new.day, 1, 7), new.root,
        new.calls - old.calls, new.input_tokens - old.input_tokens, new.output_tokens - old.output_tokens, new.cache_read_tokens - old.cache_read_tokens,
        new.cache_write_tokens - old.cache_write_tokens, new.cost - old.cost, new.assumed - old.assumed, new.estimated - old.estimated)
        ON CONFLICT DO UPDATE SET calls = calls + excluded.calls, input_tokens = input_tokens + excluded.input_tokens,
            output_tokens = output_tokens + excluded.output_tokens, cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
            cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cost = cost + excluded.cost,
            assumed = assumed + excluded.assumed, estimated = estimated + excluded.estimated;
END;

CREATE TRIGGER spend_days_delete AFTER DELETE ON spend_days BEGIN
    UPDATE spend_kinds SET calls = calls - old.calls, input_tokens = input_tokens - old.input_tokens,
        output_tokens = output_tokens - old.output_tokens, cache_read_tokens = cache_read_tokens - old.cache_read_tokens,
        cache_write_tokens = cache_write_tokens - old.cache_write_tokens, cost = cost - old.cost,
        assumed = assumed - old.assumed, estimated = estimated - old.estimated
        WHERE day = old.day AND purpose = old.purpose AND provider = old.provider AND model = old.model;
    DELETE FROM spend_kinds WHERE calls = 0 AND day = old.day AND purpose = old.purpose AND provider = old.provider AND model = old.model;
    UPDATE spend_roots SET calls = calls - old.calls, input_tokens = input_tokens - old.input_tokens,
        output_tokens = output_tokens - old.output_tokens, cache_read_tokens = cache_read_tokens - old.cache_read_tokens,
        cache_write_tokens = cache_write_tokens - old.cache_write_tokens, cost = cost - old.cost,
        assumed = assumed - old.assumed, estimated = estimated - old.estimated
        WHERE span = 'day' AND period = old.day AND root = old.root;
    DELETE FROM spend_roots WHERE calls = 0 AND span = 'day' AND period = old.day AND root = old.root;
    UPDATE spend_roots SET calls = calls - old.calls, input_tokens = input_tokens - old.input_tokens,
        output_tokens = output_tokens - old.output_tokens, cache_read_tokens = cache_read_tokens - old.cache_read_tokens,
        cache_write_tokens = cache_write_tokens - old.cache_write_tokens, cost = cost - old.cost,
        assumed = assumed - old.assumed, estimated = estimated - old.estimated
        WHERE span = 'month' AND period = substr(old.day, 1, 7) AND root = old.root;
    DELETE FROM spend_roots WHERE calls = 0 AND span = 'month' AND period = substr(old.day, 1, 7) AND root = old.root;
END;

-- What a row counts for never changes: only then the difference of two sums belongs to one of them.
CREATE TRIGGER spend_days_key BEFORE UPDATE OF day, root, purpose, provider, model ON spend_days BEGIN
    SELECT raise(ABORT, 'what a sum of spending counts for does not change');
END;
