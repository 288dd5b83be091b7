"""Reads lines of kind, key and name, the name in hexadecimal, and prints who reads the key."""
import http.cookies
import io
import sys
import urllib.parse

import django
from django.conf import settings

settings.configure()
django.setup()

from django.core.handlers.wsgi import WSGIRequest
from starlette.requests import Request as StarletteRequest
from werkzeug.wrappers import Request as WerkzeugRequest


def wsgi(query, cookie):
    text = {"QUERY_STRING": query.decode("latin-1"), "HTTP_COOKIE": cookie.decode("latin-1")}
    return {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "SERVER_NAME": "a", "SERVER_PORT": "80",
            "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(), **text}


def django_reads(kind, query, cookie):
    request = WSGIRequest(wsgi(query, cookie))
    return request.GET if kind == "query" else request.COOKIES


def starlette_reads(kind, query, cookie):
    request = StarletteRequest({"type": "http", "method": "GET", "path": "/", "query_string": query,
                                "headers": [(b"cookie", cookie)]})
    return request.query_params if kind == "query" else request.cookies


def werkzeug_reads(kind, query, cookie):
    request = WerkzeugRequest(wsgi(query, cookie))
    return request.args if kind == "query" else request.cookies


def python_reads(kind, query, cookie):
    if kind == "query":
        return urllib.parse.parse_qs(query.decode("latin-1"))
    try:
        return http.cookies.SimpleCookie(cookie.decode("latin-1"))
    except http.cookies.CookieError:
        return {}


readers = {"Django": django_reads, "Starlette": starlette_reads, "Werkzeug": werkzeug_reads, "Python": python_reads}
for line in sys.stdin:
    kind, key, name = line.rstrip("\n").split("\t")
    pair = bytes.fromhex(name) + b"=v"
    query, cookie = (pair, b"") if kind == "query" else (b"", pair)
    print(" ".join(who for who, reads in readers.items() if key in reads(kind, query, cookie)), flush=True)
