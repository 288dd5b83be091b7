-- How many requests of a key may be in flight at once, beside or in place of another limit.
ALTER TABLE rate_limit_overrides
	ADD COLUMN concurrent integer CHECK (concurrent BETWEEN 1 AND 1000000000), -- NULL: as configured
	DROP CONSTRAINT either_rate_limit_or_multiplier,
	ADD CONSTRAINT either_rate_limit_or_multiplier CHECK (
		(rate_limit = '' OR multiplier IS NULL) AND
		(rate_limit <> '' OR multiplier IS NOT NULL OR concurrent IS NOT NULL)
	);
