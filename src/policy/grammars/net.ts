import { words, type BuiltIn } from './grammar.ts';

/** Long options take the next word only ("--request=GET" is unknown to it); clusters, `-xVALUE`. */
export const curl: BuiltIn = {
  longValues: 'detached',
  // Globbed like a URL: "-T {a,/etc/x}" sends both.
  special: { '-T': '{}[]', '--upload-file': '{}[]' },
  valueFlags: {
    '': words(`
        -X --request -H --header -d --data -o --output -m --max-time -u --user -A --user-agent -b
        --cookie -c --cookie-jar -e --referer -F --form -K --config -T --upload-file -x --proxy -D
        --dump-header -w --write-out -E --cert --key --cacert --capath --resolve --connect-to
        --connect-timeout --retry --data-raw --data-binary --data-urlencode --url --trace
        --trace-ascii --stderr -Y -r --range -z --time-cond -t --telnet-option -U --proxy-user -y -C
        -P -Q --limit-rate --interface --unix-socket --max-redirs --json --proto --output-dir
      `),
  },
};

/** getopt, run once more directly after the host: "ssh host -oProxyCommand=x" is an option. */
export const ssh: BuiltIn = {
  stopsAtPositional: [''],
  lateOptions: true,
  // "%d" is the home folder, "${NAME}" a variable.
  special: { '-i': '%$', '-S': '%$' },
  valueFlags: {
    '': words('-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -P -p -Q -R -S -W -w'),
  },
};
