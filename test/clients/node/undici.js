// Usage: node undici.js <url> <key> agent|interceptor [<retry options> [<method>]]
//
// Sends three requests with a way that undici has to retry, and prints all responses.

import {Agent, interceptors, request, RetryAgent} from 'undici'
import {unlessRejected, watch} from './watch.js'

const [url, key, way, retryOptions = '{}', method = 'GET'] = process.argv.slice(2)
const retry = JSON.parse(retryOptions)
const dispatcher = {
	agent: () => new RetryAgent(new Agent(), retry),
	interceptor: () => new Agent().compose(interceptors.retry(retry)),
}[way]()
const responses = watch()
for (let i = 0; i < 3; i++) {
	const options = {method, dispatcher, headers: {'X-Api-Key': key}}
	const response = await request(url, options).catch(unlessRejected)
	await response?.body.dump()
}
console.log(JSON.stringify(responses))
