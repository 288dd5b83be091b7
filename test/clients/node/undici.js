// Usage: node undici.js <url> <key> agent|interceptor [<options>]
//
// Sends three requests with a way that undici has to retry, and prints all responses.

import {Agent, interceptors, request, RetryAgent} from 'undici'
import {watch} from './watch.js'

const [url, key, way, options = '{}'] = process.argv.slice(2)
const retry = JSON.parse(options)
const dispatcher = {
	agent: () => new RetryAgent(new Agent(), retry),
	interceptor: () => new Agent().compose(interceptors.retry(retry)),
}[way]()
const responses = watch()
for (let i = 0; i < 3; i++) {
	const response = await request(url, {dispatcher, headers: {'X-Api-Key': key}})
	await response.body.dump()
}
console.log(JSON.stringify(responses))
