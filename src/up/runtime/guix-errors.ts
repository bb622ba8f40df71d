/** From guix's own words to what the operator can do. Only what guix says before anything of the harness runs comes here. */

/** First match wins; the texts are guix's, in its untranslated form. */
const known: readonly (readonly [RegExp, string])[] = [
  [
    /failed to connect to .*: (No such file or directory|Connection refused)/,
    'start the daemon: "systemctl start guix-daemon", or "herd start guix-daemon" on Guix System',
  ],
  [/failed to connect to .*: Permission denied/, 'let this user reach the socket of guix-daemon'],
  [
    /unprivileged_userns_clone to "1"|unprivileged user cannot create/,
    'set the sysctl kernel.unprivileged_userns_clone to 1',
  ],
  [
    /user namespaces unavailable|is your kernel version|setgroups does not exist/,
    'user namespaces are missing: use a kernel that has them (CONFIG_USER_NS)',
  ],
  [/clone: \d+: No space left on device/, 'raise the sysctl user.max_user_namespaces above 0'],
  [
    /(clone: \d+|mount: mount "none" on ".*"): (Permission denied|Operation not permitted)/,
    'AppArmor, or a container around this, forbids user namespaces: add an AppArmor profile for guix with "userns,", see kernel.apparmor_restrict_unprivileged_userns',
  ],
  [
    /unknown package|package not found for version|no value specified for manifest/,
    'run "guix pull": this guix does not know a package of the manifest',
  ],
  [
    /^bwrap: /m,
    'bubblewrap, which ties guix to wraptool, failed: "--runtime bubblewrap" says more; let users make namespaces, and see kernel.apparmor_restrict_unprivileged_userns',
  ],
  [/unrecognized option/, 'run "guix pull": this guix is too old; 1.5.0 and newer work'],
  [/mkdtemp/, 'make the folder for temporary files that is named'],
  [
    /statfs: |could not mount partition/,
    'something took away a folder that was to be shared; look at it and start again',
  ],
  [/mount: mount ".*" on ".*": Not a directory/, 'a file stands where a folder is to be mounted; remove it'],
  [/chdir: No such file or directory/, 'the working folder is hidden inside; name another --workspace'],
  [/is not a valid regular expression/, 'a variable in up.harness_env has a name that guix cannot take'],
  [/command not found/, 'the profile lacks a program: see that templates/manifest.scm is as it was shipped'],
  [
    /substitute|build of .* failed|some substitutes for the outputs|cannot build/,
    'run "guix build -m" on the manifest to see it alone; "guix archive --authorize" lets it download instead of build',
  ],
];

export type GuixFailure = { readonly reason: string; readonly hint: string };

/** What guix said on standard error (UTF-8, its end is enough), as one line and a way out. */
export function explainGuix(said: string, code: number): GuixFailure {
  const lines = plain(said)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const errors = lines.filter((line) => /^guix( [a-z-]+)?: error: /.test(line));
  const words = errors.length > 0 ? errors : lines.slice(-1);
  const reason = words.map((line) => line.replace(/^guix( [a-z-]+)?: error: /, '')).join('; ');
  const hint = known.find(([shape]) => shape.test(lines.join('\n')))?.[1];
  return {
    reason: reason === '' ? `guix ended with ${code} and said nothing` : reason,
    hint: hint ?? 'run "guix shell --container bash -- true" to see it alone',
  };
}

/** Printable text: colours and control characters of build logs are left out. */
export function plain(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/\x1b\[[0-9;?]*[A-Za-z]/g, '').replace(/[^\P{C}\n]/gu, '');
}
