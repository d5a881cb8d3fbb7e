-- Figures and lists of memory that cost the same at a hundred thousand facts as at a hundred: what a page would have to
-- count is kept as it changes.

CREATE INDEX facts_source ON facts (source, status, said, seq);
CREATE INDEX facts_source_kind ON facts (source, kind, status, said, seq);
CREATE INDEX facts_pinned ON facts (status, said, seq) WHERE pinned = 1;

-- How many facts there are of each sort, and the bytes of their texts.
CREATE TABLE fact_counts (
    owner     TEXT NOT NULL,
    kind      TEXT NOT NULL,
    status    TEXT NOT NULL,
    pinned    INTEGER NOT NULL,
    untrusted INTEGER NOT NULL, -- a label says so
    n         INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    PRIMARY KEY (owner, kind, status, pinned, untrusted)
) STRICT, WITHOUT ROWID;

-- What each day (UTC, counted from 1970) brought and ended. A fact is learned on the day it was kept, and ends on the day it was last
-- changed when it does not hold.
CREATE TABLE fact_days (
    owner   TEXT NOT NULL,
    day     INTEGER NOT NULL,
    kind    TEXT NOT NULL,
    learned INTEGER NOT NULL,
    ended   INTEGER NOT NULL,
    PRIMARY KEY (owner, day, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO fact_counts SELECT owner, kind, status, pinned, labels LIKE '%"untrusted"%', count(*), sum(octet_length(text))
    FROM facts GROUP BY 1, 2, 3, 4, 5;
INSERT INTO fact_days SELECT owner, day, kind, sum(learned), sum(ended) FROM (
        SELECT owner, created / 86400000000 AS day, kind, 1 AS learned, 0 AS ended FROM facts
        UNION ALL SELECT owner, updated / 86400000000, kind, 0, 1 FROM facts WHERE status <> 'current'
    ) GROUP BY 1, 2, 3;

CREATE TRIGGER facts_count_insert AFTER INSERT ON facts BEGIN
    INSERT INTO fact_counts VALUES (new.owner, new.kind, new.status, new.pinned, new.labels LIKE '%"untrusted"%', 1, octet_length(new.text))
        ON CONFLICT DO UPDATE SET n = n + 1, bytes = bytes + excluded.bytes;
    INSERT INTO fact_days VALUES (new.owner, new.created / 86400000000, new.kind, 1, 0)
        ON CONFLICT DO UPDATE SET learned = learned + 1;
    INSERT INTO fact_days SELECT new.owner, new.updated / 86400000000, new.kind, 0, 1 WHERE new.status <> 'current'
        ON CONFLICT DO UPDATE SET ended = ended + 1;
END;
CREATE TRIGGER facts_count_delete AFTER DELETE ON facts BEGIN
    UPDATE fact_counts SET n = n - 1, bytes = bytes - octet_length(old.text) WHERE owner = old.owner AND kind = old.kind
        AND status = old.status AND pinned = old.pinned AND untrusted = (old.labels LIKE '%"untrusted"%');
    UPDATE fact_days SET learned = learned - 1 WHERE owner = old.owner AND day = old.created / 86400000000 AND kind = old.kind;
    UPDATE fact_days SET ended = ended - 1 WHERE owner = old.owner AND day = old.updated / 86400000000 AND kind = old.kind
        AND old.status <> 'current';
END;
CREATE TRIGGER facts_count_update AFTER UPDATE OF owner, kind, status, pinned, labels, text, created, updated ON facts BEGIN
    UPDATE fact_counts SET n = n - 1, bytes = bytes - octet_length(old.text) WHERE owner = old.owner AND kind = old.kind
        AND status = old.status AND pinned = old.pinned AND untrusted = (old.labels LIKE '%"untrusted"%');
    INSERT INTO fact_counts VALUES (new.owner, new.kind, new.status, new.pinned, new.labels LIKE '%"untrusted"%', 1, octet_length(new.text))
        ON CONFLICT DO UPDATE SET n = n + 1, bytes = bytes + excluded.bytes;
    UPDATE fact_days SET learned = learned - 1 WHERE owner = old.owner AND day = old.created / 86400000000 AND kind = old.kind;
    UPDATE fact_days SET ended = ended - 1 WHERE owner = old.owner AND day = old.updated / 86400000000 AND kind = old.kind
        AND old.status <> 'current';
    INSERT INTO fact_days VALUES (new.owner, new.created / 86400000000, new.kind, 1, 0)
        ON CONFLICT DO UPDATE SET learned = learned + 1;
    INSERT INTO fact_days SELECT new.owner, new.updated / 86400000000, new.kind, 0, 1 WHERE new.status <> 'current'
        ON CONFLICT DO UPDATE SET ended = ended + 1;
END;

-- Who and what facts are about: how many current facts (about), the facts in the order of lists, and who current facts mention
-- together (a < b).
ALTER TABLE entities ADD COLUMN about INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fact_entities ADD COLUMN status TEXT NOT NULL DEFAULT '';
ALTER TABLE fact_entities ADD COLUMN said INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fact_entities ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;

CREATE TABLE entity_links (
    a     TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    b     TEXT NOT NULL REFERENCES entities (id) ON DELETE CASCADE,
    facts INTEGER NOT NULL,
    PRIMARY KEY (a, b)
) STRICT, WITHOUT ROWID;

UPDATE fact_entities SET (status, said, seq) = (SELECT status, said, seq FROM facts WHERE id = fact);
UPDATE entities SET about = (SELECT count(*) FROM fact_entities WHERE entity = id AND status = 'current');
INSERT INTO entity_links SELECT x.entity, y.entity, count(*)
    FROM fact_entities x JOIN fact_entities y ON y.fact = x.fact AND x.entity < y.entity
    WHERE x.status = 'current' GROUP BY 1, 2;

DROP INDEX fact_entities_entity;
CREATE INDEX fact_entities_entity ON fact_entities (entity, status, said, seq);
CREATE INDEX entities_about ON entities (owner, about, seq);
CREATE INDEX entities_kind ON entities (owner, kind, about, seq);
CREATE INDEX entity_links_a ON entity_links (a, facts);
CREATE INDEX entity_links_b ON entity_links (b, facts);

CREATE TRIGGER facts_entities_update AFTER UPDATE OF status, said ON facts BEGIN
    UPDATE fact_entities SET status = new.status, said = new.said WHERE fact = new.id;
END;
CREATE TRIGGER fact_entities_insert AFTER INSERT ON fact_entities BEGIN
    UPDATE fact_entities SET (status, said, seq) = (SELECT status, said, seq FROM facts WHERE id = new.fact)
        WHERE fact = new.fact AND entity = new.entity;
END;
CREATE TRIGGER fact_entities_begin AFTER UPDATE OF status ON fact_entities
WHEN new.status = 'current' AND old.status <> 'current' BEGIN
    UPDATE entities SET about = about + 1 WHERE id = new.entity;
    INSERT INTO entity_links SELECT min(new.entity, entity), max(new.entity, entity), 1 FROM fact_entities
        WHERE fact = new.fact AND entity <> new.entity AND status = 'current'
        ON CONFLICT DO UPDATE SET facts = facts + 1;
END;
CREATE TRIGGER fact_entities_end AFTER UPDATE OF status ON fact_entities
WHEN new.status <> 'current' AND old.status = 'current' BEGIN
    UPDATE entities SET about = about - 1 WHERE id = new.entity;
    UPDATE entity_links SET facts = facts - 1 WHERE (a, b) IN (SELECT min(new.entity, entity), max(new.entity, entity)
        FROM fact_entities WHERE fact = new.fact AND entity <> new.entity AND status = 'current');
END;
CREATE TRIGGER fact_entities_delete AFTER DELETE ON fact_entities WHEN old.status = 'current' BEGIN
    UPDATE entities SET about = about - 1 WHERE id = old.entity;
    UPDATE entity_links SET facts = facts - 1 WHERE (a, b) IN (SELECT min(old.entity, entity), max(old.entity, entity)
        FROM fact_entities WHERE fact = old.fact AND entity <> old.entity AND status = 'current');
END;
-- Nothing is left of a link that no fact says.
CREATE TRIGGER entity_links_end AFTER UPDATE OF facts ON entity_links WHEN new.facts <= 0 BEGIN
    DELETE FROM entity_links WHERE a = new.a AND b = new.b;
END;

-- How much room memory takes, a row a day at most, for the chart.
CREATE TABLE memory_sizes (
    day      INTEGER PRIMARY KEY, -- UTC, counted from 1970
    taken    INTEGER NOT NULL,
    store    INTEGER NOT NULL,    -- bytes of the database, what follows included
    words    INTEGER NOT NULL,    -- of the index of words
    meaning  INTEGER NOT NULL,    -- of codes and vectors
    noted    INTEGER NOT NULL,    -- of the files of notes
    notes    INTEGER NOT NULL,    -- how many
    episodes INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    vectors  INTEGER NOT NULL
) STRICT;
