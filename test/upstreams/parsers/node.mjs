// Reads lines of kind, key and name, the name in hexadecimal, and prints who reads the key.
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
}

for await (const line of createInterface({ input: process.stdin })) {
	const [kind, key, name] = line.split('\t')
	const text = Buffer.from(name, 'hex').toString('latin1') + '=v'
	const read = Object.entries(readers[kind]).filter(([, parse]) => Object.hasOwn(parse(text), key))
	console.log(read.map(([who]) => who).join(' '))
}
