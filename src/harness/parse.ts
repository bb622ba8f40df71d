/** YAML text -> descriptor, or every problem with its line, column, key and what was expected. */
import { locateIssues, type Located } from '../config/problems.ts';
import { showPath } from '../config/resolve.ts';
import { readYaml } from '../config/yaml.ts';
import { WraptoolError } from '../errors.ts';
import { descriptorSchema, type DescriptorData } from './schema.ts';

export function parseDescriptor(text: string, file: string): DescriptorData {
  const yaml = readYaml(text);
  if (yaml.problems.length > 0) throw invalid(file, yaml.problems);
  const result = descriptorSchema.safeParse(yaml.value);
  if (result.success) return result.data;
  throw invalid(file, locateIssues(result.error.issues, yaml, descriptorSchema));
}

/** All problems at once, in the order of the file. */
function invalid(file: string, found: readonly Located[]): WraptoolError {
  const ordered = found.toSorted(
    (one, other) => one.place.line - other.place.line || one.place.column - other.place.column,
  );
  const located = ordered.map(({ place, path, message }) => {
    const where = path.length === 0 ? '' : `${showPath(path)}: `;
    return `${file}:${place.line}:${place.column} ${where}${message}`;
  });
  return new WraptoolError(
    'harness_invalid',
    `the descriptor "${file}" has ${found.length === 1 ? 'an error' : 'errors'}`,
    { problems: [...new Set(located)], hint: 'docs/harnesses.md lists every key of a descriptor' },
  );
}
