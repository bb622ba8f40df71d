import { below, words, type BuiltIn } from './grammar.ts';

/** The flag package: `-x` and `--x` are one, `-x=v` and `-x v` too unless boolean; the first operand ends them. */
export const go: BuiltIn = {
  options: 'single-dash',
  longValues: 'attached',
  subcommands: [
    ...words('bug build clean doc env fix fmt generate get install list run telemetry test version vet'),
    ...below('mod', 'download edit graph init tidy vendor verify why'),
    ...below('work', 'edit init sync use vendor'),
    ...below('tool', 'addr2line asm cgo compile cover link nm objdump pprof trace vet'),
  ],
  valueFlags: {
    '': words(`
        -o -p -C -exec -toolexec -tags -ldflags -gcflags -asmflags -gccgoflags -mod -modfile -overlay
        -pkgdir -buildmode -compiler -installsuffix -pgo
      `),
    test: words(`
        -run -bench -count -cpu -timeout -parallel -shuffle -skip -fuzz -fuzztime -benchtime
        -coverprofile -covermode -coverpkg -cpuprofile -memprofile -outputdir -blockprofile
        -mutexprofile -trace -list -vet
      `),
  },
  stopsAtPositional: ['run', 'tool'],
};
