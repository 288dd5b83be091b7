# Reads lines of kind, key, value and text, the last two in hexadecimal, and prints whether Rack reads
# the value. An empty one is any.
require 'rack'
$stdout.sync = true
$stdin.each_line do |line|
  kind, key, value, text = line.chomp.split("\t")
  value, text = [value].pack('H*'), [text].pack('H*')
  request = Rack::Request.new(kind == 'query' ? { 'QUERY_STRING' => text } : { 'HTTP_COOKIE' => text })
  read = begin
    all = kind == 'query' ? request.GET : kind == 'cookie' ? request.cookies : {}
    all.key?(key) && (value.empty? || all[key].to_s.b == value)
  rescue Rack::QueryParser::ParamsTooDeepError, Rack::QueryParser::InvalidParameterError,
         Rack::QueryParser::ParameterTypeError, ArgumentError
    false
  end
  puts read ? 'Rack' : ''
end
