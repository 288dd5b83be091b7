// Usage: node read.js <url> <tenant>
//
// Sends four requests of one key and prints what two parsers read from the headers of each
// response, and its body.

import {parseRateLimit} from 'ratelimit-header-parser'
import {parseList} from 'structured-headers'
import {fetch} from 'undici'

const [url, key] = process.argv.slice(2)
const responses = []
for (let i = 0; i < 4; i++) {
	const response = await fetch(url, {headers: {'X-Api-Key': key, 'X-Tenant': key}})
	const text = await response.text()
	const type = response.headers.get('content-type')
	responses.push({
		status: response.status,
		retryAfter: response.headers.get('retry-after') ?? '',
		cacheControl: response.headers.get('cache-control') ?? '',
		type,
		text,
		body: /\bjson\b/.test(type) ? JSON.parse(text) : null,
		policy: items(response.headers.get('ratelimit-policy')),
		rateLimit: items(response.headers.get('ratelimit')),
		parsed: counts(parseRateLimit(response)),
	})
}
console.log(JSON.stringify(responses))

// items returns the items of a structured header: their string as "name", and their parameters.
// parseList throws if the header is not well-formed.
function items(header) {
	if (header === null) return []
	return parseList(header).map(([name, parameters]) => ({name, ...Object.fromEntries(parameters)}))
}

// counts has the seconds from now in place of a date. In JSON, NaN becomes null.
function counts(parsed) {
	if (parsed === undefined) return null
	return {...parsed, reset: (parsed.reset - Date.now()) / 1000}
}
