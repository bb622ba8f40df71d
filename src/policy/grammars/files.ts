import { words, type BuiltIn } from './grammar.ts';

/** getopt_long with abbreviations; a first word without a dash is a cluster of options ("tar cf x"). */
export const tar: BuiltIn = {
  oldStyleOptions: true,
  valueFlags: {
    '': words(`
        -f --file -C --directory -T --files-from -X --exclude-from -I -b -g -H --use-compress-program
        -F --info-script --new-volume-script -L --tape-length -K -N --exclude --transform --xform
        --owner --group --mode --mtime --strip-components --to-command --checkpoint-action
        --rsh-command --rmt-command --index-file -V --label --format --suffix --sort --pax-option
        --blocking-factor --record-size --warning
      `),
  },
};

/** An expression after the start points: one dash, values detached, operators as bare words. */
export const find: BuiltIn = {
  options: 'single-dash',
  longValues: 'detached',
  positionalsFirst: true,
  leadingFlags: ['-H', '-L', '-P'],
  operators: words('( ) ! ,'),
  valueFlags: {
    '': words(`
        -name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype
        -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -user
        -uid -group -gid -perm -links -inum -samefile -fstype -used -context -regextype -printf
        -fprint -fprint0 -fls -files0-from -D
      `),
  },
};
