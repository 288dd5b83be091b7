-- What nodes record of their decisions about requests. Nodes only add rows, and remove old ones.
-- An empty text means that something is not set.
CREATE TABLE rate_limit_decisions (
	id          uuid PRIMARY KEY, -- so that a record that is sent twice is one row
	time        timestamptz NOT NULL, -- by the clock of the node
	node        text NOT NULL,
	zone        text NOT NULL, -- empty: the client's address has decided, before any zone
	endpoint    text NOT NULL,
	tier        text NOT NULL,
	outcome     text NOT NULL,
	source      text NOT NULL,
	reason      text NOT NULL, -- why the request is allowed or denied
	key_hash    text NOT NULL,
	key         text NOT NULL, -- only with log_key
	key_base64  text NOT NULL, -- instead of key, when it is not valid UTF-8
	remote_ip   text NOT NULL,
	client_ip   text NOT NULL,
	method      text NOT NULL,
	host        text NOT NULL,
	path        text NOT NULL,
	status      int, -- NULL: the request went on to the next handler
	would_be    int, -- the status without the dry run
	cost        bigint NOT NULL,
	rate_limit  bigint, -- the most that can be taken at once; NULL: no count was needed
	remaining   bigint, -- NULL: unknown
	wait        interval, -- NULL: the request was not rejected
	waited      interval -- for its turn; NULL: the request did not wait
);
CREATE INDEX ON rate_limit_decisions (time); -- for the removal of old rows
CREATE INDEX ON rate_limit_decisions (key_hash, time);
