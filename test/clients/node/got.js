// Usage: node got.js <url> <key>
//
// Sends three requests with got as it comes, and prints all responses.

import got from 'got'
import {watch} from './watch.js'

const [url, key] = process.argv.slice(2)
const responses = watch()
for (let i = 0; i < 3; i++) {
	await got(url, {headers: {'X-Api-Key': key}})
}
console.log(JSON.stringify(responses))
