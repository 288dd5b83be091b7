// Reads lines of kind, key, value and text, the last two in hexadecimal, and prints who reads the
// value. An empty one is any.
import { createInterface } from 'node:readline'
import querystring from 'node:querystring'
import qs from 'qs'
import cookie from 'cookie'

// Node gives headers and the URL as Latin-1.
const readers = {
	query: {
		qs: (text) => qs.parse(text, { allowPrototypes: true }),
		querystring: (text) => querystring.parse(text),
		URLSearchParams: (text) => Object.fromEntries(new URLSearchParams(text)),
	},
	cookie: { cookie: (text) => cookie.parse(text) },
	header: {},
}

for await (const line of createInterface({ input: process.stdin })) {
	const [kind, key, value, text] = line.split('\t')
	const want = Buffer.from(value, 'hex').toString('latin1')
	const reads = (all) => Object.hasOwn(all, key) && (want === '' || all[key] === want)
	const read = Object.entries(readers[kind]).filter(([, parse]) => reads(parse(Buffer.from(text, 'hex').toString('latin1'))))
	console.log(read.map(([who]) => who).join(' '))
}
