// Answers with the path that a server on Node reads. Argument: a port. X-Reader selects how.
import http from 'node:http'
import url from 'node:url'

// Frameworks match the raw path, and decode what they have matched: an encoded slash is kept.
const decode = (path) => path.split(/%2f/i).map(decodeURIComponent).join('%2f')
const readers = {
	url: (target) => new URL(target, 'http://a').pathname,
	legacy: (target) => url.parse(target).pathname,
	authority: (target) => url.parse(target, false, true).pathname ?? '/',
}

http.createServer((request, response) => {
	const [how, slashes] = request.headers['x-reader'].split('-')
	try {
		const path = readers[how](request.url)
		response.end(slashes ? decodeURIComponent(path) : decode(path))
	} catch {
		response.writeHead(400).end()
	}
}).listen(process.argv[2], '127.0.0.1')
