"""Reads lines of kind, key, value and text, the last two in hexadecimal, and prints who reads the
value. An empty one is any."""
import http.client
import http.cookies
import io
import sys
import urllib.parse

import bottle
import django
import falcon
import tornado.httputil
import tornado.web
import waitress.adjustments
import waitress.parser
import webob
from django.conf import settings
from gunicorn.config import Config
from gunicorn.http.parser import RequestParser

settings.configure()
django.setup()

from django.core.handlers.wsgi import WSGIRequest
from starlette.requests import Request as StarletteRequest
from werkzeug.wrappers import Request as WerkzeugRequest


def wsgi(query, cookie):
    text = {"QUERY_STRING": query.decode("latin-1"), "HTTP_COOKIE": cookie.decode("latin-1")}
    return {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "SERVER_NAME": "a", "SERVER_PORT": "80",
            "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(), **text}


def starlette_request(query=b"", cookie=b""):
    return StarletteRequest({"type": "http", "method": "GET", "path": "/", "query_string": query,
                             "headers": [(b"cookie", cookie)]})


def simple_cookies(text):
    try:
        return {name: morsel.value for name, morsel in http.cookies.SimpleCookie(text).items()}
    except http.cookies.CookieError:
        return {}


class TornadoHandler(tornado.web.RequestHandler):
    def __init__(self, request):
        self.request = request


def tornado_request(uri="/", **headers):
    return tornado.httputil.HTTPServerRequest(method="GET", uri=uri, headers=tornado.httputil.HTTPHeaders(headers))


def tornado_query(text):
    handler = TornadoHandler(tornado_request("/?" + text.decode("latin-1")))
    return {name: handler.get_query_argument(name) for name in handler.request.query_arguments}


def tornado_cookies(text):
    cookies = tornado_request(cookie=text.decode("latin-1")).cookies
    return {name: morsel.value for name, morsel in cookies.items()}


def raw(field):
    return b"GET / HTTP/1.1\r\nHost: a\r\nkey: " + field + b"\r\n\r\n"


def waitress_headers(field):
    parser = waitress.parser.HTTPRequestParser(waitress.adjustments.Adjustments())
    parser.received(raw(field))
    return parser.headers


# Each returns what it reads of a text.
readers = {
    "query": {
        "Django": lambda text: WSGIRequest(wsgi(text, b"")).GET,
        "Starlette": lambda text: starlette_request(query=text).query_params,
        "Werkzeug": lambda text: WerkzeugRequest(wsgi(text, b"")).args,
        "Python": lambda text: dict(urllib.parse.parse_qsl(text.decode("latin-1"))),
        "WebOb": lambda text: webob.Request(wsgi(text, b"")).GET,
        "Tornado": tornado_query,
        "Bottle": lambda text: bottle.BaseRequest(wsgi(text, b"")).query,
        "Falcon": lambda text: falcon.Request(wsgi(text, b"")).params,
    },
    "cookie": {
        "Django": lambda text: WSGIRequest(wsgi(b"", text)).COOKIES,
        "Starlette": lambda text: starlette_request(cookie=text).cookies,
        "Werkzeug": lambda text: WerkzeugRequest(wsgi(b"", text)).cookies,
        "Python": lambda text: simple_cookies(text.decode("latin-1")),
        "WebOb": lambda text: webob.Request(wsgi(b"", text)).cookies,
        "Tornado": tornado_cookies,
        "Bottle": lambda text: bottle.BaseRequest(wsgi(b"", text)).cookies,
        "Falcon": lambda text: falcon.Request(wsgi(b"", text)).cookies,
    },
    "header": {
        "Tornado": lambda text: tornado.httputil.HTTPHeaders.parse("key: " + text.decode("latin-1")),
        "Waitress": waitress_headers,
        "Gunicorn": lambda text: dict(next(RequestParser(Config(), iter([raw(text)]), None)).headers),
        "Python": lambda text: http.client.parse_headers(io.BytesIO(raw(text).split(b"\r\n", 2)[2])),
    },
}


def reads(reader, key, value, text):
    try:
        all = reader(text)
        for name in {key, key.upper()} if reader in readers["header"].values() else {key}:
            if name in all and value in ("", all[name]):
                return True
    except Exception:  # it refuses the request
        pass
    return False


for line in sys.stdin:
    kind, key, value, text = line.rstrip("\n").split("\t")
    value, text = bytes.fromhex(value).decode("latin-1"), bytes.fromhex(text)
    print(" ".join(who for who, reader in readers[kind].items() if reads(reader, key, value, text)), flush=True)
