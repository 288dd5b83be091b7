# Reads lines of kind, key, value and text, the last two in hexadecimal, and prints who reads the
# value. An empty one is any.
use strict;
use warnings;
use CGI::Cookie;
use Mojo::Message::Request;
use Plack::Request;

$| = 1;

local $SIG{__WARN__} = sub { };

# Each returns the value that it reads of a request, or undef.
my %readers = (
	query => {
		Mojolicious => sub { my ($key, $text) = @_; Mojo::Parameters->new($text)->param($key) },
		Plack => sub { my ($key, $text) = @_; plack(QUERY_STRING => $text)->query_parameters->{$key} },
		CGI => sub { my ($key, $text) = @_; local $ENV{QUERY_STRING} = $text; scalar CGI->new($text)->param($key) },
	},
	cookie => {
		Mojolicious => sub {
			my ($key, $text) = @_;
			my $cookie = mojo("Cookie: $text")->cookie($key);
			$cookie && length $cookie->value ? $cookie->value : undef;
		},
		Plack => sub { my ($key, $text) = @_; plack(HTTP_COOKIE => $text)->cookies->{$key} },
		CGI => sub { my ($key, $text) = @_; my %all = CGI::Cookie->parse($text); $all{$key} && scalar $all{$key}->value },
	},
	header => {
		Mojolicious => sub { my ($key, $text) = @_; mojo("$key: $text")->headers->header($key) },
	},
);

sub mojo { Mojo::Message::Request->new->parse("GET / HTTP/1.1\r\nHost: a\r\n$_[0]\r\n\r\n") }
sub plack { Plack::Request->new({REQUEST_METHOD => 'GET', PATH_INFO => '/', @_}) }

require CGI;
while (my $line = <STDIN>) {
	chomp $line;
	my ($kind, $key, $value, $text) = split /\t/, $line;
	$_ = pack 'H*', $_ for $value, $text;
	my @who;
	for my $who (sort keys %{$readers{$kind}}) {
		my $read = eval { $readers{$kind}{$who}->($key, $text) };
		push @who, $who if defined $read && ($value eq '' || $read eq $value);
	}
	print "@who\n";
}
