/** What a shell is told once: it asks `wraptool completion words` for each Tab. `:files` is left to the shell. */

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

export const scripts: Readonly<Record<Shell, string>> = {
  bash: String.raw`_wraptool() {
  local word rest
  COMPREPLY=()
  while IFS=$'\t' read -r word rest; do
    if [[ $word == :files ]]; then
      compopt -o default
      return
    fi
    COMPREPLY+=("$word")
  done < <(command wraptool completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _wraptool wraptool
`.replaceAll('\\$', '$'),
  zsh: String.raw`#compdef wraptool
_wraptool() {
  local word rest
  local -a found
  while IFS=$'\t' read -r word rest; do
    if [[ $word == :files ]]; then
      _files
      return
    fi
    found+=("\${word//:/\\:}:$rest")
  done < <(command wraptool completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe wraptool found
}
if (( ! $+functions[compdef] )); then
  autoload -Uz compinit && compinit
fi
compdef _wraptool wraptool
`.replaceAll('\\$', '$'),
  fish: String.raw`function __wraptool_words
  set -l found (command wraptool completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)
  if test "$found" = :files
    __fish_complete_path (commandline -ct)
  else
    printf '%s\n' $found
  end
end
complete -c wraptool -f -a '(__wraptool_words)'
`,
};
