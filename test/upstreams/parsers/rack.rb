# Reads lines of kind, key and name, the name in hexadecimal, and prints whether Rack reads the key.
require 'rack'
$stdout.sync = true
$stdin.each_line do |line|
  kind, key, name = line.chomp.split("\t")
  pair = [name].pack('H*') + '=v'
  request = Rack::Request.new(kind == 'query' ? { 'QUERY_STRING' => pair } : { 'HTTP_COOKIE' => pair })
  read = begin
    (kind == 'query' ? request.GET : request.cookies).key?(key)
  rescue Rack::QueryParser::ParamsTooDeepError, Rack::QueryParser::InvalidParameterError,
         Rack::QueryParser::ParameterTypeError, ArgumentError
    false
  end
  puts read ? 'Rack' : ''
end
