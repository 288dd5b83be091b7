-- The rules in force, their history, and the triggers that make every change of them a version.
--
-- The rows of rate_limit_limits, _overrides, _tier_assignments, _access and _emergency are the rules
-- in force. Anybody with the rights may change them in SQL. Do not change the other tables.
-- An empty text means that something is not set.

-- One row is the limit of one place: of a zone, of an endpoint of it, of a tier of either.
CREATE TABLE rate_limit_limits (
	zone       text NOT NULL CHECK (zone <> ''),
	endpoint   text NOT NULL DEFAULT '',
	tier       text NOT NULL DEFAULT '',
	rate_limit text NOT NULL DEFAULT '', -- such as '100/1m burst 20'
	dry_run    text NOT NULL DEFAULT '' CHECK (dry_run = '' OR (endpoint = '' AND tier = '')), -- such as '100%'
	compare_keys      text NOT NULL DEFAULT '', -- such as '10%'
	compare_limit     text NOT NULL DEFAULT '',
	compare_algorithm text NOT NULL DEFAULT '', -- such as 'sliding_window 6'
	PRIMARY KEY (zone, endpoint, tier),
	CONSTRAINT compare_is_of_zone
		CHECK (compare_keys || compare_limit || compare_algorithm = '' OR (endpoint = '' AND tier = ''))
);

-- position is the order of the entries: by default, that of their creation. Instants that JSON
-- cannot express, such as infinity, are refused.
CREATE TABLE rate_limit_overrides (
	id         text PRIMARY KEY DEFAULT gen_random_uuid()::text,
	zone       text NOT NULL CHECK (zone <> ''),
	key        text NOT NULL DEFAULT '',
	key_base64 text NOT NULL DEFAULT '', -- instead of key, when it is not valid UTF-8
	missing    boolean NOT NULL DEFAULT false,
	endpoint   text NOT NULL DEFAULT '', -- all of the zone
	rate_limit text NOT NULL DEFAULT '',
	multiplier double precision CHECK (multiplier > 0 AND multiplier < 'infinity'),
	expires_at timestamptz CHECK (expires_at >= '0001-01-01Z' AND expires_at < '10000-01-01Z'), -- NULL: never
	reason     text NOT NULL DEFAULT '',
	created_at timestamptz DEFAULT now() CHECK (created_at >= '0001-01-01Z' AND created_at < '10000-01-01Z'),
	created_by text NOT NULL DEFAULT session_user,
	position   bigint NOT NULL DEFAULT extract(epoch FROM clock_timestamp()) * 1000000,
	CONSTRAINT either_key_or_key_base64 CHECK (key = '' OR key_base64 = ''),
	CONSTRAINT either_rate_limit_or_multiplier CHECK ((rate_limit = '') <> (multiplier IS NULL))
);

CREATE TABLE rate_limit_tier_assignments (
	id         text PRIMARY KEY DEFAULT gen_random_uuid()::text,
	zone       text NOT NULL CHECK (zone <> ''),
	key        text NOT NULL DEFAULT '',
	key_base64 text NOT NULL DEFAULT '',
	missing    boolean NOT NULL DEFAULT false,
	tier       text NOT NULL CHECK (tier <> ''),
	expires_at timestamptz CHECK (expires_at >= '0001-01-01Z' AND expires_at < '10000-01-01Z'),
	reason     text NOT NULL DEFAULT '',
	created_at timestamptz DEFAULT now() CHECK (created_at >= '0001-01-01Z' AND created_at < '10000-01-01Z'),
	created_by text NOT NULL DEFAULT session_user,
	position   bigint NOT NULL DEFAULT extract(epoch FROM clock_timestamp()) * 1000000,
	CONSTRAINT either_key_or_key_base64 CHECK (key = '' OR key_base64 = '')
);

CREATE TABLE rate_limit_access (
	id         text PRIMARY KEY DEFAULT gen_random_uuid()::text,
	action     text NOT NULL CHECK (action IN ('allow', 'deny')),
	address    text NOT NULL DEFAULT '' -- or a prefix
		CHECK (CASE WHEN address <> '' THEN address::inet IS NOT NULL ELSE true END),
	zone       text NOT NULL DEFAULT '',
	key        text NOT NULL DEFAULT '',
	key_base64 text NOT NULL DEFAULT '',
	missing    boolean NOT NULL DEFAULT false,
	expires_at timestamptz CHECK (expires_at >= '0001-01-01Z' AND expires_at < '10000-01-01Z'),
	reason     text NOT NULL DEFAULT '',
	created_at timestamptz DEFAULT now() CHECK (created_at >= '0001-01-01Z' AND created_at < '10000-01-01Z'),
	created_by text NOT NULL DEFAULT session_user,
	position   bigint NOT NULL DEFAULT extract(epoch FROM clock_timestamp()) * 1000000,
	CONSTRAINT either_key_or_key_base64 CHECK (key = '' OR key_base64 = ''),
	CONSTRAINT either_address_or_zone CHECK ((address = '') <> (zone = ''))
);

-- It has one row while emergency mode is on.
CREATE TABLE rate_limit_emergency (
	id         text PRIMARY KEY DEFAULT 'emergency' CHECK (id = 'emergency'),
	rate_limit text NOT NULL CHECK (rate_limit <> ''), -- of each client address, such as '10/1s'
	expires_at timestamptz CHECK (expires_at >= '0001-01-01Z' AND expires_at < '10000-01-01Z'),
	reason     text NOT NULL DEFAULT '',
	created_by text NOT NULL DEFAULT session_user
);

-- One row is a version. transaction tells which transaction has written it: a transaction writes one
-- version at most.
CREATE TABLE rate_limit_versions (
	version     bigint PRIMARY KEY,
	time        timestamptz NOT NULL,
	author      text NOT NULL,
	note        text NOT NULL,
	summary     text, -- what it changed; NULL when it was written in SQL
	lineage     text NOT NULL, -- the history that it belongs to
	actions     jsonb, -- done to counts
	transaction text NOT NULL
);

-- The rows that each version has removed and added. Applied backwards, they lead from the rules in
-- force to those of an older version.
CREATE TABLE rate_limit_events (
	id         bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, -- the order
	version    bigint NOT NULL,
	table_name text NOT NULL,
	added      boolean NOT NULL,
	entry      jsonb NOT NULL
);
CREATE INDEX ON rate_limit_events (version);

-- rate_limit_lock makes the caller the only writer until its transaction ends. Who changes the rules
-- takes the lock before rows, so that writers wait for each other and do not deadlock.
CREATE FUNCTION rate_limit_lock() RETURNS void LANGUAGE sql
	AS $$ SELECT pg_advisory_xact_lock(7236280412116542) $$;

CREATE FUNCTION rate_limit_transaction() RETURNS text LANGUAGE sql
	AS $$ SELECT pg_current_xact_id()::text || '@' || extract(epoch FROM transaction_timestamp())::text $$;

-- rate_limit_write_version adds a version, announces it, and removes those that are too old: the
-- newest 1000 stay, and fewer when they have more than a million events. It needs the lock.
CREATE FUNCTION rate_limit_write_version(
	number bigint, at timestamptz, author text, note text, summary text, lineage text, actions jsonb
) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
	last_removed bigint;
BEGIN
	SELECT greatest(number - 1000, (SELECT e.version FROM rate_limit_events e
		WHERE e.id <= (SELECT max(id) FROM rate_limit_events) - 1000000 ORDER BY e.id DESC LIMIT 1))
		INTO last_removed;
	DELETE FROM rate_limit_events e WHERE e.version <= last_removed;
	DELETE FROM rate_limit_versions v WHERE v.version <= last_removed;
	INSERT INTO rate_limit_versions VALUES
		(number, at, author, note, summary, lineage, actions, rate_limit_transaction());
	PERFORM pg_notify('rate_limit', number::text);
END $$;

CREATE FUNCTION rate_limit_lock_first() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	PERFORM rate_limit_lock();
	RETURN NULL;
END $$;

-- rate_limit_record records the rows that a statement has removed and added. They belong to the
-- version of the transaction. When it has none, somebody changes the rules in SQL: it gets one.
CREATE FUNCTION rate_limit_record() RETURNS trigger
	LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET timezone = 'UTC' AS $$
DECLARE
	number  bigint;
	writer  text;
	lineage text;
	changed boolean;
BEGIN
	IF TG_OP = 'INSERT' THEN
		SELECT EXISTS (SELECT FROM new_rows) INTO changed;
	ELSIF TG_OP = 'DELETE' THEN
		SELECT EXISTS (SELECT FROM old_rows) INTO changed;
	ELSIF TG_OP = 'UPDATE' THEN -- rows that it leaves as they were do not count
		SELECT EXISTS (SELECT to_jsonb(n) FROM new_rows n EXCEPT SELECT to_jsonb(o) FROM old_rows o) INTO changed;
	ELSE
		PERFORM rate_limit_lock();
		EXECUTE format('SELECT EXISTS (SELECT FROM %I)', TG_TABLE_NAME) INTO changed;
	END IF;
	IF NOT changed THEN
		RETURN NULL;
	END IF;
	SELECT v.version, v.transaction, v.lineage INTO number, writer, lineage FROM rate_limit_versions v ORDER BY v.version DESC LIMIT 1;
	IF writer IS DISTINCT FROM rate_limit_transaction() THEN
		number := coalesce(number, 0) + 1;
		PERFORM rate_limit_write_version(number, clock_timestamp(), session_user, 'SQL', NULL,
			coalesce(lineage, gen_random_uuid()::text), NULL);
	END IF;
	IF TG_OP = 'INSERT' THEN
		INSERT INTO rate_limit_events (version, table_name, added, entry)
			SELECT number, TG_TABLE_NAME, true, to_jsonb(n) FROM new_rows n;
	ELSIF TG_OP = 'DELETE' THEN
		INSERT INTO rate_limit_events (version, table_name, added, entry)
			SELECT number, TG_TABLE_NAME, false, to_jsonb(o) FROM old_rows o;
	ELSIF TG_OP = 'UPDATE' THEN
		INSERT INTO rate_limit_events (version, table_name, added, entry)
			SELECT number, TG_TABLE_NAME, false, r
			FROM (SELECT to_jsonb(o) AS r FROM old_rows o EXCEPT SELECT to_jsonb(n) FROM new_rows n) removed;
		INSERT INTO rate_limit_events (version, table_name, added, entry)
			SELECT number, TG_TABLE_NAME, true, r
			FROM (SELECT to_jsonb(n) AS r FROM new_rows n EXCEPT SELECT to_jsonb(o) FROM old_rows o) inserted;
	ELSE
		EXECUTE format('INSERT INTO rate_limit_events (version, table_name, added, entry)
			SELECT $1, %L, false, to_jsonb(o) FROM %I o', TG_TABLE_NAME, TG_TABLE_NAME) USING number;
	END IF;
	RETURN NULL;
END $$;

DO $$
DECLARE
	rules text;
BEGIN
	FOREACH rules IN ARRAY ARRAY['limits', 'overrides', 'tier_assignments', 'access', 'emergency'] LOOP
		rules := 'rate_limit_' || rules;
		EXECUTE format('CREATE TRIGGER lock_first BEFORE INSERT OR UPDATE OR DELETE ON %I
			FOR EACH STATEMENT EXECUTE FUNCTION rate_limit_lock_first()', rules);
		EXECUTE format('CREATE TRIGGER record_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION rate_limit_record()', rules);
		EXECUTE format('CREATE TRIGGER record_update AFTER UPDATE ON %I
			REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
			FOR EACH STATEMENT EXECUTE FUNCTION rate_limit_record()', rules);
		EXECUTE format('CREATE TRIGGER record_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS old_rows
			FOR EACH STATEMENT EXECUTE FUNCTION rate_limit_record()', rules);
		EXECUTE format('CREATE TRIGGER record_truncate BEFORE TRUNCATE ON %I
			FOR EACH STATEMENT EXECUTE FUNCTION rate_limit_record()', rules);
	END LOOP;
END $$;
