/**
 * The program that stands between the gateway and a server. It is the subreaper of all that the server starts, so that
 * nothing escapes by a session of its own or a double fork, and it ends all of it when descriptor 3 closes: when the
 * gateway is gone, however it went. The server's stdio passes by it untouched.
 *
 * It is Perl because Node can't ask for a subreaper and would take 45 MB for each server.
 *
 * Arguments: number of the prctl call, file, argv. Descriptor 3 gives the environment (length as 4 bytes, then
 * NAME=VALUE joined by NUL), then `T` (TERM to the group) and `K` (end everything), and takes `started PID` and
 * `exited STATUS` (as of waitpid).
 */
export const keeperProgram = String.raw`
use POSIX ();
my ($prctl, $file) = splice @ARGV, 0, 2;
$0 = "keeper of $file";
syscall $prctl + 0, 36, 1, 0, 0, 0;
open my $link, '+<&=', 3 or exit 127;

sub take {
  my ($size, $got) = (shift, '');
  while (length $got < $size) { sysread $link, $got, $size - length $got, length $got or exit 127 }
  return $got;
}
%ENV = map { split /=/, $_, 2 } split /\0/, take(unpack 'N', take(4));

my $pid = fork;
exit 127 unless defined $pid;
if ($pid == 0) {
  setpgrp 0, 0;
  close $link;
  exec { $file } @ARGV;
  print STDERR "$file: $!\n";
  POSIX::_exit(127);
}
setpgrp $pid, $pid;
$SIG{PIPE} = 'IGNORE';
$SIG{CHLD} = sub {};
$SIG{$_} = sub { kill TERM => -$pid } for qw(TERM INT HUP);
close $_ for *STDIN, *STDOUT, *STDERR;
syswrite $link, "started $pid\n";

my ($status, $until);
sub reap {
  my $one;
  while (($one = waitpid -1, POSIX::WNOHANG) > 0) { $status = $? if $one == $pid }
  return $one;
}

while (1) {
  reap();
  last if defined $status or defined $until and time >= $until;
  if (defined $until) { select undef, undef, undef, 0.02; next }
  vec(my $ready = '', fileno $link, 1) = 1;
  next if select($ready, undef, undef, 1) <= 0;
  my $got = sysread $link, my $said, 64;
  if (!$got) { kill TERM => -$pid; $until = time + 2; next }
  kill TERM => -$pid if $said =~ /T/;
  last if $said =~ /K/;
}

kill KILL => -$pid;
for (1 .. 1000) {
  last if reap() < 0;
  if (open my $list, '<', "/proc/$$/task/$$/children") { kill KILL => split ' ', <$list> // '' }
  select undef, undef, undef, 0.01;
}
syswrite $link, 'exited ' . ($status // 9) . "\n";
`;
