// Usage: node got.js <url> <key> [<method>]
//
// Sends three requests with got as it comes, and prints all responses.

import got from 'got'
import {unlessRejected, watch} from './watch.js'

const [url, key, method = 'GET'] = process.argv.slice(2)
const responses = watch()
for (let i = 0; i < 3; i++) {
	await got(url, {method, headers: {'X-Api-Key': key}}).catch(unlessRejected)
}
console.log(JSON.stringify(responses))
