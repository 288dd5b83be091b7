<?php
// Served by PHP's own server: prints whether the request has the parameter or cookie of path /<key>.
$key = strtr(rawurldecode(substr(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH), 1)), '. ', '__');
echo isset($_GET[$key]) || isset($_COOKIE[$key]) ? 1 : 0;
