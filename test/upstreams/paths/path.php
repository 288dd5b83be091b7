<?php
// Answers with the path that PHP's own server reads.
header('Content-Type: text/plain');
echo $_SERVER['SCRIPT_NAME'] . ($_SERVER['PATH_INFO'] ?? '');
