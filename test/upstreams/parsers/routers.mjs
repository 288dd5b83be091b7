// Answers with the path that routers of npm match: that of a wildcard. Arguments: a port for each of
// Fastify, restify and h3.
import http from 'node:http'
import Fastify from 'fastify'
import { createApp, createRouter, eventHandler, toNodeListener } from 'h3'
import restify from 'restify'

const [fastifyPort, restifyPort, h3Port] = process.argv.slice(2)

const fastify = Fastify()
fastify.all('/*', (request, reply) => reply.send('/' + request.params['*']))
fastify.listen({ port: Number(fastifyPort), host: '127.0.0.1' })

const server = restify.createServer()
server.get('/*', (request, response, next) => {
	response.sendRaw(200, '/' + request.params['*'], { 'Content-Type': 'text/plain' })
	next()
})
server.listen(Number(restifyPort), '127.0.0.1')

const app = createApp()
app.use(createRouter().use('/**', eventHandler((event) => '/' + (event.context.params._ ?? ''))))
http.createServer(toNodeListener(app)).listen(Number(h3Port), '127.0.0.1')
