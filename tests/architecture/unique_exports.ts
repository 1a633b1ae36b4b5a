import { type DeclaredName, exportedNames } from "./declared_names.ts";
import { inspect } from "./syntax.ts";
import { codeFiles, type Finding, isTest, type Tree } from "./tree.ts";

/**
 * Names that more than one file of `src/` exports, with how many files do: only ever fewer. A name
 * that isn't listed belongs to one file.
 */
export const shared: Readonly<Record<string, number>> = {
  Admission: 2,
  Body: 2,
  Connection: 3,
  Conversation: 2,
  Credential: 2,
  ErasedSpan: 2,
  FormPart: 2,
  LeaseRequest: 2,
  MediaPart: 2,
  Meter: 2,
  Outcome: 2,
  Part: 2,
  Progress: 2,
  Refusal: 2,
  Shown: 2,
  Spent: 2,
  Step: 2,
  Unreadable: 2,
  WholeAnswer: 2,
  asFault: 2,
  codeOf: 3,
  cohortRoutes: 2,
  count: 2,
  deletionRoutes: 2,
  duration: 3,
  evalRoutes: 3,
  exportRoutes: 2,
  figuresOf: 2,
  inlineMedia: 2,
  noCounts: 2,
  percent: 2,
  refused: 2,
  usd: 2,
  workOn: 2,
};

/** A name means one thing: no two files export it, but for the dialects, which have the same files. */
export function checkUniqueExports(
  tree: Tree,
  allowed: Readonly<Record<string, number>> = shared,
): Finding[] {
  const byName = Map.groupBy(exportsIn(tree), ({ name }) => name);
  const findings: Finding[] = [];
  for (const [name, all] of byName) {
    const most = allowed[name] ?? 1;
    const files = all.map(({ path }) => path).join(", ");
    if (all.length > most) {
      findings.push({ path: all[1]!.path, line: 0, message: `'${name}' is exported by ${files}` });
    }
  }
  for (const [name, most] of Object.entries(allowed)) {
    const count = byName.get(name)?.length ?? 0;
    if (count >= most) continue;
    const message = `'${name}' is exported ${count} times; lower its ${most} in unique_exports.ts`;
    findings.push({ path: "src", line: 0, message });
  }
  return findings;
}

function exportsIn(tree: Tree): { path: string; name: string }[] {
  return codeFiles(tree).filter((path) => isLooked.test(path) && !isTest(path)).flatMap((path) => {
    const names = new Set<string>();
    const add = ({ name }: DeclaredName) => void names.add(name);
    inspect(path, tree.get(path) ?? "", () => exportedNames(add)(() => {}, []));
    return [...names].map((name) => ({ path, name }));
  });
}

const isLooked = /^src\/(?!dialects\/(text|media)\/).*\.tsx?$/;
