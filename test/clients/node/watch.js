// watch returns a list to which the responses of a client are added when their headers arrive, with
// those that the client retries: Node's own events tell of them.

import {subscribe} from 'node:diagnostics_channel'

export function watch() {
	const responses = []
	const add = (status, retryAfter = '') => responses.push({status, retryAfter, ms: performance.now()})
	subscribe('http.client.response.finish', ({response}) =>
		add(response.statusCode, response.headers['retry-after']))
	subscribe('undici:request:headers', ({response}) => {
		const names = response.headers.map(String) // name, value, name, value, ...
		const i = names.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'retry-after')
		add(response.statusCode, i < 0 ? '' : names[i + 1])
	})
	return responses
}

// unlessRejected throws the error of a client again, unless a 429 that is not retried is the error.
export function unlessRejected(error) {
	if ((error.response ?? error).statusCode !== 429) throw error
}
