-- A schema that a release wrote with SATCHEL_POSTGRESQL=plain: the classes and tables of MovingShop.
-- PlainSchemaTests loads it with another name in the place of plain_schema.
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA plain_schema;
CREATE FUNCTION plain_schema.logstays() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN     RAISE EXCEPTION USING MESSAGE = 'An entry is never changed.';
 RETURN NEW; END $$;
CREATE FUNCTION plain_schema.queuegrew() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN INSERT INTO queued(kind, total) VALUES (1, 1)
ON CONFLICT(kind) DO UPDATE SET total = queued.total + 1;  RETURN NEW; END $$;
CREATE FUNCTION plain_schema.satchel_distance(a_latitude double precision, a_longitude double precision, b_latitude double precision, b_longitude double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    AS $$
        SELECT CASE WHEN a_latitude - b_latitude + a_longitude - b_longitude IS NOT NULL THEN
            2 * asin(sqrt(least(1, power(sin(radians((b_latitude - a_latitude) / 2)), 2)
                + cos(radians(a_latitude)) * cos(radians(b_latitude))
                    * power(sin(radians((b_longitude - a_longitude) / 2)), 2)))) END
    $$;
CREATE FUNCTION plain_schema.satchel_in_box(south double precision, north double precision, west double precision, width double precision, latitude double precision, longitude double precision) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
        SELECT latitude >= south AND latitude <= north AND (
            width >= 360
            OR CASE WHEN longitude - west >= 0
                THEN longitude - west <= width OR (longitude - west >= 360 AND longitude - west - 360 <= width)
                -- So near to the western side that the sum is rounded to a whole turn.
                ELSE longitude - west + 360 <= width OR longitude - west + 360 >= 360 END
            OR ((south <= -90 OR north >= 90) AND abs(latitude) = 90))
    $$;
CREATE FUNCTION plain_schema.satchel_in_polygon(corners jsonb, latitude double precision, longitude double precision) RETURNS boolean
    LANGUAGE sql STABLE STRICT
    AS $$
        SELECT coalesce(bool_or(
                CASE WHEN step = 0
                    THEN turn = 0 AND latitude >= least(west_latitude, east_latitude)
                        AND latitude <= greatest(west_latitude, east_latitude)
                WHEN turn <= abs(step)
                    THEN west_latitude + (east_latitude - west_latitude) * (turn / abs(step)) = latitude END),
                false)
            -- Each edge has its western end, and the next one has the eastern.
            OR (count(CASE WHEN turn < abs(step)
                    AND west_latitude + (east_latitude - west_latitude) * (turn / abs(step)) > latitude
                    THEN 1 END) % 2 = 1)
                -- Whoever went round the whole globe went round a pole.
                <> coalesce(abs(sum(step)) > 180 AND sum(start_latitude) > 0, false)
        FROM (
            SELECT step, start_latitude, west_latitude, east_latitude,
                CASE WHEN turn >= 360 THEN turn - 360 WHEN turn >= 0 THEN turn
                    WHEN turn + 360 < 360 THEN turn + 360 ELSE 0 END AS turn
            FROM (
                SELECT step, start_latitude,
                    CASE WHEN step < 0 THEN end_latitude ELSE start_latitude END AS west_latitude,
                    CASE WHEN step < 0 THEN start_latitude ELSE end_latitude END AS east_latitude,
                    longitude - CASE WHEN step < 0 THEN end_longitude ELSE start_longitude END AS turn
                FROM (
                    SELECT start_latitude, start_longitude, end_latitude, end_longitude,
                        CASE WHEN abs(end_longitude - start_longitude) > 180
                                AND abs(end_longitude - start_longitude) < 360
                            THEN end_longitude - start_longitude - 360 * sign(end_longitude - start_longitude)
                            ELSE end_longitude - start_longitude END AS step
                    FROM (
                        SELECT (corner->>0)::float8 AS start_latitude, (corner->>1)::float8 AS start_longitude,
                            (corners->(place % jsonb_array_length(corners))::int->>0)::float8 AS end_latitude,
                            (corners->(place % jsonb_array_length(corners))::int->>1)::float8 AS end_longitude
                        FROM jsonb_array_elements(corners) WITH ORDINALITY AS listed(corner, place)
                        OFFSET 0
                    ) edges
                    OFFSET 0
                ) steps
                OFFSET 0
            ) sides
            OFFSET 0
        ) turns
    $$;
CREATE FUNCTION plain_schema.satchel_word_score(tokens text[], words text[], phrases text[], excluded text[]) RETURNS double precision
    LANGUAGE sql STABLE STRICT
    AS $$
        SELECT CASE
            WHEN EXISTS (
                SELECT 1 FROM unnest(excluded) AS terms(term) WHERE strpos(line, ' ' || term || ' ') > 0)
                THEN NULL
            WHEN CASE WHEN cardinality(phrases) = 0
                THEN EXISTS (
                    SELECT 1 FROM unnest(words) AS terms(term) WHERE strpos(line, ' ' || term || ' ') > 0)
                ELSE NOT EXISTS (
                    SELECT 1 FROM unnest(phrases) AS terms(term) WHERE strpos(line, ' ' || term || ' ') = 0) END
            THEN (
                SELECT coalesce(sum((2 - power(0.5::float8, n - 1)) * (0.5 + 0.5 * n / counted)), 0)
                FROM (
                    SELECT count(*)::float8 AS n FROM unnest(tokens) AS listed(token)
                    WHERE token = ANY (sought) GROUP BY token
                ) counts
                CROSS JOIN (
                    SELECT count(*)::float8 AS counted FROM unnest(tokens) AS listed(token)
                    WHERE token = ANY (sought) OR token NOT IN ('a','an','and','are','as','at','be','but','by','for','if','in','into','is','it','no','not','of','on','or','such','that','the','their','then','there','these','they','this','to','was','will','with')
                ) lengths
            ) END
        FROM (
            SELECT ' ' || array_to_string(tokens, ' ') || ' ' AS line,
                string_to_array(array_to_string(words || phrases, ' '), ' ') AS sought
            OFFSET 0
        ) parts
    $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE plain_schema.automaticindexes (
    id bigint NOT NULL,
    class bigint NOT NULL,
    keys text NOT NULL,
    filters text NOT NULL,
    madeby text NOT NULL,
    madeat bigint NOT NULL,
    state text NOT NULL,
    isunwanted bigint DEFAULT 0 NOT NULL,
    through bigint DEFAULT 0 NOT NULL,
    last bigint DEFAULT 0 NOT NULL
);
ALTER TABLE plain_schema.automaticindexes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.automaticindexes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.classedits (
    class bigint NOT NULL,
    haspermissions bigint NOT NULL,
    indexes text NOT NULL
);
ALTER TABLE plain_schema.classedits ALTER COLUMN class ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.classedits_class_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.classes (
    id bigint NOT NULL,
    name text NOT NULL,
    fields text NOT NULL,
    permissions text NOT NULL,
    textfields text NOT NULL
);
ALTER TABLE plain_schema.classes ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.classes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.classtables (
    id bigint NOT NULL,
    state text NOT NULL
);
CREATE TABLE plain_schema.grdb_migrations (
    identifier text NOT NULL
);
CREATE TABLE plain_schema.log (
    id bigint NOT NULL,
    text text NOT NULL
);
ALTER TABLE plain_schema.log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.marks (
    day bigint NOT NULL,
    mark bytea NOT NULL
);
CREATE TABLE plain_schema.o1 (
    id bigint NOT NULL,
    objectid text NOT NULL,
    createdat bigint NOT NULL,
    updatedat bigint NOT NULL,
    publicread boolean NOT NULL,
    publicwrite boolean NOT NULL,
    doc text NOT NULL,
    data jsonb NOT NULL
);
ALTER TABLE plain_schema.o1 ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.o1_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.o2 (
    id bigint NOT NULL,
    objectid text NOT NULL,
    createdat bigint NOT NULL,
    updatedat bigint NOT NULL,
    publicread boolean NOT NULL,
    publicwrite boolean NOT NULL,
    doc text NOT NULL,
    data jsonb NOT NULL
);
ALTER TABLE plain_schema.o2 ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.o2_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.o3 (
    id bigint NOT NULL,
    objectid text NOT NULL,
    createdat bigint NOT NULL,
    updatedat bigint NOT NULL,
    publicread boolean NOT NULL,
    publicwrite boolean NOT NULL,
    doc text NOT NULL,
    data jsonb NOT NULL
);
ALTER TABLE plain_schema.o3 ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.o3_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.p1 (
    principal text NOT NULL,
    object bigint NOT NULL,
    canread boolean NOT NULL,
    canwrite boolean NOT NULL
);
CREATE TABLE plain_schema.p2 (
    principal text NOT NULL,
    object bigint NOT NULL,
    canread boolean NOT NULL,
    canwrite boolean NOT NULL
);
CREATE TABLE plain_schema.p3 (
    principal text NOT NULL,
    object bigint NOT NULL,
    canread boolean NOT NULL,
    canwrite boolean NOT NULL
);
CREATE TABLE plain_schema.queue (
    id bigint NOT NULL,
    key text NOT NULL,
    body bytea,
    weight double precision
);
ALTER TABLE plain_schema.queue ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.queue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.queued (
    kind bigint NOT NULL,
    total bigint NOT NULL
);
ALTER TABLE plain_schema.queued ALTER COLUMN kind ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.queued_kind_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.relations (
    class bigint NOT NULL,
    key text NOT NULL,
    owner text NOT NULL,
    target text NOT NULL
);
CREATE TABLE plain_schema.shares (
    userid text NOT NULL,
    "order" bigint NOT NULL,
    value text
);
CREATE TABLE plain_schema.storeidentity (
    id bigint NOT NULL,
    database text NOT NULL,
    generation bigint NOT NULL,
    CONSTRAINT storeidentity_id_check CHECK ((id = 1))
);
ALTER TABLE plain_schema.storeidentity ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME plain_schema.storeidentity_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE plain_schema.storeindexes (
    name text NOT NULL,
    relation text NOT NULL,
    columns text NOT NULL
);
CREATE TABLE plain_schema.storelease (
    id integer NOT NULL,
    holder text NOT NULL,
    expires bigint NOT NULL,
    CONSTRAINT storelease_id_check CHECK ((id = 1))
);
CREATE TABLE plain_schema.storeprogress (
    identifier text NOT NULL,
    done bigint NOT NULL
);
CREATE TABLE plain_schema.storestate (
    id integer NOT NULL,
    generation bigint NOT NULL,
    writer bigint NOT NULL,
    CONSTRAINT storestate_id_check CHECK ((id = 1))
);
CREATE TABLE plain_schema.w1 (
    id bigint NOT NULL,
    c0 text[],
    t0 integer[]
);
INSERT INTO plain_schema.classes VALUES (1, 'Item', '{"at":{"place":0,"type":"GeoPoint"},"code":{"place":1,"type":"String"},"deep":{"place":5,"type":"Object"},"list":{"place":6,"type":"Array"},"name":{"place":2,"type":"String"},"price":{"place":3,"type":"Number"},"when":{"place":4,"type":"Date"}}', 'null', '["name"]');
INSERT INTO plain_schema.classes VALUES (2, 'Shelf', '{"first":{"place":0,"targetClass":"Item","type":"Pointer"},"items":{"place":1,"targetClass":"Item","type":"Relation"}}', 'null', '[]');
INSERT INTO plain_schema.classtables VALUES (3, 'ready');
INSERT INTO plain_schema.grdb_migrations VALUES ('store.1.tables');
INSERT INTO plain_schema.grdb_migrations VALUES ('store.2.automaticIndexes');
INSERT INTO plain_schema.grdb_migrations VALUES ('store.3.typedValues');
INSERT INTO plain_schema.grdb_migrations VALUES ('test.1.tables');
INSERT INTO plain_schema.log VALUES (1, 'first');
INSERT INTO plain_schema.marks VALUES (-9223372036854775808, '\x0000');
INSERT INTO plain_schema.marks VALUES (-1, '\x0100');
INSERT INTO plain_schema.marks VALUES (0, '\x0200');
INSERT INTO plain_schema.marks VALUES (9223372036854775807, '\x0300');
INSERT INTO plain_schema.o1 VALUES (1, 'BIkLcEmK8z', 1795818890165, 1795818890165, true, true, '{"at":{"__type":"GeoPoint","latitude":48.1,"longitude":11.5},"code":"a","createdAt":"2026-11-27T22:34:50.165Z","name":"Rose Soap","objectId":"BIkLcEmK8z","price":3,"updatedAt":"2026-11-27T22:34:50.165Z"}', '{"at": {"__type": "GeoPoint", "latitude": 48.1, "longitude": 11.5}, "code": "a", "name": "Rose Soap", "price": 3, "objectId": "BIkLcEmK8z", "createdAt": "2026-11-27T22:34:50.165Z", "updatedAt": "2026-11-27T22:34:50.165Z"}');
INSERT INTO plain_schema.o1 VALUES (2, 'BIHCYie6PC', 1795818890168, 1795818890168, true, true, '{"at":{"__type":"GeoPoint","latitude":-90,"longitude":180},"code":"b","createdAt":"2026-11-27T22:34:50.168Z","name":"","objectId":"BIHCYie6PC","price":9007199254740993,"updatedAt":"2026-11-27T22:34:50.168Z"}', '{"at": {"__type": "GeoPoint", "latitude": -90, "longitude": 180}, "code": "b", "name": "", "price": 9007199254740993, "objectId": "BIHCYie6PC", "createdAt": "2026-11-27T22:34:50.168Z", "updatedAt": "2026-11-27T22:34:50.168Z"}');
INSERT INTO plain_schema.o1 VALUES (3, 'BISNYutGrW', 1795818890172, 1795818890172, true, true, '{"code":"c","createdAt":"2026-11-27T22:34:50.172Z","name":"Ägypten 🧼 🇩🇪 \u0007 \\ \" ''","nothing":null,"objectId":"BISNYutGrW","price":0.1,"updatedAt":"2026-11-27T22:34:50.172Z"}', '{"code": "c", "name": "Ägypten 🧼 🇩🇪 \u0007 \\ \" ''", "price": 0.1, "nothing": null, "objectId": "BISNYutGrW", "createdAt": "2026-11-27T22:34:50.172Z", "updatedAt": "2026-11-27T22:34:50.172Z"}');
INSERT INTO plain_schema.o1 VALUES (4, 'BISDUOKSTy', 1795818890172, 1795818890172, true, true, '{"createdAt":"2026-11-27T22:34:50.172Z","name":"Lavender Soap","objectId":"BISDUOKSTy","price":-1.5e+300,"updatedAt":"2026-11-27T22:34:50.172Z","when":{"__type":"Date","iso":"1969-12-31T23:59:59.999Z"}}', '{"name": "Lavender Soap", "when": {"iso": "1969-12-31T23:59:59.999Z", "__type": "Date"}, "price": -1500000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000, "objectId": "BISDUOKSTy", "createdAt": "2026-11-27T22:34:50.172Z", "updatedAt": "2026-11-27T22:34:50.172Z"}');
INSERT INTO plain_schema.o1 VALUES (5, 'BIXwPxUi1Y', 1795818890173, 1795818890173, true, true, '{"code":"d","createdAt":"2026-11-27T22:34:50.173Z","deep":{"a":{"b":{"c":""}}},"list":[1,"1",true,null,[],{}],"name":"list","objectId":"BIXwPxUi1Y","updatedAt":"2026-11-27T22:34:50.173Z"}', '{"code": "d", "deep": {"a": {"b": {"c": ""}}}, "list": [1, "1", true, null, [], {}], "name": "list", "objectId": "BIXwPxUi1Y", "createdAt": "2026-11-27T22:34:50.173Z", "updatedAt": "2026-11-27T22:34:50.173Z"}');
INSERT INTO plain_schema.o1 VALUES (6, 'BJaJoEQmxL', 1795818890176, 1795818890176, false, false, '{"ACL":{"annannanna":{"read":true,"write":true},"role:a":{"read":true}},"createdAt":"2026-11-27T22:34:50.176Z","name":"private","objectId":"BJaJoEQmxL","updatedAt":"2026-11-27T22:34:50.176Z"}', '{"ACL": {"role:a": {"read": true}, "annannanna": {"read": true, "write": true}}, "name": "private", "objectId": "BJaJoEQmxL", "createdAt": "2026-11-27T22:34:50.176Z", "updatedAt": "2026-11-27T22:34:50.176Z"}');
INSERT INTO plain_schema.o2 VALUES (1, 'BJpXYnoIG4', 1795818890184, 1795818890184, true, true, '{"createdAt":"2026-11-27T22:34:50.184Z","first":{"__type":"Pointer","className":"Item","objectId":"BIkLcEmK8z"},"items":{"__type":"Relation","className":"Item"},"objectId":"BJpXYnoIG4","updatedAt":"2026-11-27T22:34:50.184Z"}', '{"first": {"__type": "Pointer", "objectId": "BIkLcEmK8z", "className": "Item"}, "items": {"__type": "Relation", "className": "Item"}, "objectId": "BJpXYnoIG4", "createdAt": "2026-11-27T22:34:50.184Z", "updatedAt": "2026-11-27T22:34:50.184Z"}');
INSERT INTO plain_schema.p1 VALUES ('annannanna', 6, true, true);
INSERT INTO plain_schema.p1 VALUES ('role:a', 6, true, false);
INSERT INTO plain_schema.queue VALUES (1, 'empty', '\x', 0);
INSERT INTO plain_schema.queue VALUES (2, 'TuWDz8Io', NULL, 0.1);
INSERT INTO plain_schema.queue VALUES (3, 'TR1b2stj', '\x00ff0a27', 0.1);
INSERT INTO plain_schema.queue VALUES (4, 'LAe6TulX', '\x070707070707070707', 0.1);
INSERT INTO plain_schema.queued VALUES (1, 4);
INSERT INTO plain_schema.relations VALUES (2, 'items', 'BJpXYnoIG4', 'BIkLcEmK8z');
INSERT INTO plain_schema.shares VALUES ('', 0, '');
INSERT INTO plain_schema.shares VALUES ('Z', -1, NULL);
INSERT INTO plain_schema.shares VALUES ('a''b', 9223372036854775807, '');
INSERT INTO plain_schema.shares VALUES ('ä', -9223372036854775808, '');
INSERT INTO plain_schema.storeindexes VALUES ('w1', 'w1', '["c0","t0"]');
INSERT INTO plain_schema.storeindexes VALUES ('g1', 'g1', '[]');
INSERT INTO plain_schema.storeindexes VALUES ('u1_code', 'o1', '["(data#>>''{code}'')"]');
INSERT INTO plain_schema.storeindexes VALUES ('i1_price', 'o1', '["(data#>>''{price}'')::numeric"]');
INSERT INTO plain_schema.storelease VALUES (1, '66C1A71A-BA0B-4356-B64E-634CB446F980', 0);
INSERT INTO plain_schema.storeprogress VALUES ('store.1.tables', 5);
INSERT INTO plain_schema.storeprogress VALUES ('store.2.automaticIndexes', 1);
INSERT INTO plain_schema.storeprogress VALUES ('test.1.tables', 5);
INSERT INTO plain_schema.storestate VALUES (1, 5, 2);
INSERT INTO plain_schema.w1 VALUES (1, '{rose,soap}', '{-1566697947,-1380499507,1352733768,1674313614,-1212087102,-2068186044,1704804582}');
INSERT INTO plain_schema.w1 VALUES (2, '{}', '{}');
INSERT INTO plain_schema.w1 VALUES (3, '{agypten}', '{574768642,-1876519782,-960659914,-828401244,-71727981,1498854335,1038042162,1296449953,-75609483,1451898794,765219772,-1464799530,-634286142,-614385118,-132987932,-1029477869,156670810,419168419,-1839473358}');
INSERT INTO plain_schema.w1 VALUES (4, '{lavender,soap}', '{-1669590791,-2211522,-1566697947,-1073191723,-2011368799,1352733768,-1212087102,377754131,-1511112636,269676703,-434749288}');
INSERT INTO plain_schema.w1 VALUES (5, '{list}', '{1727385584,-1355060539}');
INSERT INTO plain_schema.w1 VALUES (6, '{private}', '{-1767039505,1027487005,-284080338,-784625027,1370001974}');
SELECT pg_catalog.setval('plain_schema.automaticindexes_id_seq', 1, false);
SELECT pg_catalog.setval('plain_schema.classedits_class_seq', 1, false);
SELECT pg_catalog.setval('plain_schema.classes_id_seq', 2, true);
SELECT pg_catalog.setval('plain_schema.log_id_seq', 2, true);
SELECT pg_catalog.setval('plain_schema.o1_id_seq', 6, true);
SELECT pg_catalog.setval('plain_schema.o2_id_seq', 1, true);
SELECT pg_catalog.setval('plain_schema.o3_id_seq', 1, false);
SELECT pg_catalog.setval('plain_schema.queue_id_seq', 4, true);
SELECT pg_catalog.setval('plain_schema.queued_kind_seq', 1, true);
SELECT pg_catalog.setval('plain_schema.storeidentity_id_seq', 1, false);
ALTER TABLE ONLY plain_schema.automaticindexes
    ADD CONSTRAINT automaticindexes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.classedits
    ADD CONSTRAINT classedits_pkey PRIMARY KEY (class);
ALTER TABLE ONLY plain_schema.classes
    ADD CONSTRAINT classes_name_key UNIQUE (name);
ALTER TABLE ONLY plain_schema.classes
    ADD CONSTRAINT classes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.classtables
    ADD CONSTRAINT classtables_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.grdb_migrations
    ADD CONSTRAINT grdb_migrations_pkey PRIMARY KEY (identifier);
ALTER TABLE ONLY plain_schema.log
    ADD CONSTRAINT log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.marks
    ADD CONSTRAINT marks_pkey PRIMARY KEY (day, mark);
ALTER TABLE ONLY plain_schema.o1
    ADD CONSTRAINT o1_objectid_key UNIQUE (objectid);
ALTER TABLE ONLY plain_schema.o1
    ADD CONSTRAINT o1_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.o2
    ADD CONSTRAINT o2_objectid_key UNIQUE (objectid);
ALTER TABLE ONLY plain_schema.o2
    ADD CONSTRAINT o2_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.o3
    ADD CONSTRAINT o3_objectid_key UNIQUE (objectid);
ALTER TABLE ONLY plain_schema.o3
    ADD CONSTRAINT o3_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.p1
    ADD CONSTRAINT p1_pkey PRIMARY KEY (principal, object);
ALTER TABLE ONLY plain_schema.p2
    ADD CONSTRAINT p2_pkey PRIMARY KEY (principal, object);
ALTER TABLE ONLY plain_schema.p3
    ADD CONSTRAINT p3_pkey PRIMARY KEY (principal, object);
ALTER TABLE ONLY plain_schema.queue
    ADD CONSTRAINT queue_key_key UNIQUE (key);
ALTER TABLE ONLY plain_schema.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.queued
    ADD CONSTRAINT queued_pkey PRIMARY KEY (kind);
ALTER TABLE ONLY plain_schema.relations
    ADD CONSTRAINT relations_pkey PRIMARY KEY (class, key, owner, target);
ALTER TABLE ONLY plain_schema.shares
    ADD CONSTRAINT shares_pkey PRIMARY KEY (userid, "order");
ALTER TABLE ONLY plain_schema.storeidentity
    ADD CONSTRAINT storeidentity_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.storeindexes
    ADD CONSTRAINT storeindexes_pkey PRIMARY KEY (name);
ALTER TABLE ONLY plain_schema.storelease
    ADD CONSTRAINT storelease_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.storeprogress
    ADD CONSTRAINT storeprogress_pkey PRIMARY KEY (identifier);
ALTER TABLE ONLY plain_schema.storestate
    ADD CONSTRAINT storestate_pkey PRIMARY KEY (id);
ALTER TABLE ONLY plain_schema.w1
    ADD CONSTRAINT w1_pkey PRIMARY KEY (id);
CREATE INDEX g1 ON plain_schema.o1 USING btree ((((data #>> '{at,latitude}'::text[]))::double precision));
CREATE INDEX i1_price ON plain_schema.o1 USING btree ((((data #>> '{price}'::text[]))::numeric) NULLS FIRST);
CREATE INDEX p1byobject ON plain_schema.p1 USING btree (object);
CREATE INDEX p2byobject ON plain_schema.p2 USING btree (object);
CREATE INDEX p3byobject ON plain_schema.p3 USING btree (object);
CREATE INDEX relationsbytarget ON plain_schema.relations USING btree (class, key, target, owner);
CREATE UNIQUE INDEX u1_code ON plain_schema.o1 USING btree (((data #>> '{code}'::text[])) NULLS FIRST);
CREATE INDEX w1c0 ON plain_schema.w1 USING gin (c0);
CREATE INDEX w1t0 ON plain_schema.w1 USING gin (t0);
CREATE TRIGGER logstays BEFORE UPDATE ON plain_schema.log FOR EACH ROW EXECUTE FUNCTION plain_schema.logstays();
CREATE TRIGGER queuegrew AFTER INSERT ON plain_schema.queue FOR EACH ROW EXECUTE FUNCTION plain_schema.queuegrew();
