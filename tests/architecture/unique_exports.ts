import type { Check } from "./checks.ts";
import { exportedNames } from "./declared_names.ts";
import { type Finding, isTest } from "./tree.ts";

/**
 * Names that more than one file of `src/` exports, with how many files do: only ever fewer. A name
 * that isn't listed belongs to one file.
 */
export const shared: Readonly<Record<string, number>> = {
  Admission: 2,
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
  Step: 2,
  Unreadable: 2,
  WholeAnswer: 2,
  asFault: 2,
  codeOf: 3,
  cohortRoutes: 2,
  count: 2,
  deletionRoutes: 2,
  evalRoutes: 3,
  exportRoutes: 2,
  figuresOf: 2,
  inlineMedia: 2,
  noCounts: 2,
  refused: 2,
  workOn: 2,
};

/** A name means one thing: no two files export it, but for the dialects, which have the same files. */
export function uniqueExports(allowed: Readonly<Record<string, number>> = shared): Check {
  const files = new Map<string, Set<string>>();
  return {
    isAbout: (path) => isLooked.test(path) && !isTest(path),
    looks(path) {
      const names = new Set<string>();
      files.set(path, names);
      return [exportedNames(({ name }) => void names.add(name))];
    },
    concludes(seen) {
      const all = [...files].flatMap(([path, names]) => [...names].map((name) => ({ path, name })));
      return [...seen, ...beyond(all, allowed)];
    },
  };
}

function beyond(
  all: readonly { path: string; name: string }[],
  allowed: Readonly<Record<string, number>>,
): Finding[] {
  const byName = Map.groupBy(all, ({ name }) => name);
  const findings: Finding[] = [];
  for (const [name, all] of byName) {
    const most = allowed[name] ?? 1;
    const files = all.map(({ path }) => path).join(", ");
    if (all.length > most) {
      const message = `'${name}' is exported by ${files}: rename one`;
      findings.push({ path: all[1]!.path, line: 0, message });
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

const isLooked = /^src\/(?!dialects\/(text|media)\/).*\.tsx?$/;
