<?php
// Answers with the path that Symfony routes by. PHP's own server runs it for each request. X-Reader is
// the name of the front controller, as SCRIPT_NAME of php_fastcgi has it.
require 'Symfony/Component/HttpFoundation/autoload.php';
require 'Symfony/Component/Routing/autoload.php';

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\Routing\Matcher\UrlMatcher;
use Symfony\Component\Routing\RequestContext;
use Symfony\Component\Routing\Route;
use Symfony\Component\Routing\RouteCollection;

$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = $_SERVER['HTTP_X_READER'];
$_SERVER['SCRIPT_FILENAME'] = '/srv' . $_SERVER['HTTP_X_READER'];
unset($_SERVER['PATH_INFO']);
$routes = new RouteCollection();
$routes->add('all', new Route('/{path}', ['path' => ''], ['path' => '.*']));
header('Content-Type: text/plain');
echo '/' . (new UrlMatcher($routes, new RequestContext()))->matchRequest(Request::createFromGlobals())['path'];
