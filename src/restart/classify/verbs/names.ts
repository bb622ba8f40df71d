/** Names of scripts and tasks of which nothing else is known. */
import { programOf } from './call.ts';

/** Whether "kill" is a word of the name; `skill-tree` and `killer` are other words. */
export function namedForKill(name: string): boolean {
  const words = programOf(name)
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z]+/);
  // A kill switch is a thing.
  return words.some(
    (word, at) =>
      words[at + 1] !== 'switch' &&
      /^(?:p?kill|killall)(?:gateways?|wraptool|all|servers?|daemons?|mcp)?$/.test(word),
  );
}

/** A kill's word anywhere in a text: what decides where the text can't be followed. */
export function mentionsKill(text: string): boolean {
  return /(?:^|[^A-Za-z0-9_-])(?:p?kill|killall5?|skill|fuser|killpg|reboot|shutdown|poweroff|kill-port|fkill)(?![A-Za-z0-9_])/.test(
    text,
  );
}

/** Tools whose words only name, search, print or document. Nothing that they are given runs. */
export const readers: ReadonlySet<string> = new Set(
  (
    'ag ack apropos bat basename bc cargo cat cd chmod chown cksum cmp code column comm cp csplit curl cut date dd df diff dirname du ' +
    'echo egrep emacs eslint expand expr fgrep file fmt fold gh glab grep groff head help hexdump history htop id info install ' +
    'jq less ln locate logger look ls lsblk mail mailx make man md5sum mkdir mktemp more mv mysql mysqladmin nano nl notify-send nroff od ' +
    'paste patch pgrep pr printf psql pwd pytest read readlink realpath redis-cli rg rm rmdir rsync say scp sed seq sha256sum shasum ' +
    'shellcheck shfmt sort split sqlite3 stat strings tail tar tee test tldr tig top touch tput tr trash true tsort type unalias uniq ' +
    'unzip vdir view wall wc wget whatis whereis which whoami write xclip xmllint yq zgrep zip zless [ : false btop pstree glances ' +
    'journalctl dmesg systemd-analyze wraptool terraform mongosh code-insiders subl open xdg-open pbcopy figlet cowsay jest vitest mocha ' +
    'hub svn hg apt apt-get dnf yum pip pip3 gem dpkg rpm prettier hash compgen complete abbr sleep wait jobs bg fg disown'
  ).split(' '),
);
