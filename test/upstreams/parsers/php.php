<?php
// Served by PHP's own server: prints whether the request has the parameter, cookie or header of path
// /<key>/<value>. An empty value is any.
[, $key, $value] = array_map('rawurldecode', explode('/', parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)));
$key = strtr($key, '. ', '__');
$read = $_GET[$key] ?? $_COOKIE[$key] ?? $_SERVER['HTTP_' . strtoupper($key)] ?? null;
echo isset($read) && ($value === '' || $read === $value) ? 1 : 0;
